// The primitives of OpenSSL and libargon2 that the core and the secret box use.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "bytes.h"

typedef struct evp_md_ctx_st EVP_MD_CTX;
typedef struct evp_pkey_st EVP_PKEY;

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

// An Ed25519 key in OpenSSL's memory.
class SigningKey {
 public:
  explicit SigningKey(View seed);
  SigningKey(SigningKey &&other) noexcept : key_(std::exchange(other.key_, nullptr)) {}
  SigningKey(const SigningKey &) = delete;
  ~SigningKey();
  Bytes public_key() const;
  Bytes sign(View message) const;

 private:
  EVP_PKEY *key_;
};

// SHA-256 over data that arrives in parts.
class RunningHashes {
 public:
  ~RunningHashes();
  // Zero if too many are running.
  uint32_t begin();
  bool update(double id, View data);
  std::optional<Bytes> end(double id);

 private:
  std::map<double, EVP_MD_CTX *> running_;
  uint32_t last_ = 0;
};

}  // namespace signet::crypto
