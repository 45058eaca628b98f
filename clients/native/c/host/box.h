// The secret box: random keys of a scope, which a keeper stores, seal what the core stores elsewhere. Sealed and kept bytes
// have the format of the other clients' boxes.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "crypto.h"
#include "failure.h"
#include "signet.h"

namespace signet {

// signet.host.v1.BoxScope
struct Scope {
  std::optional<std::string> tenant, user, device;
  std::string app;

  // Throws Malformed.
  static Scope parse(View message);
  // A unique text for each scope.
  std::string text() const;
};

// The values to which sealed bytes are bound, besides scope and purpose.
struct BoxInfo {
  std::string backend;
  uint8_t version = 1;
  bool hardware = false, device_bound = false, persistent = true;
};

// Stores the keys of each scope. Throws Failure.
class Keeper {
 public:
  virtual ~Keeper() = default;
  virtual std::optional<Bytes> read(const Scope &scope) = 0;
  // exists: read() has returned the keys that these replace. Otherwise keys that another program stored meanwhile may stay.
  virtual void write(const Scope &scope, View kept, bool exists) = 0;
  virtual void remove(const Scope &scope) = 0;
};

struct BoxKey {
  Bytes raw, id;
  explicit BoxKey(View bytes);
};

// Seals with AES-256-GCM under the key; box, scope and purpose are authenticated.
Bytes seal_bytes(const BoxInfo &box, const BoxKey &key, const std::string &scope_text, View purpose, View plaintext);
// Throws Failure.
Bytes open_bytes(const BoxInfo &box, const std::vector<BoxKey> &keys, const std::string &scope_text, View purpose,
                 View sealed);

class Box {
 public:
  // locked: runs a change while no other process changes keys.
  Box(BoxInfo info, std::unique_ptr<Keeper> keeper, std::function<void(const std::function<void()> &)> locked)
      : info_(std::move(info)), keeper_(std::move(keeper)), locked_(std::move(locked)) {}

  const BoxInfo &info() const { return info_; }

  // Reads the keys of a scope into memory. Returns a positive number for the calls below. Throws Failure.
  uint32_t hold(const Scope &scope, bool create);
  void release(uint32_t box);
  void rotate(const Scope &scope);
  void destroy(const Scope &scope);

  // Throw Failure: KEY_MISSING for a box that is not held.
  Bytes seal(double box, View purpose, View plaintext) const;
  Bytes open(double box, View purpose, View sealed) const;

  // The reference of a new signing key, and its public key. Nothing for a box that is not held.
  std::optional<Bytes> generate(double box);
  std::optional<Bytes> sign(double box, View reference, View message);

 private:
  struct Held {
    std::string scope_text;
    std::vector<BoxKey> keys;
    Bytes signing_root;
  };
  std::optional<std::vector<BoxKey>> load(const Scope &scope) const;
  void add_key(const Scope &scope);
  const Held &held(double box) const;
  const crypto::SigningKey &signing_key(double box, const Held &held, View reference);

  BoxInfo info_;
  std::unique_ptr<Keeper> keeper_;
  std::function<void(const std::function<void()> &)> locked_;
  std::map<double, Held> held_;
  std::map<std::pair<double, std::string>, crypto::SigningKey> signing_keys_;
  uint32_t last_ = 0;
};

// A file of keys, as one value.
struct KeysFile {
  std::function<std::optional<Bytes>()> read;
  std::function<void(View)> write;
};
// Keys in a file under a passphrase.
std::unique_ptr<Keeper> passphrase_keeper(Bytes passphrase, KeysFile file);

// Wraps the keys of a scope by a key that is elsewhere. Throws Failure.
class Wrapping {
 public:
  virtual ~Wrapping() = default;
  // is_first: the scope has no keys yet, and a wrapping key that is left over is replaced.
  virtual Bytes wrap(const std::string &scope, View keys, bool is_first) = 0;
  virtual Bytes unwrap(const std::string &scope, View wrapped) = 0;
  virtual void forget(const std::string &scope) = 0;
};
// By BOX_WRAP, BOX_UNWRAP and BOX_FORGET of the program. Throws std::invalid_argument without a host that performs them.
std::unique_ptr<Wrapping> program_wrapping(const signet_host *host);
// By data protection of Windows, for the signed-in user. Throws Failure SECURE_STORE_UNAVAILABLE on another system.
std::unique_ptr<Wrapping> dpapi_wrapping();
// Keys in a file, wrapped.
std::unique_ptr<Keeper> wrapped_keeper(std::string backend, std::unique_ptr<Wrapping> wrapping, KeysFile file);
// Keys in the Secret Service of the desktop. Throws Failure SECURE_STORE_UNAVAILABLE without its library.
std::unique_ptr<Keeper> secret_service_keeper();

// signet.host.v1.KeychainBox
struct KeychainOptions {
  bool after_first_unlock = false;
  std::string access_group;
};
// Keys in the Keychain of macOS and iOS. Throws Failure SECURE_STORE_UNAVAILABLE on another system.
std::unique_ptr<Keeper> keychain_keeper(KeychainOptions options);

}  // namespace signet
