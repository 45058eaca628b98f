// One client of libsignet and its thread. Without JSI.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "platform.h"

namespace signet {

// What JavaScript receives of a client. The values are the ones of native-client.ts.
enum class Kind : int32_t {
  opened = 0,       // bytes: empty
  reply = 1,        // bytes: the response message
  failure = 2,      // bytes: a signet.client.v1.ClientFailure; id 0: the client did not open, or has stopped
  event = 3,        // bytes: a signet.client.v1.ClientEvent
  ended = 4,        // bytes: empty. The last output
};

struct Output {
  Kind kind;
  uint64_t id;
  Bytes bytes;
};

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  // Called on the engine's thread, in the order of the outputs. It may wait.
  using Sink = std::function<void(Output)>;

  // Opens a client on a new thread. Its outcome is the first output: Kind::opened, or Kind::failure and Kind::ended.
  // `identity` is a signet.client.v1.IdentityOptions. Throws std::system_error if there is no thread.
  static std::shared_ptr<Engine> start(std::shared_ptr<Platform> platform, std::string account, Bytes identity, Sink sink);

  // Queues a call. Returns a status of signet.h: SIGNET_E_HANDLE before Kind::opened and after close().
  int32_t call(uint64_t id, const char *method, const uint8_t *request, size_t length);

  // Ends the client, wipes its memory and ends the thread. Returns at once: Kind::ended follows.
  void close();

 private:
  Engine(std::shared_ptr<Platform> platform, std::string account, Bytes identity, Sink sink);
  static void *main(void *self);
  void run();
  signet_client *open();
  void work(signet_client *client);
  void fail(const std::string &reason, const std::string &message);
  bool is_closing();

  const std::shared_ptr<Platform> platform_;
  const std::string account_;
  Bytes identity_;
  const Sink sink_;
  std::mutex mutex_;
  signet_client *client_ = nullptr;
  bool closing_ = false;
};

// A signet.client.v1.ClientFailure of the kind HOST.
Bytes host_failure(const std::string &reason, const std::string &message);

}  // namespace signet
