// The app's own native code, as far as the module needs it. JavaScript has no access to it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "signet.h"

namespace signet {

using Bytes = std::vector<uint8_t>;

// Overwrites the bytes in a way that a compiler does not leave out.
void wipe(Bytes &bytes);

// Every function may be called from any thread.
class Platform {
 public:
  virtual ~Platform() = default;

  // A signet.host.v1.NativeOptions without `identity`: the data folder of the account, the secret box, and the effects that
  // perform() implements. Called on the client's thread. An exception refuses the account.
  virtual Bytes options(const std::string &account) = 0;

  // The origins that may receive a token, such as `https://auth.example.com`.
  virtual std::vector<std::string> origins() = 0;

  // Replaces primitives, as the secret box of the platform does. It must outlive the platform's clients.
  virtual const signet_host *host() { return nullptr; }

  // Performs a signet.host.v1.Effect, and passes a signet.host.v1.EffectResult to `complete`, once and from any thread.
  virtual void perform(const uint8_t *effect, size_t length, std::function<void(const Bytes &result)> complete);
};

// Sets the platform of every later client. The app calls it before JavaScript starts.
void set_platform(std::shared_ptr<Platform> platform);
// Null if the app has set none.
std::shared_ptr<Platform> current_platform();

}  // namespace signet
