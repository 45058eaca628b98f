// The app's own native code, as far as the module needs it. JavaScript has no access to it.
#pragma once

#include <cstdint>
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

  // A signet.host.v1.NativeOptions without `identity`: the data folder of the account, and the secret box. Called on the client's thread. An exception refuses the account.
  virtual Bytes options(const std::string &account) = 0;

  // The folder of all data folders. JavaScript may not name a file in it.
  virtual std::string folder() = 0;

  // The origins that may receive a token, such as `https://auth.example.com`.
  virtual std::vector<std::string> origins() = 0;

  // Replaces primitives of the account's client, as a secret box of the app does. It must outlive the client.
  virtual const signet_host *host(const std::string &account) {
    static_cast<void>(account);
    return nullptr;
  }
};

// Sets the platform of every later client. The app calls it before JavaScript starts.
void set_platform(std::shared_ptr<Platform> platform);
// Null if the app has set none.
std::shared_ptr<Platform> current_platform();

}  // namespace signet
