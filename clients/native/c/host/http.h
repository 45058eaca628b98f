// HTTP requests of the core, by libcurl or by WinHTTP: certificates are verified, no redirect is followed, no cookie is stored.
#pragma once

#include <memory>

#include "failure.h"
#include "wire.h"

namespace signet {

class Http {
 public:
  // trust_anchors: a file of certificates in the place of the system's; empty for the system's.
  // Throws std::invalid_argument for a file that the system cannot use.
  explicit Http(std::string trust_anchors);
  ~Http();
  Http(const Http &) = delete;

  // Starts the HttpRequest of an effect. Throws Failure and Malformed.
  void start(uint64_t id, View request);
  // Stops a request.
  void cancel(uint64_t id);

  // What a request has for the core.
  struct Output {
    uint64_t id;
    bool is_piece; /* else the EffectResult */
    Bytes bytes;
  };
  // Does what is due, without waiting.
  std::vector<Output> perform();
  // Waits until there is something to do, the time has passed, or wakeup() is called.
  void wait(int milliseconds);
  // From any thread.
  void wakeup();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace signet
