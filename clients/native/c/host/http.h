// HTTP requests of the core, by libcurl: certificates are verified, no redirect is followed, no cookie is stored.
#pragma once

#include <map>

#include "failure.h"
#include "wire.h"

typedef void CURL;
typedef void CURLM;

namespace signet {

class Http {
 public:
  // trust_anchors: a file of certificates in the place of the system's; empty for the system's.
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
  struct Request;
  static size_t on_header(char *bytes, size_t size, size_t count, void *request);
  static size_t on_body(char *bytes, size_t size, size_t count, void *request);
  void emit_head(Request &request);
  void finish(Request &request, int code);

  std::string trust_anchors_;
  CURLM *multi_;
  std::map<uint64_t, std::unique_ptr<Request>> running_;
  std::vector<Output> outputs_;
};

}  // namespace signet
