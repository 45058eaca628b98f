#include "http.h"

#include <curl/curl.h>
#ifdef __APPLE__
#include <malloc/malloc.h>
#define malloc_usable_size malloc_size
#else
#include <malloc.h>
#endif
#include <openssl/ssl.h>

#include <mutex>
#include <utility>

namespace signet {

namespace {

constexpr size_t kMaxBody = 64u << 20, kMaxHead = 256u << 10;

// libcurl copies headers and bodies, which have tokens. It takes allocators before its first use in the process only.
void wiping_free(void *at) {
  if (at != nullptr) wipe(at, malloc_usable_size(at));
  free(at);
}
void *wiping_realloc(void *at, size_t size) {
  if (at == nullptr) return malloc(size);
  const size_t before = malloc_usable_size(at);
  if (size <= before && size > before / 2) return at;
  void *fresh = malloc(size);
  if (fresh == nullptr) return nullptr;
  memcpy(fresh, at, size < before ? size : before);
  wiping_free(at);
  return fresh;
}

void start_library() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, wiping_free, wiping_realloc, strdup, calloc); });
}

// The TLS library wipes received plaintext.
CURLcode on_tls(CURL *, void *context, void *) {
  SSL_CTX_set_options(static_cast<SSL_CTX *>(context), SSL_OP_CLEANSE_PLAINTEXT);
  return CURLE_OK;
}

// http is for loopback addresses only: a token in clear text must not leave the machine.
bool is_loopback(const std::string &url) {
  CURLU *parsed = curl_url();
  char *host = nullptr;
  const bool ok = curl_url_set(parsed, CURLUPART_URL, url.c_str(), 0) == CURLUE_OK &&
                  curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK;
  const std::string name = ok ? host : "";
  curl_free(host);
  curl_url_cleanup(parsed);
  if (name == "localhost" || name == "[::1]") return true;
  unsigned a, b, c, d;
  char more;
  return sscanf(name.c_str(), "%3u.%3u.%3u.%3u%c", &a, &b, &c, &d, &more) == 4 && a == 127 && b < 256 && c < 256 && d < 256;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char &c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

}  // namespace

struct Http::Request {
  Http *owner;
  uint64_t id;
  CURL *easy = nullptr;
  curl_slist *headers = nullptr;
  Bytes body;
  bool is_stream = false, is_head_done = false;
  Writer head; /* the answer's headers: field 2 in both of HttpPiece and HttpResponse */
  Bytes answer;
  size_t head_bytes = 0;

  ~Request() {
    curl_multi_remove_handle(owner->multi_, easy);
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
  }
  void add_header(Bytes line) {
    line.push_back(0);
    curl_slist *more = curl_slist_append(headers, reinterpret_cast<const char *>(line.data()));
    if (more == nullptr) throw std::bad_alloc();
    headers = more;
  }
};

Http::Http(std::string trust_anchors) : trust_anchors_(std::move(trust_anchors)) {
  start_library();
  multi_ = curl_multi_init();
  if (multi_ == nullptr) throw std::bad_alloc();
}

Http::~Http() {
  running_.clear();
  curl_multi_cleanup(multi_);
}

size_t Http::on_header(char *bytes, size_t size, size_t count, void *context) {
  auto &request = *static_cast<Request *>(context);
  std::string_view line(bytes, size * count);
  try {
    request.head_bytes += line.size();
    if (request.head_bytes > kMaxHead) return 0;
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
    // An interim answer (1xx) precedes the answer.
    if (line.substr(0, 5) == "HTTP/") {
      request.head = Writer();
      return size * count;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) return size * count;
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    if (!is_utf8(View(line))) return size * count;
    const std::string name = lower(line.substr(0, colon));
    request.head.message(2, Writer().bytes(1, View(name)).bytes(2, View(value)));
    return size * count;
  } catch (...) {
    return 0;
  }
}

void Http::emit_head(Request &request) {
  if (!request.is_stream || request.is_head_done) return;
  request.is_head_done = true;
  long status = 0;
  curl_easy_getinfo(request.easy, CURLINFO_RESPONSE_CODE, &status);
  Bytes piece = Writer().number(1, static_cast<uint64_t>(status)).take();
  append(piece, request.head.done());
  outputs_.push_back({request.id, true, std::move(piece)});
}

size_t Http::on_body(char *bytes, size_t size, size_t count, void *context) {
  auto &request = *static_cast<Request *>(context);
  const View part(bytes, size * count);
  try {
    if (request.is_stream) {
      request.owner->emit_head(request);
      request.owner->outputs_.push_back({request.id, true, Writer().bytes(3, part).take()});
      return part.size;
    }
    if (request.answer.size() + part.size > kMaxBody) return 0;
    append(request.answer, part);
    return part.size;
  } catch (...) {
    return 0;
  }
}

void Http::start(uint64_t id, View message) {
  auto request = std::make_unique<Request>();
  request->owner = this;
  request->id = id;
  request->easy = curl_easy_init();
  if (request->easy == nullptr) throw std::bad_alloc();
  std::string method, url;
  uint64_t timeout = 0;
  bool has_type = false;
  for (Reader in(message); in.next();) {
    switch (in.field()) {
      case 1: method = in.text(); break;
      case 2: url = in.text(); break;
      case 3: {
        Bytes name, value;
        for (Reader header(in.bytes()); header.next();) {
          if (header.field() == 1) name = header.bytes().copy();
          if (header.field() == 2) value = header.bytes().copy();
        }
        for (const Bytes *part : {&name, &value}) {
          for (const uint8_t byte : *part) {
            if (byte == '\r' || byte == '\n' || byte == 0) throw Malformed();
          }
        }
        has_type = has_type || View(name).view() == "content-type";
        append(name, value.empty() ? View(";", 1) : View(": ", 2));
        append(name, value);
        request->add_header(std::move(name));
        break;
      }
      case 4: request->body = in.bytes().copy(); break;
      case 5: timeout = in.number(); break;
      case 6: request->is_stream = in.flag(); break;
    }
  }
  const bool is_https = lower(url.substr(0, 8)) == "https://";
  if (!is_https && !is_loopback(url)) throw Failure(Fault::kUnreachable, "the address is neither https nor of this machine");
  // libcurl adds these otherwise.
  for (const char *line : {"Expect:", "Accept:"}) request->add_header(View(std::string_view(line)).copy());
  if (!has_type) request->add_header(View(std::string_view("Content-Type:")).copy());

  CURL *easy = request->easy;
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, is_https ? "https" : "http");
  if (!is_https) curl_easy_setopt(easy, CURLOPT_PROXY, "");
  if (method == "POST" || method == "PUT" || !request->body.empty()) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request->body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body.empty() ? "" : reinterpret_cast<const char *>(request->body.data()));
  }
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, on_tls);
  if (!trust_anchors_.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, trust_anchors_.c_str());
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  }
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout));
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 30000L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, request.get());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, request.get());
  curl_easy_setopt(easy, CURLOPT_PRIVATE, request.get());
  if (curl_multi_add_handle(multi_, easy) != CURLM_OK) throw std::bad_alloc();
  running_[id] = std::move(request);
}

void Http::cancel(uint64_t id) { running_.erase(id); }

void Http::finish(Request &request, int code) {
  if (code != CURLE_OK) {
    const bool is_late = code == CURLE_OPERATION_TIMEDOUT;
    const auto fault = static_cast<uint64_t>(is_late ? Fault::kTimedOut : Fault::kUnreachable);
    const std::string_view why = curl_easy_strerror(static_cast<CURLcode>(code));
    const Writer failure = Writer().number(1, fault).bytes(3, View(why));
    outputs_.push_back({request.id, false, Writer().message(1, failure).take()});
    return;
  }
  emit_head(request);
  long status = 0;
  curl_easy_getinfo(request.easy, CURLINFO_RESPONSE_CODE, &status);
  Bytes response = Writer().number(1, static_cast<uint64_t>(status)).take();
  append(response, request.head.done());
  append(response, Writer().bytes(3, request.answer).done());
  outputs_.push_back({request.id, false, Writer().present(2, response).take()});
}

std::vector<Http::Output> Http::perform() {
  int count = 0;
  curl_multi_perform(multi_, &count);
  while (CURLMsg *message = curl_multi_info_read(multi_, &count)) {
    if (message->msg != CURLMSG_DONE) continue;
    Request *request = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &request);
    finish(*request, message->data.result);
    running_.erase(request->id);
  }
  return std::exchange(outputs_, {});
}

void Http::wait(int milliseconds) { curl_multi_poll(multi_, nullptr, 0, milliseconds, nullptr); }

void Http::wakeup() { curl_multi_wakeup(multi_); }

}  // namespace signet
