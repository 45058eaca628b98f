#include "host_objects.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "buffers.h"
#include "delivery.h"
#include "engine.h"
#include "guard.h"
#include "methods.h"

namespace signet {

namespace jsi = facebook::jsi;
using facebook::react::CallInvoker;

namespace {

// The last id is the engine's own.
constexpr double last_id = 9007199254740990.0;

// Ends the client when JavaScript has dropped the object and its functions.
struct Session {
  std::shared_ptr<Platform> platform;
  std::shared_ptr<Engine> engine;
  std::shared_ptr<Delivery> delivery;
  ~Session() {
    // Perhaps within the garbage collector, on any thread: neither waits.
    if (delivery != nullptr) delivery->detach();
    if (engine != nullptr) engine->close();
  }
};

using Function = jsi::HostFunctionType;

class Functions : public jsi::HostObject {
 public:
  explicit Functions(std::vector<std::tuple<std::string, unsigned, Function>> functions) : functions_(std::move(functions)) {}

  jsi::Value get(jsi::Runtime &runtime, const jsi::PropNameID &property) override {
    const auto name = property.utf8(runtime);
    for (const auto &[own, count, function] : functions_) {
      if (own == name) return jsi::Function::createFromHostFunction(runtime, property, count, function);
    }
    return jsi::Value::undefined();
  }

 private:
  const std::vector<std::tuple<std::string, unsigned, Function>> functions_;
};

std::string text_argument(jsi::Runtime &runtime, const char *name, const jsi::Value &value) {
  if (!value.isString()) throw jsi::JSError(runtime, std::string(name) + " must be a string");
  return value.getString(runtime).utf8(runtime);
}

void require(jsi::Runtime &runtime, bool holds, const std::string &message) {
  if (!holds) throw jsi::JSError(runtime, message);
}

bool is_account(const std::string &name) {
  return !name.empty() && name.size() <= 48 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

jsi::Value call(jsi::Runtime &runtime, Session &session, const jsi::Value *arguments) {
  require(runtime, arguments[0].isNumber(), "id must be a number");
  const double id = arguments[0].getNumber();
  require(runtime, id >= 1 && id <= last_id && std::floor(id) == id, "id must be an integer of 1 to 2^53 - 2");
  const auto method = text_argument(runtime, "method", arguments[1]);
  require(runtime, is_method(method), "method must be in the list of callable methods, as Service/Method");
  auto request = buffer_argument(runtime, "request", arguments[2]);
  const auto *bytes = request.data(runtime);
  const auto length = request.size(runtime);
  const auto refusal = refusal_of(*session.platform, method, bytes, length);
  require(runtime, refusal.empty(), refusal);
  const auto status = session.engine->call(static_cast<uint64_t>(id), method.c_str(), bytes, length);
  return jsi::Value(static_cast<int>(status));
}

jsi::Object client_object(jsi::Runtime &runtime, std::shared_ptr<Session> session) {
  const Function calling = [session](jsi::Runtime &rt, const jsi::Value &, const jsi::Value *arguments, size_t count) {
    require(rt, count == 3, "call(id, method, request) has three arguments");
    return call(rt, *session, arguments);
  };
  const Function closing = [session](jsi::Runtime &, const jsi::Value &, const jsi::Value *, size_t) {
    session->delivery->unbound();
    session->engine->close();
    return jsi::Value::undefined();
  };
  std::vector<std::tuple<std::string, unsigned, Function>> functions{{"call", 3, calling}, {"close", 0, closing}};
  return jsi::Object::createFromHostObject(runtime, std::make_shared<Functions>(std::move(functions)));
}

jsi::Value open(jsi::Runtime &runtime, const std::shared_ptr<CallInvoker> &invoker, const jsi::Value *arguments) {
  const auto platform = current_platform();
  require(runtime, platform != nullptr, "the app's native code has set no platform: see the README");
  const auto account = text_argument(runtime, "account", arguments[0]);
  require(runtime, is_account(account), "account must have 1 to 48 characters of [a-z0-9-]");
  auto identity = buffer_argument(runtime, "identity", arguments[1]);
  const auto *bytes = identity.data(runtime);
  Bytes options(bytes, bytes + identity.size(runtime));
  // Fields: auth_base_url and service_origins.
  require(runtime, are_allowed(platform->origins(), options.data(), options.size(), {2, 8}),
          "auth_base_url and service_origins must be of origins that the app's native code lists");
  require(runtime, arguments[2].isObject() && arguments[2].getObject(runtime).isFunction(runtime),
          "listener must be a function");
  auto delivery = std::make_shared<Delivery>(invoker, arguments[2].getObject(runtime).getFunction(runtime));
  auto session = std::make_shared<Session>();
  session->platform = platform;
  session->delivery = delivery;
  session->engine = Engine::start(platform, account, std::move(options),
                                  [delivery](Output output) { delivery->push(std::move(output)); });
  return client_object(runtime, std::move(session));
}

}  // namespace

jsi::Object make_core(jsi::Runtime &runtime, std::shared_ptr<CallInvoker> invoker) {
  const Function opening = [invoker = std::move(invoker)](jsi::Runtime &rt, const jsi::Value &,
                                                          const jsi::Value *arguments, size_t count) {
    require(rt, count == 3, "open(account, identity, listener) has three arguments");
    return open(rt, invoker, arguments);
  };
  std::vector<std::tuple<std::string, unsigned, Function>> functions{{"open", 3, opening}};
  return jsi::Object::createFromHostObject(runtime, std::make_shared<Functions>(std::move(functions)));
}

}  // namespace signet
