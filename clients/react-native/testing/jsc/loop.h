// The JavaScript thread of a program: tasks and timers, as React Native's runtime scheduler runs them.
#pragma once

#include <ReactCommon/CallInvoker.h>
#include <jsi/jsi.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

class Loop : public facebook::react::CallInvoker {
 public:
  using facebook::react::CallInvoker::invokeAsync;
  using facebook::react::CallInvoker::invokeSync;

  void invokeAsync(facebook::react::CallFunc &&func) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(func));
    }
    wake_.notify_one();
  }
  void invokeSync(facebook::react::CallFunc &&) override { std::abort(); }

  // Calls the function later. JavaScript thread only.
  int after(double ms, facebook::jsi::Function function) {
    const auto due = Clock::now() + std::chrono::microseconds(static_cast<int64_t>(ms * 1000));
    timers_.emplace(++last_timer_, Timer{due, std::make_shared<facebook::jsi::Function>(std::move(function))});
    return last_timer_;
  }
  void cancel(int timer) { timers_.erase(timer); }

  // Runs tasks until quit().
  void run(facebook::jsi::Runtime &runtime) {
    while (!quit_) {
      facebook::react::CallFunc task;
      {
        std::unique_lock lock(mutex_);
        const auto ready = [this] { return !tasks_.empty(); };
        const auto due = next_due();
        if (due == Clock::time_point::max()) wake_.wait(lock, ready);
        else wake_.wait_until(lock, due, ready);
        if (!tasks_.empty()) {
          task = std::move(tasks_.front());
          tasks_.pop_front();
        }
      }
      if (task) task(runtime);
      fire(runtime);
    }
    timers_.clear();
  }
  void quit() { quit_ = true; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Timer {
    Clock::time_point due;
    std::shared_ptr<facebook::jsi::Function> function;
  };

  Clock::time_point next_due() const {
    auto due = Clock::time_point::max();
    for (const auto &[id, timer] : timers_) due = std::min(due, timer.due);
    return due;
  }
  void fire(facebook::jsi::Runtime &runtime) {
    const auto now = Clock::now();
    for (auto it = timers_.begin(); it != timers_.end();) {
      const auto timer = it->second;
      if (timer.due > now) {
        ++it;
        continue;
      }
      timers_.erase(it);
      timer.function->call(runtime);
      // The call may have changed the timers.
      it = timers_.begin();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<facebook::react::CallFunc> tasks_;
  std::map<int, Timer> timers_;
  int last_timer_ = 0;
  bool quit_ = false;
};
