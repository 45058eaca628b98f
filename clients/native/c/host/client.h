// A client: the core in its engine, its effects, and the queues between threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "../engine/vm.h"
#include "effects.h"
#include "primitives.h"

namespace signet {

struct Output {
  int32_t kind;
  uint64_t id;
  Bytes bytes;
};

// A signet.client.v1.ClientFailure.
Bytes client_failure(uint64_t kind, std::string_view reason, std::string_view message);

// The core's refusal of its options: a signet.client.v1.ClientFailure.
struct StartRefused {
  Bytes failure;
};

class Client {
 public:
  // Throws Failure, Malformed, std::invalid_argument, StartRefused, and std::runtime_error if the core does not start.
  Client(Options options, const signet_host *host);

  // From any thread. Return a status.
  int32_t queue(const char *entry, uint64_t id, std::string_view method, View bytes);
  // Returns a status.
  int32_t next(int32_t timeout_ms, Output &output);
  // Ends everything, and waits for a next() of another thread to return.
  void close();

 private:
  struct Item {
    const char *entry;
    uint64_t id;
    std::string method;
    Bytes bytes;
  };
  void start(const Options &options, bool has_box);
  void on_output(int32_t kind, uint64_t id, View bytes);
  void wake_at(uint64_t at_ms);
  bool step();
  bool take(Item &item);
  void enter(const char *entry, const signet_value *arguments, size_t count);
  int wait_ms(int64_t left);
  int32_t work(int32_t timeout_ms, Output &output);

  std::set<uint64_t> performs_;
  Effects effects_;
  Primitives primitives_;
  struct CloseVm {
    void operator()(signet_vm *vm) const { signet_vm_close(vm); }
  };
  // Released before what its calls use.
  std::unique_ptr<signet_vm, CloseVm> vm_;
  std::deque<Output> outputs_;
  std::vector<Output> started_;
  std::set<uint64_t> passed_; /* effects that the program is performing */
  uint64_t wake_at_ms_ = 0; /* zero for never, and if the program performs it */
  // The effect of the pending wake-up that the program performs; zero for none. Ids descend: those of the core ascend.
  uint64_t wake_id_ = 0, next_wake_id_ = (uint64_t{1} << 53) - 1;
  std::string stopped_;
  std::atomic<bool> is_stopped_{false};

  std::mutex mutex_;
  std::condition_variable idle_;
  std::deque<Item> inbox_;
  bool is_busy_ = false, is_closing_ = false;
};

}  // namespace signet
