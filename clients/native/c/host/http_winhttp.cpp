#ifdef _WIN32

#include "http_messages.h"
#include "wide.h"

#include <winhttp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

namespace signet {

namespace {

constexpr size_t kMaxPart = 64u << 10;
// Headers of an older mingw lack it.
constexpr DWORD kTls13 = 0x00002000;

using Clock = std::chrono::steady_clock;

// A handle of WinHTTP. Closing one of a request ends it: its last callback comes later.
class Handle {
 public:
  explicit Handle(HINTERNET handle) : handle_(handle) {
    if (handle == nullptr) throw Failure(Fault::kUnreachable, "WinHTTP refuses the request");
  }
  Handle(Handle &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ~Handle() {
    if (handle_ != nullptr) WinHttpCloseHandle(handle_);
  }
  HINTERNET get() const { return handle_; }
  void set(DWORD option, DWORD value) const { WinHttpSetOption(handle_, option, &value, sizeof value); }

 private:
  HINTERNET handle_;
};

struct Running;

// What a callback reports, for the thread in perform().
struct Event {
  std::shared_ptr<Running> running;
  DWORD status, number;
};

// What the threads of WinHTTP share with the client.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Event> events;
  bool is_woken = false;
  size_t open = 0; /* requests whose last callback has not come */

  void notify(const std::function<void()> &change) {
    const std::lock_guard<std::mutex> lock(mutex);
    change();
    changed.notify_all();
  }
};

// Owned by its handle until the last callback, and by the client until it is over.
struct Running : std::enable_shared_from_this<Running> {
  Running(std::shared_ptr<Shared> shared, uint64_t id, HttpRequest message)
      : shared(std::move(shared)), id(id), message(std::move(message)), answer(id, this->message.is_stream) {
    if (this->message.timeout_ms > 0) end = Clock::now() + std::chrono::milliseconds(this->message.timeout_ms);
  }

  const std::shared_ptr<Shared> shared;
  const uint64_t id;
  HttpRequest message;
  HttpAnswer answer;
  std::optional<Clock::time_point> end;
  std::optional<Handle> connection, request;
  Bytes part;
  DWORD certificate_fault = 0;
  bool is_over = false;
  std::shared_ptr<Running> self; /* until the last callback */
};

void CALLBACK on_status(HINTERNET, DWORD_PTR context, DWORD status, void *information, DWORD length) noexcept {
  auto *const running = reinterpret_cast<Running *>(context);
  if (running == nullptr) return;
  DWORD number = 0;
  switch (status) {
    case WINHTTP_CALLBACK_STATUS_HANDLE_CLOSING: {
      const std::shared_ptr<Running> last = std::move(running->self);
      const std::shared_ptr<Shared> shared = running->shared;
      shared->notify([&] { shared->open--; });
      return;
    }
    case WINHTTP_CALLBACK_STATUS_SECURE_FAILURE:
    case WINHTTP_CALLBACK_STATUS_DATA_AVAILABLE: memcpy(&number, information, sizeof number); break;
    case WINHTTP_CALLBACK_STATUS_READ_COMPLETE: number = length; break;
    case WINHTTP_CALLBACK_STATUS_REQUEST_ERROR: number = static_cast<WINHTTP_ASYNC_RESULT *>(information)->dwError; break;
    case WINHTTP_CALLBACK_STATUS_SENDREQUEST_COMPLETE:
    case WINHTTP_CALLBACK_STATUS_HEADERS_AVAILABLE: break;
    default: return;
  }
  running->shared->notify([&] { running->shared->events.push_back({running->self, status, number}); });
}

struct Address {
  Wide host, path;
  INTERNET_PORT port;
};

// Throws Failure.
Address parse_address(const std::string &url) {
  const Wide text = wide(View(url));
  URL_COMPONENTS parts{};
  parts.dwStructSize = sizeof parts;
  parts.dwHostNameLength = parts.dwUrlPathLength = parts.dwExtraInfoLength = static_cast<DWORD>(-1);
  if (!WinHttpCrackUrl(text.data(), 0, 0, &parts)) throw Failure(Fault::kUnreachable, "the address is no URL");
  Address address{Wide(parts.lpszHostName, parts.lpszHostName + parts.dwHostNameLength),
                  Wide(parts.lpszUrlPath, parts.lpszUrlPath + parts.dwUrlPathLength), parts.nPort};
  // The query, but no fragment.
  const wchar_t *const more = parts.lpszExtraInfo;
  address.path.insert(address.path.end(), more, std::find(more, more + parts.dwExtraInfoLength, L'#'));
  if (address.path.empty()) address.path.push_back(L'/');
  address.host.push_back(0);
  address.path.push_back(0);
  return address;
}

void add_headers(const Running &running) {
  Bytes lines;
  for (const HttpHeader &header : running.message.headers) {
    append(lines, header.name);
    append(lines, View(": ", 2));
    append(lines, header.value);
    append(lines, View("\r\n", 2));
  }
  if (lines.empty()) return;
  const Wide text = wide(lines);
  if (!WinHttpAddRequestHeaders(running.request->get(), text.data(), static_cast<DWORD>(-1), WINHTTP_ADDREQ_FLAG_ADD)) {
    throw Failure(Fault::kUnreachable, "WinHTTP refuses the headers");
  }
}

// The answer's head. Returns nothing if it is too long.
std::optional<unsigned> read_head(Running &running) {
  HINTERNET request = running.request->get();
  DWORD status = 0, size = sizeof status;
  if (!WinHttpQueryHeaders(request, WINHTTP_QUERY_STATUS_CODE | WINHTTP_QUERY_FLAG_NUMBER, WINHTTP_HEADER_NAME_BY_INDEX, &status,
                           &size, WINHTTP_NO_HEADER_INDEX)) {
    return std::nullopt;
  }
  size = 0;
  WinHttpQueryHeaders(request, WINHTTP_QUERY_RAW_HEADERS_CRLF, WINHTTP_HEADER_NAME_BY_INDEX, nullptr, &size, WINHTTP_NO_HEADER_INDEX);
  Wide text(size / sizeof(wchar_t) + 1, L'\0');
  if (!WinHttpQueryHeaders(request, WINHTTP_QUERY_RAW_HEADERS_CRLF, WINHTTP_HEADER_NAME_BY_INDEX, text.data(), &size,
                           WINHTTP_NO_HEADER_INDEX)) {
    return std::nullopt;
  }
  const Bytes lines = utf8_of(text.data(), size / sizeof(wchar_t));
  std::string_view rest = View(lines).view();
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (!running.answer.add_header(line)) return std::nullopt;
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return status;
}

std::string text_of(DWORD error, DWORD certificate_fault) {
  switch (error) {
    case ERROR_WINHTTP_NAME_NOT_RESOLVED: return "the server's name is not known";
    case ERROR_WINHTTP_CANNOT_CONNECT: return "the server cannot be reached";
    case ERROR_WINHTTP_CONNECTION_ERROR: return "the connection ended";
    case ERROR_WINHTTP_SECURE_CHANNEL_ERROR:
    case ERROR_WINHTTP_SECURE_FAILURE: break;
    default: return "WinHTTP failed with the code " + std::to_string(error);
  }
  if (certificate_fault & WINHTTP_CALLBACK_STATUS_FLAG_CERT_CN_INVALID) return "the server's certificate has another name";
  if (certificate_fault & WINHTTP_CALLBACK_STATUS_FLAG_CERT_DATE_INVALID) return "the server's certificate is not valid now";
  if (certificate_fault & WINHTTP_CALLBACK_STATUS_FLAG_INVALID_CA) return "the server's certificate is not trusted";
  return "the server's certificate or its TLS is refused";
}

}  // namespace

struct Http::State {
  const Handle session;
  const std::shared_ptr<Shared> shared = std::make_shared<Shared>();
  std::vector<Output> outputs;
  std::map<uint64_t, std::shared_ptr<Running>> running;

  State();
  ~State();
  void step(Running &one, DWORD status, DWORD number);
  void fail(Running &one, Fault fault, std::string_view why) { end(one, one.answer.fail(fault, why)); }
  void end(Running &one, Output output);
  void drop(uint64_t id);
  void check(Running &one, BOOL done) {
    if (!done) fail(one, Fault::kUnreachable, text_of(GetLastError(), 0));
  }
};

Http::State::State()
    : session(WinHttpOpen(nullptr, WINHTTP_ACCESS_TYPE_AUTOMATIC_PROXY, WINHTTP_NO_PROXY_NAME, WINHTTP_NO_PROXY_BYPASS,
                          WINHTTP_FLAG_ASYNC)) {
  DWORD versions = WINHTTP_FLAG_SECURE_PROTOCOL_TLS1_2 | kTls13;
  // A Windows without TLS 1.3 refuses its flag.
  if (!WinHttpSetOption(session.get(), WINHTTP_OPTION_SECURE_PROTOCOLS, &versions, sizeof versions)) {
    session.set(WINHTTP_OPTION_SECURE_PROTOCOLS, WINHTTP_FLAG_SECURE_PROTOCOL_TLS1_2);
  }
  // Besides the time to connect, the time of the whole request counts.
  WinHttpSetTimeouts(session.get(), kConnectTimeoutMs, kConnectTimeoutMs, 0, 0);
}

Http::State::~State() {
  while (!running.empty()) drop(running.begin()->first);
  std::unique_lock<std::mutex> lock(shared->mutex);
  // The library may be unloaded after.
  shared->changed.wait(lock, [this] { return shared->open == 0; });
}

// Nothing of the request is reported after.
void Http::State::drop(uint64_t id) {
  const auto found = running.find(id);
  if (found == running.end()) return;
  found->second->is_over = true;
  found->second->request.reset();
  found->second->connection.reset();
  running.erase(found);
}

void Http::State::end(Running &one, Output output) {
  outputs.push_back(std::move(output));
  drop(one.id);
}

// The next step of a request, after the one that has ended.
void Http::State::step(Running &one, DWORD status, DWORD number) {
  HINTERNET request = one.request->get();
  switch (status) {
    case WINHTTP_CALLBACK_STATUS_SENDREQUEST_COMPLETE: return check(one, WinHttpReceiveResponse(request, nullptr));
    case WINHTTP_CALLBACK_STATUS_HEADERS_AVAILABLE: {
      const std::optional<unsigned> code = read_head(one);
      if (!code) return fail(one, Fault::kUnreachable, "the answer's head is too long");
      one.answer.give_head(*code, outputs);
      return check(one, WinHttpQueryDataAvailable(request, nullptr));
    }
    case WINHTTP_CALLBACK_STATUS_DATA_AVAILABLE:
      if (number == 0) return end(one, one.answer.finish());
      one.part.resize(std::min<size_t>(number, kMaxPart));
      return check(one, WinHttpReadData(request, one.part.data(), static_cast<DWORD>(one.part.size()), nullptr));
    case WINHTTP_CALLBACK_STATUS_READ_COMPLETE:
      if (number == 0) return end(one, one.answer.finish());
      if (!one.answer.add_body(View(one.part).part(0, number), outputs)) {
        return fail(one, Fault::kUnreachable, "the answer is too long");
      }
      wipe(one.part.data(), one.part.size());
      return check(one, WinHttpQueryDataAvailable(request, nullptr));
    case WINHTTP_CALLBACK_STATUS_SECURE_FAILURE: one.certificate_fault = number; return;
    case WINHTTP_CALLBACK_STATUS_REQUEST_ERROR:
      return fail(one, number == ERROR_WINHTTP_TIMEOUT ? Fault::kTimedOut : Fault::kUnreachable,
                  text_of(number, one.certificate_fault));
  }
}

Http::Http(std::string trust_anchors) {
  if (!trust_anchors.empty()) {
    throw std::invalid_argument("trust_anchors cannot be used on Windows: add the certificate to the user's or the machine's store");
  }
  state_ = std::make_unique<State>();
}

Http::~Http() = default;

void Http::start(uint64_t id, View message) {
  auto one = std::make_shared<Running>(state_->shared, id, HttpRequest::parse(message));
  const HttpRequest &request = one->message;
  const bool is_https = request.is_https();
  const Address address = parse_address(request.url);
  check_address(request, View(utf8_of(address.host.data(), address.host.size() - 1)).view());
  one->connection.emplace(WinHttpConnect(state_->session.get(), address.host.data(), address.port, 0));
  const Wide method = wide(View(request.method));
  const DWORD flags = WINHTTP_FLAG_ESCAPE_DISABLE | WINHTTP_FLAG_ESCAPE_DISABLE_QUERY | (is_https ? WINHTTP_FLAG_SECURE : 0);
  one->request.emplace(WinHttpOpenRequest(one->connection->get(), method.data(), address.path.data(), nullptr,
                                          WINHTTP_NO_REFERER, WINHTTP_DEFAULT_ACCEPT_TYPES, flags));
  const HINTERNET handle = one->request->get();
  one->request->set(WINHTTP_OPTION_DISABLE_FEATURE,
                    WINHTTP_DISABLE_COOKIES | WINHTTP_DISABLE_REDIRECTS | WINHTTP_DISABLE_AUTHENTICATION);
  if (is_https) {
    // A server that asks for a client's certificate gets none.
    WinHttpSetOption(handle, WINHTTP_OPTION_CLIENT_CERT_CONTEXT, WINHTTP_NO_CLIENT_CERT_CONTEXT, 0);
  } else {
    WINHTTP_PROXY_INFO none{WINHTTP_ACCESS_TYPE_NO_PROXY, nullptr, nullptr};
    WinHttpSetOption(handle, WINHTTP_OPTION_PROXY, &none, sizeof none);
  }
  add_headers(*one);

  auto context = reinterpret_cast<DWORD_PTR>(one.get());
  WinHttpSetOption(handle, WINHTTP_OPTION_CONTEXT_VALUE, &context, sizeof context);
  const DWORD notifications = WINHTTP_CALLBACK_FLAG_ALL_COMPLETIONS | WINHTTP_CALLBACK_FLAG_SECURE_FAILURE | WINHTTP_CALLBACK_FLAG_HANDLES;
  if (WinHttpSetStatusCallback(handle, on_status, notifications, 0) == WINHTTP_INVALID_STATUS_CALLBACK) {
    throw Failure(Fault::kUnreachable, "WinHTTP refuses the request");
  }
  one->self = one;
  state_->shared->notify([&] { state_->shared->open++; });
  state_->running[id] = one;
  auto *const body = one->message.body.empty() ? nullptr : one->message.body.data();
  const auto length = static_cast<DWORD>(one->message.body.size());
  state_->check(*one, WinHttpSendRequest(handle, WINHTTP_NO_ADDITIONAL_HEADERS, 0, body, length, length, context));
}

void Http::cancel(uint64_t id) { state_->drop(id); }

std::vector<Http::Output> Http::perform() {
  std::deque<Event> events;
  state_->shared->notify([&] { events.swap(state_->shared->events); });
  for (const Event &event : events) {
    if (!event.running->is_over) state_->step(*event.running, event.status, event.number);
  }
  std::vector<std::shared_ptr<Running>> late;
  for (const auto &[id, one] : state_->running) {
    if (one->end && *one->end <= Clock::now()) late.push_back(one);
  }
  for (const auto &one : late) state_->fail(*one, Fault::kTimedOut, "the server did not answer in time");
  return std::exchange(state_->outputs, {});
}

void Http::wait(int milliseconds) {
  Clock::time_point until = Clock::now() + std::chrono::milliseconds(milliseconds);
  for (const auto &[id, one] : state_->running) {
    if (one->end) until = std::min(until, *one->end);
  }
  Shared &shared = *state_->shared;
  std::unique_lock<std::mutex> lock(shared.mutex);
  shared.changed.wait_until(lock, until, [&] { return shared.is_woken || !shared.events.empty(); });
  shared.is_woken = false;
}

void Http::wakeup() {
  state_->shared->notify([&] { state_->shared->is_woken = true; });
}

}  // namespace signet

#endif
