#include "http_messages.h"

#include <cstdio>

namespace signet {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char &c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

bool is_loopback(const std::string &host) {
  if (host == "localhost" || host == "[::1]") return true;
  unsigned a, b, c, d;
  char more;
  return sscanf(host.c_str(), "%3u.%3u.%3u.%3u%c", &a, &b, &c, &d, &more) == 4 && a == 127 && b < 256 && c < 256 && d < 256;
}

HttpHeader parse_header(View message) {
  HttpHeader header;
  for (Reader in(message); in.next();) {
    if (in.field() == 1) header.name = in.bytes().copy();
    if (in.field() == 2) header.value = in.bytes().copy();
  }
  for (const Bytes *part : {&header.name, &header.value}) {
    for (const uint8_t byte : *part) {
      if (byte == '\r' || byte == '\n' || byte == 0) throw Malformed();
    }
  }
  return header;
}

}  // namespace

HttpRequest HttpRequest::parse(View message) {
  HttpRequest request;
  for (Reader in(message); in.next();) {
    switch (in.field()) {
      case 1: request.method = in.text(); break;
      case 2: request.url = in.text(); break;
      case 3: request.headers.push_back(parse_header(in.bytes())); break;
      case 4: request.body = in.bytes().copy(); break;
      case 5: request.timeout_ms = in.number(); break;
      case 6: request.is_stream = in.flag(); break;
    }
  }
  return request;
}

bool HttpRequest::is_https() const { return lower(url.substr(0, 8)) == "https://"; }

void check_address(const HttpRequest &request, std::string_view host) {
  if (request.is_https() || is_loopback(std::string(host))) return;
  throw Failure(Fault::kUnreachable, "the address is neither https nor of this machine");
}

bool HttpAnswer::add_header(std::string_view line) {
  head_bytes_ += line.size();
  if (head_bytes_ > kMaxHttpHead) return false;
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0 || !is_utf8(View(line))) return true;
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  head_.message(2, Writer().bytes(1, View(lower(line.substr(0, colon)))).bytes(2, View(value)));
  return true;
}

void HttpAnswer::give_head(unsigned status, std::vector<Http::Output> &outputs) {
  status_ = status;
  if (!is_stream_ || is_head_given_) return;
  is_head_given_ = true;
  Bytes piece = Writer().number(1, status_).take();
  append(piece, head_.done());
  outputs.push_back({id_, true, std::move(piece)});
}

bool HttpAnswer::add_body(View part, std::vector<Http::Output> &outputs) {
  if (is_stream_) {
    outputs.push_back({id_, true, Writer().bytes(3, part).take()});
    return true;
  }
  if (body_.size() + part.size > kMaxHttpBody) return false;
  append(body_, part);
  return true;
}

Http::Output HttpAnswer::finish() const {
  Bytes response = Writer().number(1, status_).take();
  append(response, head_.done());
  append(response, Writer().bytes(3, body_).done());
  return {id_, false, Writer().present(2, response).take()};
}

Http::Output HttpAnswer::fail(Fault fault, std::string_view why) const {
  const Writer failure = Writer().number(1, static_cast<uint64_t>(fault)).bytes(3, View(why));
  return {id_, false, Writer().message(1, failure).take()};
}

}  // namespace signet
