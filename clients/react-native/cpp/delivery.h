// Carries outputs from a client's thread to a JavaScript listener.
#pragma once

#include <ReactCommon/CallInvoker.h>
#include <jsi/jsi.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "engine.h"

namespace signet {

// Calls `listener(kind, id, bytes)` on the JavaScript thread, in order.
class Delivery : public std::enable_shared_from_this<Delivery> {
 public:
  Delivery(std::shared_ptr<facebook::react::CallInvoker> invoker, facebook::jsi::Function listener);
  ~Delivery();

  // Waits while the queue is full: a stalled JavaScript thread slows the client, and memory does not grow.
  void push(Output output);
  // Accepts outputs without a bound, so that the client's thread can end.
  void unbound();
  // Drops the listener and the queue. From any thread: the runtime may be gone.
  void detach();

 private:
  void schedule();
  void drain(facebook::jsi::Runtime &runtime);
  bool pop(Output &output);

  const std::shared_ptr<facebook::react::CallInvoker> invoker_;
  std::mutex mutex_;
  std::condition_variable has_room_;
  // Called on the JavaScript thread only.
  std::shared_ptr<facebook::jsi::Function> listener_;
  std::deque<Output> queue_;
  bool is_scheduled_ = false;
  bool is_unbound_ = false;
};

}  // namespace signet
