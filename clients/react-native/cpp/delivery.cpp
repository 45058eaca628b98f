#include "delivery.h"

#include <cstring>

#include "buffers.h"

namespace signet {

namespace jsi = facebook::jsi;

namespace {

constexpr size_t most_queued = 1024;
// Other tasks of the JavaScript thread run between two batches.
constexpr int most_in_a_batch = 64;

}  // namespace

Delivery::Delivery(std::shared_ptr<facebook::react::CallInvoker> invoker, jsi::Function listener)
    : invoker_(std::move(invoker)), listener_(std::make_shared<jsi::Function>(std::move(listener))) {}

Delivery::~Delivery() { detach(); }

void Delivery::push(Output output) {
  {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [this] { return is_unbound_ || queue_.size() < most_queued; });
    if (listener_ == nullptr) return wipe(output.bytes);
    queue_.push_back(std::move(output));
    if (is_scheduled_) return;
    is_scheduled_ = true;
  }
  schedule();
}

void Delivery::unbound() {
  {
    const std::lock_guard lock(mutex_);
    is_unbound_ = true;
  }
  has_room_.notify_all();
}

void Delivery::detach() {
  unbound();
  std::shared_ptr<jsi::Function> listener;
  const std::lock_guard lock(mutex_);
  listener_.swap(listener);
  for (auto &output : queue_) wipe(output.bytes);
  queue_.clear();
}

void Delivery::schedule() {
  invoker_->invokeAsync([weak = weak_from_this()](jsi::Runtime &runtime) {
    if (const auto self = weak.lock()) self->drain(runtime);
  });
}

bool Delivery::pop(Output &output) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) {
      is_scheduled_ = false;
      return false;
    }
    output = std::move(queue_.front());
    queue_.pop_front();
  }
  has_room_.notify_one();
  return true;
}

void Delivery::drain(jsi::Runtime &runtime) {
  std::shared_ptr<jsi::Function> listener;
  {
    const std::lock_guard lock(mutex_);
    listener = listener_;
  }
  Output output{};
  for (int i = 0; i < most_in_a_batch; i++) {
    if (!pop(output)) return;
    if (listener == nullptr) continue;
    try {
      // An id is below 2^53.
      const auto bytes = array_buffer(runtime, output.bytes);
      wipe(output.bytes);
      // The listener leads to the object that owns this delivery: dropping it ends the circle.
      if (output.kind == Kind::ended) detach();
      listener->call(runtime, static_cast<int>(output.kind), static_cast<double>(output.id), bytes);
    } catch (...) {
      // React Native reports the exception. The rest of the queue comes with the next task.
      schedule();
      throw;
    }
  }
  schedule();
}

}  // namespace signet
