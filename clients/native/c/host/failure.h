// Failures of the host, as signet.host.v1 names them.
#pragma once

#include <stdexcept>

namespace signet {

// signet.host.v1.EffectFailure.Kind
enum class Fault : uint32_t { kUnreachable = 1, kTimedOut = 2, kIo = 3, kBox = 4, kLockBusy = 5, kFileState = 6 };

// signet.host.v1.BoxFailure
enum class BoxFault : uint32_t {
  kNone = 0,
  kUnavailable = 1,
  kChanged = 2,
  kLocked = 3,
  kWrongUser = 4,
  kWrongPassphrase = 5,
  kKeyMissing = 6,
  kKeyInvalidated = 7,
  kTampered = 8,
  kNewer = 9,
};

// The message is for a developer, and has no secret.
struct Failure : std::runtime_error {
  Failure(Fault fault, const std::string &message) : std::runtime_error(message), fault(fault) {}
  Failure(BoxFault box, const std::string &message) : std::runtime_error(message), fault(Fault::kBox), box(box) {}
  Fault fault;
  BoxFault box = BoxFault::kNone;
};

}  // namespace signet
