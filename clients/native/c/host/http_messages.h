// HttpRequest, HttpPiece and HttpResponse of signet.host.v1, and the rules of both HTTP libraries.
#pragma once

#include "http.h"

namespace signet {

constexpr size_t kMaxHttpBody = 64u << 20, kMaxHttpHead = 256u << 10;
constexpr int kConnectTimeoutMs = 30000;

struct HttpHeader {
  Bytes name, value;
};

struct HttpRequest {
  std::string method, url;
  std::vector<HttpHeader> headers;
  Bytes body;
  uint64_t timeout_ms = 0; /* of the whole request; 0 for none */
  bool is_stream = false;

  // Throws Malformed.
  static HttpRequest parse(View message);
  bool is_https() const;
  bool has_body() const { return method == "POST" || method == "PUT" || !body.empty(); }
};

// Throws Failure unless the address is https, or of this machine: a token in clear text must not leave it.
// host: as the library that connects parses it.
void check_address(const HttpRequest &request, std::string_view host);

// An answer, as it arrives.
class HttpAnswer {
 public:
  HttpAnswer(uint64_t id, bool is_stream) : id_(id), is_stream_(is_stream) {}

  // An interim answer (1xx) precedes the answer.
  void restart() { head_ = Writer(); }
  // A line of the head, with or without its end. Returns false if the head is too long.
  bool add_header(std::string_view line);
  // The head is complete.
  void give_head(unsigned status, std::vector<Http::Output> &outputs);
  // Returns false if the body is too long.
  bool add_body(View part, std::vector<Http::Output> &outputs);
  Http::Output finish() const;
  Http::Output fail(Fault fault, std::string_view why) const;

 private:
  uint64_t id_;
  bool is_stream_, is_head_given_ = false;
  unsigned status_ = 0;
  Writer head_; /* field 2 in both of HttpPiece and HttpResponse */
  Bytes body_;
  size_t head_bytes_ = 0;
};

}  // namespace signet
