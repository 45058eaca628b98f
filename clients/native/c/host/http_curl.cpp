#ifndef _WIN32

#include "http_messages.h"

#include <curl/curl.h>
#ifdef __APPLE__
#include <malloc/malloc.h>
#define malloc_usable_size malloc_size
#else
#include <malloc.h>
#endif
#include <openssl/ssl.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace signet {

namespace {

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

std::string host_of(const std::string &url) {
  CURLU *parsed = curl_url();
  char *host = nullptr;
  const bool ok = curl_url_set(parsed, CURLUPART_URL, url.c_str(), 0) == CURLUE_OK &&
                  curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK;
  std::string name = ok ? host : "";
  curl_free(host);
  curl_url_cleanup(parsed);
  return name;
}

struct Running {
  Running(CURLM *multi, uint64_t id, HttpRequest message, std::vector<Http::Output> &outputs)
      : multi(multi), message(std::move(message)), answer(id, this->message.is_stream), outputs(outputs) {}
  Running(const Running &) = delete;
  ~Running() {
    curl_multi_remove_handle(multi, easy);
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
  }
  void add_header(Bytes line) {
    line.push_back(0);
    curl_slist *more = curl_slist_append(headers, reinterpret_cast<const char *>(line.data()));
    if (more == nullptr) throw std::bad_alloc();
    headers = more;
  }
  unsigned status() const {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return static_cast<unsigned>(status);
  }

  CURLM *multi;
  CURL *easy = curl_easy_init();
  curl_slist *headers = nullptr;
  HttpRequest message;
  HttpAnswer answer;
  std::vector<Http::Output> &outputs;
};

size_t on_header(char *bytes, size_t size, size_t count, void *context) {
  auto &running = *static_cast<Running *>(context);
  const std::string_view line(bytes, size * count);
  try {
    if (line.substr(0, 5) == "HTTP/") running.answer.restart();
    return running.answer.add_header(line) ? size * count : 0;
  } catch (...) {
    return 0;
  }
}

size_t on_body(char *bytes, size_t size, size_t count, void *context) {
  auto &running = *static_cast<Running *>(context);
  const View part(bytes, size * count);
  try {
    running.answer.give_head(running.status(), running.outputs);
    return running.answer.add_body(part, running.outputs) ? part.size : 0;
  } catch (...) {
    return 0;
  }
}

void set_headers(Running &running) {
  bool has_type = false;
  for (HttpHeader &header : running.message.headers) {
    has_type = has_type || View(header.name).view() == "content-type";
    Bytes line = std::move(header.name);
    append(line, header.value.empty() ? View(";", 1) : View(": ", 2));
    append(line, header.value);
    running.add_header(std::move(line));
  }
  // libcurl adds these otherwise.
  for (const char *line : {"Expect:", "Accept:"}) running.add_header(View(std::string_view(line)).copy());
  if (!has_type) running.add_header(View(std::string_view("Content-Type:")).copy());
  curl_easy_setopt(running.easy, CURLOPT_HTTPHEADER, running.headers);
}

}  // namespace

struct Http::State {
  std::string trust_anchors;
  CURLM *multi = curl_multi_init();
  std::vector<Output> outputs;
  std::map<uint64_t, std::unique_ptr<Running>> running;

  ~State() {
    running.clear();
    curl_multi_cleanup(multi);
  }
};

Http::Http(std::string trust_anchors) {
  start_library();
  state_ = std::make_unique<State>();
  if (state_->multi == nullptr) throw std::bad_alloc();
  state_->trust_anchors = std::move(trust_anchors);
}

Http::~Http() = default;

void Http::start(uint64_t id, View message) {
  auto running = std::make_unique<Running>(state_->multi, id, HttpRequest::parse(message), state_->outputs);
  CURL *easy = running->easy;
  if (easy == nullptr) throw std::bad_alloc();
  const HttpRequest &request = running->message;
  check_address(request, host_of(request.url));
  set_headers(*running);
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, request.is_https() ? "https" : "http");
  if (!request.is_https()) curl_easy_setopt(easy, CURLOPT_PROXY, "");
  if (request.has_body()) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.empty() ? "" : reinterpret_cast<const char *>(request.body.data()));
  }
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, on_tls);
  if (!state_->trust_anchors.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, state_->trust_anchors.c_str());
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  }
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout_ms));
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(kConnectTimeoutMs));
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, running.get());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, running.get());
  curl_easy_setopt(easy, CURLOPT_PRIVATE, running.get());
  if (curl_multi_add_handle(state_->multi, easy) != CURLM_OK) throw std::bad_alloc();
  state_->running[id] = std::move(running);
}

void Http::cancel(uint64_t id) { state_->running.erase(id); }

std::vector<Http::Output> Http::perform() {
  int count = 0;
  std::vector<Output> &outputs = state_->outputs;
  curl_multi_perform(state_->multi, &count);
  while (CURLMsg *message = curl_multi_info_read(state_->multi, &count)) {
    if (message->msg != CURLMSG_DONE) continue;
    Running *running = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &running);
    const CURLcode code = message->data.result;
    if (code == CURLE_OK) {
      running->answer.give_head(running->status(), outputs);
      outputs.push_back(running->answer.finish());
    } else {
      const Fault fault = code == CURLE_OPERATION_TIMEDOUT ? Fault::kTimedOut : Fault::kUnreachable;
      outputs.push_back(running->answer.fail(fault, curl_easy_strerror(code)));
    }
    const auto is_it = [&](const auto &one) { return one.second.get() == running; };
    state_->running.erase(std::find_if(state_->running.begin(), state_->running.end(), is_it));
  }
  return std::exchange(outputs, {});
}

void Http::wait(int milliseconds) { curl_multi_poll(state_->multi, nullptr, 0, milliseconds, nullptr); }

void Http::wakeup() { curl_multi_wakeup(state_->multi); }

}  // namespace signet

#endif
