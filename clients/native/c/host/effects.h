// The effects that the library performs itself: store, named bytes, lock, box, files, HTTP.
#pragma once

#include <deque>

#include "box.h"
#include "folder.h"
#include "http.h"
#include "options.h"
#include "os.h"

namespace signet {

class Effects {
 public:
  // Opens the data folder and the secret box. Throws Failure.
  Effects(Options &options, const signet_host *host);

  Box *box() { return box_ ? &*box_ : nullptr; }
  Http &http() { return http_; }

  // Performs or starts an Effect. Its outcome is an output.
  void start(uint64_t id, View effect);
  // Stops an effect, and drops its outcome.
  void cancel(uint64_t id);

  // Does what is due, without waiting. Returns false without an output.
  bool next(Http::Output &output);
  // At most this many milliseconds until next() must be called again; below zero for any.
  int patience() const;

 private:
  Bytes perform(uint64_t id, uint32_t kind, View effect);
  void poll_lock();
  Bytes fail(const Failure &failure) const;

  struct Waiting {
    uint64_t id;
    int64_t until_ms;
  };
  std::unique_ptr<Folder> folder_;
  std::optional<Box> box_;
  std::unique_ptr<os::File> lock_;
  bool is_locked_ = false;
  std::deque<Waiting> waiting_;
  Http http_;
  std::deque<Http::Output> done_;
};

}  // namespace signet
