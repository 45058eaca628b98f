// Threads that call an engine while it opens and closes, with the core of libsignet's tests. Prints what is wrong.
//
//     engine-test OPTIONS ROUNDS
//
// OPTIONS is a signet.host.v1.NativeOptions in hexadecimal.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <thread>

#include "engine.h"

namespace {

using signet::Bytes;
using signet::Engine;
using signet::Kind;
using signet::Output;

class TestPlatform : public signet::Platform {
 public:
  explicit TestPlatform(Bytes options) : options_(std::move(options)) {}
  Bytes options(const std::string &) override { return options_; }
  std::string folder() override { return "/"; }
  std::vector<std::string> origins() override { return {}; }

 private:
  const Bytes options_;
};

// Outputs of one engine. Checks their order.
struct Outputs {
  void take(const Output &output) {
    const std::lock_guard lock(mutex);
    if (is_ended) wrong = "an output after the last one";
    if (count++ == 0 && output.kind != Kind::opened) wrong = "the first output is not Kind::opened";
    if (output.kind == Kind::reply) replies++;
    if (output.kind == Kind::failure) wrong = "a failure";
    if (output.kind == Kind::ended) {
      is_ended = true;
      changed.notify_all();
    }
  }
  bool wait() {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(60), [this] { return is_ended; });
  }

  std::mutex mutex;
  std::condition_variable changed;
  int count = 0, replies = 0;
  bool is_ended = false;
  const char *wrong = nullptr;
};

const char *round(const Bytes &options, int number, int &replies) {
  const auto outputs = std::make_shared<Outputs>();
  auto engine = Engine::start(std::make_shared<TestPlatform>(options), "a", {},
                              [outputs](Output output) { outputs->take(output); });
  std::atomic<uint64_t> last_id{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  const uint8_t request[] = {1, 2, 3};
  for (int i = 0; i < 4; i++) {
    callers.emplace_back([&, engine] {
      while (!stop) {
        engine->call(++last_id, "echo", request, sizeof request);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  }
  // Some are closed before they are open.
  std::this_thread::sleep_for(std::chrono::milliseconds(number % 4 * 15));
  std::thread second([engine] { engine->close(); });
  engine->close();
  const bool has_ended = outputs->wait();
  const bool is_refused = engine->call(++last_id, "echo", request, sizeof request) == SIGNET_E_HANDLE;
  stop = true;
  for (auto &caller : callers) caller.join();
  second.join();
  replies += outputs->replies;
  if (!has_ended) return "the engine does not end";
  return is_refused ? outputs->wrong : "a closed engine accepts a call";
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  Bytes options;
  for (const char *at = argv[1]; at[0] != 0 && at[1] != 0; at += 2) {
    options.push_back(static_cast<uint8_t>(std::stoi(std::string(at, 2), nullptr, 16)));
  }
  int replies = 0;
  for (int i = 0; i < std::atoi(argv[2]); i++) {
    const char *wrong = round(options, i, replies);
    if (wrong != nullptr) return std::printf("round %d: %s\n", i, wrong), 1;
  }
  if (replies == 0) return std::printf("no call was answered\n"), 1;
  // The last thread ends after its last output.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return 0;
}
