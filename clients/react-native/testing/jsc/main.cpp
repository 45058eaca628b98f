// A program with React Native's JavaScript interface on JavaScriptCore, the module, and libsignet.
//
//     jsc-host FOLDER ORIGINS SECRETS BUNDLE
//
// Runs the bundle, then writes each line of its input to the bundle's `onLine`, and prints what the bundle prints. FOLDER has the
// data of each account, under a passphrase. ORIGINS, separated by spaces, may receive tokens. SECRETS is a file that receives
// every key that the core uses.
#include <jsc/JSCRuntime.h>
#include <jsi/instrumentation.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <thread>

#include "SignetModule.h"
#include "loop.h"
#include "platform.h"
#include "wire.h"

using namespace facebook;

namespace {

class Files : public jsi::Buffer {
 public:
  explicit Files(const char *path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    text_ = out.str();
  }
  size_t size() const override { return text_.size(); }
  const uint8_t *data() const override { return reinterpret_cast<const uint8_t *>(text_.data()); }

 private:
  std::string text_;
};

class TestPlatform : public signet::Platform {
 public:
  TestPlatform(std::string folder, const char *origins, const char *secrets)
      : folder_(std::move(folder)), origins_(words_of(origins)), secrets_(std::fopen(secrets, "w")) {}
  ~TestPlatform() override { std::fclose(secrets_); }

  signet::Bytes options(const std::string &account) override {
    if (account == "refused") throw std::runtime_error("planted-exception-text");
    signet::Bytes options, box;
    signet::put_bytes(options, 2, folder_ + "/" + account);
    signet::put_bytes(box, 1, "correct horse");
    signet::put_bytes(options, 4, box);
    return options;
  }
  std::string folder() override { return folder_; }
  std::vector<std::string> origins() override { return origins_; }
  const signet_host *host(const std::string &) override { return &host_; }

 private:
  // Writes each key, and what the core seals for its store, as lines of a number and hexadecimal.
  static int32_t primitive(void *context, int32_t op, const signet_value *arguments, size_t count, signet_value *) {
    const bool has_key = op >= 5 && op <= 10 && count > 0;
    const bool is_seal = op == SIGNET_BOX_SEAL && count == 3;
    if (!has_key && !is_seal) return SIGNET_HOST_DEFAULT;
    const auto &secret = arguments[is_seal ? 2 : 0];
    auto *out = static_cast<TestPlatform *>(context)->secrets_;
    // Clients of several threads write lines.
    flockfile(out);
    std::fprintf(out, "%d ", op);
    for (size_t i = 0; i < secret.length; i++) std::fprintf(out, "%02x", secret.bytes[i]);
    std::fputc('\n', out);
    funlockfile(out);
    return SIGNET_HOST_DEFAULT;
  }

  static std::vector<std::string> words_of(const char *text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), {}};
  }

  const std::string folder_;
  const std::vector<std::string> origins_;
  FILE *const secrets_;
  signet_host host_{sizeof(signet_host), this, primitive};
};

jsi::Function function(jsi::Runtime &runtime, const char *name, unsigned count, jsi::HostFunctionType body) {
  return jsi::Function::createFromHostFunction(runtime, jsi::PropNameID::forAscii(runtime, name), count, std::move(body));
}

void add_globals(jsi::Runtime &runtime, const std::shared_ptr<Loop> &loop) {
  const auto add = [&](const char *name, unsigned count, jsi::HostFunctionType body) {
    runtime.global().setProperty(runtime, name, function(runtime, name, count, std::move(body)));
  };
  add("printLine", 1, [](jsi::Runtime &rt, const jsi::Value &, const jsi::Value *given, size_t) {
    std::cout << given[0].toString(rt).utf8(rt) << std::endl;
    return jsi::Value();
  });
  add("residentKilobytes", 0, [](jsi::Runtime &, const jsi::Value &, const jsi::Value *, size_t) {
    long pages = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    return jsi::Value(static_cast<double>(resident * (sysconf(_SC_PAGESIZE) / 1024)));
  });
  // What malloc() has given, and was not given back. JavaScriptCore has an allocator of its own.
  add("allocatedBytes", 0, [](jsi::Runtime &, const jsi::Value &, const jsi::Value *, size_t) {
    const auto memory = mallinfo2();
    return jsi::Value(static_cast<double>(memory.uordblks + memory.hblkhd));
  });
  add("collectGarbage", 0, [](jsi::Runtime &rt, const jsi::Value &, const jsi::Value *, size_t) {
    rt.instrumentation().collectGarbage("test");
    return jsi::Value();
  });
  add("setTimeout", 2, [loop](jsi::Runtime &rt, const jsi::Value &, const jsi::Value *given, size_t count) {
    return jsi::Value(loop->after(count > 1 ? given[1].asNumber() : 0, given[0].asObject(rt).asFunction(rt)));
  });
  add("clearTimeout", 1, [loop](jsi::Runtime &, const jsi::Value &, const jsi::Value *given, size_t count) {
    if (count > 0 && given[0].isNumber()) loop->cancel(static_cast<int>(given[0].getNumber()));
    return jsi::Value();
  });
  add("quit", 0, [loop](jsi::Runtime &, const jsi::Value &, const jsi::Value *, size_t) {
    loop->quit();
    return jsi::Value();
  });
  // As TurboModuleRegistry of React Native finds a module.
  add("__turboModuleProxy", 1, [loop](jsi::Runtime &rt, const jsi::Value &, const jsi::Value *given, size_t) {
    if (given[0].asString(rt).utf8(rt) != react::SignetModule::kModuleName) return jsi::Value::null();
    return jsi::Value(jsi::Object::createFromHostObject(rt, std::make_shared<react::SignetModule>(loop)));
  });
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  std::signal(SIGPIPE, SIG_IGN);
  signet::set_platform(std::make_shared<TestPlatform>(argv[1], argv[2], argv[3]));
  const auto loop = std::make_shared<Loop>();
  auto runtime = jsc::makeJSCRuntime();
  add_globals(*runtime, loop);
  runtime->evaluateJavaScript(std::make_shared<Files>(argv[4]), argv[4]);
  std::thread([loop] {
    for (std::string line; std::getline(std::cin, line);) {
      loop->invokeAsync([line](jsi::Runtime &rt) { rt.global().getPropertyAsFunction(rt, "onLine").call(rt, line); });
    }
    loop->invokeAsync([loop](jsi::Runtime &) { loop->quit(); });
  }).detach();
  loop->run(*runtime);
  runtime.reset();
  // A client of the runtime that is gone ends on its own thread.
  usleep(300'000);
  return 0;
}
