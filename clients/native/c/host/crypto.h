// The primitives that the core and the secret box use: OpenSSL's; on Windows those of CNG, and libsodium's where CNG has none;
// libargon2's everywhere.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "bytes.h"

namespace signet::crypto {

constexpr size_t kHashBytes = 32, kNonceBytes = 12, kTagBytes = 16, kKeyBytes = 32, kSignatureBytes = 64;

// Throws std::bad_alloc or std::runtime_error if the library fails. A refusal is nullopt.
Bytes random(size_t length);
Bytes sha256(View data);
Bytes sha512(View data);
Bytes hmac_sha256(View key, View data);
std::optional<Bytes> hkdf_expand(View key, View info, size_t length);
std::optional<Bytes> gcm_seal(View key, View nonce, View aad, View plaintext);
std::optional<Bytes> gcm_open(View key, View nonce, View aad, View sealed);
std::optional<Bytes> x25519_public(View private_key);
std::optional<Bytes> x25519(View private_key, View public_key);
bool ed25519_verify(View public_key, View message, View signature);
std::optional<Bytes> argon2id(View passphrase, View salt, double memory_kib, double passes, double lanes, double length);

// SHA-256 (FIPS 180-4) over data that arrives in parts.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256 &&) noexcept;
  ~Sha256();
  void update(View data);
  // The object is of no use after.
  Bytes finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// An Ed25519 key (RFC 8032), in memory of the library.
class SigningKey {
 public:
  explicit SigningKey(View seed);
  SigningKey(SigningKey &&) noexcept;
  ~SigningKey();
  Bytes public_key() const;
  Bytes sign(View message) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class RunningHashes {
 public:
  // Zero if too many are running.
  uint32_t begin();
  bool update(double id, View data);
  std::optional<Bytes> end(double id);

 private:
  std::map<double, Sha256> running_;
  uint32_t last_ = 0;
};

}  // namespace signet::crypto
