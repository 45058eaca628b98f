#include "client.h"

#include <algorithm>
#include <chrono>
#include <utility>

extern "C" const uint8_t signet_core_start[], signet_core_end[];

namespace signet {

namespace {

constexpr uint64_t kInterfaceVersion = 1;
// OutputKind
constexpr int32_t kWakeAt = 6;
// A field of Effect.
constexpr uint32_t kWakeUp = 22;

signet_value number(uint64_t value) { return {SIGNET_NUMBER, static_cast<double>(value), nullptr, 0}; }
signet_value bytes(View value) { return {SIGNET_BYTES, 0, value.data, value.size}; }
signet_value text(std::string_view value) {
  return {SIGNET_TEXT, 0, reinterpret_cast<const uint8_t *>(value.data()), value.size()};
}

// [a-z0-9._:/-], as the user's list of devices shows it.
std::string own_platform() { return "native-" + os::name(); }

// The effect's kind: its field in Effect.
uint64_t kind_of(View effect) {
  try {
    Reader in(effect);
    return in.next() ? in.field() : 0;
  } catch (const Malformed &) {
    return 0;
  }
}

int64_t steady_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

Bytes client_failure(uint64_t kind, std::string_view reason, std::string_view message) {
  return Writer().number(1, kind).bytes(2, View(reason)).bytes(3, View(message)).take();
}

Client::Client(Options options, const signet_host *host)
    : performs_(options.performs),
      effects_(options, host),
      primitives_(host, effects_.box(), [this](int32_t kind, uint64_t id, View bytes) { on_output(kind, id, bytes); }) {
  char error[128] = "";
  const signet_vm_host call = [](void *self, const signet_value *arguments, size_t count, signet_value *answer) {
    static_cast<Primitives *>(self)->perform(arguments, count, answer);
  };
  vm_.reset(signet_vm_open(signet_core_start, static_cast<size_t>(signet_core_end - signet_core_start),
                           static_cast<uint32_t>(options.memory_limit_mib << 20), call, &primitives_, error));
  if (!vm_) throw std::runtime_error(error);
  start(options, effects_.box() != nullptr);
  if (is_stopped_) throw std::runtime_error(stopped_);
  // The core answers its start as the call 0, and at once.
  if (outputs_.empty() || outputs_.front().id != 0 || outputs_.front().kind == SIGNET_EVENT) {
    throw std::runtime_error("the core did not answer its start");
  }
  if (outputs_.front().kind == SIGNET_REPLY_FAILURE) throw StartRefused{std::move(outputs_.front().bytes)};
  outputs_.pop_front();
}

// Passes HostInfo and the identity client's options to the core.
void Client::start(const Options &options, bool has_box) {
  const BoxInfo &box = has_box ? effects_.box()->info() : options.program_box;
  const std::string platform = options.platform.empty() ? own_platform() : options.platform;
  Writer info;
  info.number(1, kInterfaceVersion).bytes(2, View(platform)).bytes(3, View(box.backend)).number(4, box.version);
  info.number(5, box.hardware).number(6, box.device_bound).number(7, box.persistent).number(8, 1);
  for (const uint64_t primitive : options.deferred) info.number(9, primitive);
  if (options.session) info.present(11, *options.session);
  const signet_value arguments[] = {bytes(info.done()), bytes(options.identity)};
  enter("start", arguments, 2);
}

void Client::on_output(int32_t kind, uint64_t id, View bytes) {
  switch (kind) {
    case SIGNET_REPLY:
    case SIGNET_REPLY_FAILURE:
    case SIGNET_EVENT: outputs_.push_back({kind, id, bytes.copy()}); break;
    // Effects start after the core returns: they must not re-enter it.
    case SIGNET_EFFECT:
    case SIGNET_CANCEL: started_.push_back({kind, id, bytes.copy()}); break;
    case kWakeAt: wake_at(id); break;
  }
}

void Client::wake_at(uint64_t at_ms) {
  if (performs_.count(kWakeUp) == 0) {
    wake_at_ms_ = at_ms;
    return;
  }
  if (wake_id_ != 0) started_.push_back({SIGNET_CANCEL, wake_id_, {}});
  wake_id_ = at_ms == 0 ? 0 : next_wake_id_--;
  if (at_ms == 0) return;
  started_.push_back({SIGNET_EFFECT, wake_id_, Writer().message(kWakeUp, Writer().number(1, at_ms)).take()});
}

void Client::enter(const char *entry, const signet_value *arguments, size_t count) {
  char error[128] = "";
  const signet_vm_status status = signet_vm_enter(vm_.get(), entry, arguments, count, error);
  if (status != SIGNET_VM_OK) {
    stopped_ = error;
    is_stopped_ = true;
    return;
  }
  for (Output &output : std::exchange(started_, {})) {
    const bool is_effect = output.kind == SIGNET_EFFECT;
    if (is_effect && performs_.count(kind_of(output.bytes)) > 0) passed_.insert(output.id);
    if (passed_.count(output.id) == 0) {
      if (is_effect) effects_.start(output.id, output.bytes);
      else effects_.cancel(output.id);
      continue;
    }
    if (!is_effect) passed_.erase(output.id);
    outputs_.push_back(std::move(output));
  }
}

int32_t Client::queue(const char *entry, uint64_t id, std::string_view method, View bytes) {
  if (is_stopped_) return SIGNET_E_STOPPED;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_closing_) return SIGNET_E_HANDLE;
    inbox_.push_back({entry, id, std::string(method), bytes.copy()});
    effects_.http().wakeup();
  }
  return SIGNET_OK;
}

bool Client::take(Item &item) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (inbox_.empty()) return false;
  item = std::move(inbox_.front());
  inbox_.pop_front();
  return true;
}

// Enters the core once. False if nothing is due.
bool Client::step() {
  Item item;
  Http::Output done;
  if (effects_.next(done)) {
    const signet_value arguments[] = {number(done.id), bytes(done.bytes)};
    enter(done.is_piece ? "push" : "complete", arguments, 2);
    return true;
  }
  if (take(item)) {
    const bool is_call = !item.method.empty(), is_outcome = !is_call && item.entry[0] == 'c';
    if (is_outcome) passed_.erase(item.id);
    if (is_outcome && wake_id_ != 0 && item.id == wake_id_) {
      wake_id_ = 0;
      enter("tick", nullptr, 0);
      return true;
    }
    const signet_value call[] = {number(item.id), text(item.method), bytes(item.bytes)};
    const signet_value other[] = {number(item.id), bytes(item.bytes)};
    enter(item.entry, is_call ? call : other, is_call ? 3 : 2);
    return true;
  }
  if (wake_at_ms_ == 0 || wake_at_ms_ > primitives_.now()) return false;
  wake_at_ms_ = 0;
  enter("tick", nullptr, 0);
  return true;
}

// How long to wait for the next work, if `left` milliseconds are left; below zero for any.
int Client::wait_ms(int64_t left) {
  int64_t wait = left < 0 ? 60000 : std::min<int64_t>(left, 60000);
  if (wake_at_ms_ != 0) {
    const uint64_t now = primitives_.now();
    wait = std::min<int64_t>(wait, wake_at_ms_ > now ? static_cast<int64_t>(std::min<uint64_t>(wake_at_ms_ - now, 60000)) : 0);
  }
  const int patience = effects_.patience();
  return static_cast<int>(patience < 0 ? wait : std::min<int64_t>(wait, patience));
}

int32_t Client::work(int32_t timeout_ms, Output &output) {
  const int64_t end = steady_ms() + timeout_ms;
  for (;;) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (is_closing_) return SIGNET_E_HANDLE;
    }
    if (!outputs_.empty()) {
      output = std::move(outputs_.front());
      outputs_.pop_front();
      return SIGNET_OK;
    }
    if (is_stopped_) {
      output = {0, 0, client_failure(4, "INTERNAL", stopped_)};
      return SIGNET_E_STOPPED;
    }
    if (step()) continue;
    const int64_t left = timeout_ms < 0 ? -1 : std::max<int64_t>(0, end - steady_ms());
    if (left == 0) return SIGNET_TIMEOUT;
    effects_.http().wait(wait_ms(left));
  }
}

int32_t Client::next(int32_t timeout_ms, Output &output) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_closing_) return SIGNET_E_HANDLE;
    if (is_busy_) return SIGNET_E_BUSY;
    is_busy_ = true;
  }
  struct Leave {
    Client &client;
    ~Leave() {
      const std::lock_guard<std::mutex> lock(client.mutex_);
      client.is_busy_ = false;
      client.idle_.notify_all();
    }
  } leave{*this};
  return work(timeout_ms, output);
}

void Client::close() {
  std::unique_lock<std::mutex> lock(mutex_);
  is_closing_ = true;
  effects_.http().wakeup();
  idle_.wait(lock, [this] { return !is_busy_; });
}

}  // namespace signet
