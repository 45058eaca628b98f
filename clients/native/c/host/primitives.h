// The operations that answer the core at once: the program's, or the library's own.
#pragma once

#include <functional>

#include "../signet.h"
#include "box.h"

namespace signet {

class Primitives {
 public:
  // What the core emits: kind, id, bytes.
  using Sink = std::function<void(int32_t, uint64_t, View)>;

  // box: NULL if the program has the box.
  Primitives(const signet_host *host, Box *box, Sink sink);

  // Performs `arguments[0]` for the core. The answer is valid until the next call. Without one the host refuses.
  void perform(const signet_value *arguments, size_t count, signet_value *answer) noexcept;
  // Milliseconds since the Unix epoch.
  uint64_t now();

 private:
  struct Call;
  bool ask_program(const Call &call, signet_value *answer);
  void run(const Call &call);
  void run_hash(const Call &call);
  void run_box(const Call &call);
  void run_text(const Call &call);
  void give(double number);
  void give(Bytes bytes, bool is_text = false);
  void give(std::optional<Bytes> bytes);

  signet_host host_{};
  Box *box_;
  Sink sink_;
  crypto::RunningHashes hashes_;
  Bytes bytes_;
  signet_value answer_{};
};

}  // namespace signet
