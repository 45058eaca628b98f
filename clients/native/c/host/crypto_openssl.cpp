#ifndef _WIN32

#include "crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <stdexcept>

namespace signet::crypto {

namespace {

void check(int status) {
  if (status <= 0) throw std::runtime_error("OpenSSL failed");
}

// Fetched once: OpenSSL 3 searches its providers at each use otherwise.
const EVP_MD *sha256_method() {
  static const EVP_MD *const method = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return method;
}

const EVP_MD *sha512_method() {
  static const EVP_MD *const method = EVP_MD_fetch(nullptr, "SHA512", nullptr);
  return method;
}

const EVP_CIPHER *gcm_method(size_t key_bytes) {
  static const EVP_CIPHER *const small = EVP_CIPHER_fetch(nullptr, "AES-128-GCM", nullptr);
  static const EVP_CIPHER *const large = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
  return key_bytes == 16 ? small : key_bytes == 32 ? large : nullptr;
}

Bytes digest(const EVP_MD *method, View data) {
  Bytes out(EVP_MD_get_size(method));
  check(EVP_Digest(data.data, data.size, out.data(), nullptr, method, nullptr));
  return out;
}

struct FreeDigest {
  void operator()(EVP_MD_CTX *context) const { EVP_MD_CTX_free(context); }
};
struct FreeCipher {
  void operator()(EVP_CIPHER_CTX *context) const { EVP_CIPHER_CTX_free(context); }
};
struct FreeKey {
  void operator()(EVP_PKEY *key) const { EVP_PKEY_free(key); }
};
struct FreeKeyContext {
  void operator()(EVP_PKEY_CTX *context) const { EVP_PKEY_CTX_free(context); }
};
using Digest = std::unique_ptr<EVP_MD_CTX, FreeDigest>;
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;

int size_of(View view) {
  if (view.size > 0x7fffffff) throw std::bad_alloc();
  return static_cast<int>(view.size);
}

}  // namespace

Bytes random(size_t length) {
  Bytes out(length);
  if (length > 0) check(RAND_bytes(out.data(), static_cast<int>(length)));
  return out;
}

Bytes sha256(View data) { return digest(sha256_method(), data); }
Bytes sha512(View data) { return digest(sha512_method(), data); }

std::optional<Bytes> gcm_seal(View key, View nonce, View aad, View plaintext) {
  const EVP_CIPHER *method = gcm_method(key.size);
  if (method == nullptr || nonce.size != kNonceBytes) return std::nullopt;
  const Cipher context(EVP_CIPHER_CTX_new());
  Bytes out(plaintext.size + kTagBytes);
  int written = 0;
  check(EVP_EncryptInit_ex(context.get(), method, nullptr, key.data, nonce.data));
  if (!aad.empty()) check(EVP_EncryptUpdate(context.get(), nullptr, &written, aad.data, size_of(aad)));
  if (!plaintext.empty()) {
    check(EVP_EncryptUpdate(context.get(), out.data(), &written, plaintext.data, size_of(plaintext)));
  }
  uint8_t none[16];
  check(EVP_EncryptFinal_ex(context.get(), none, &written));
  check(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, out.data() + plaintext.size));
  return out;
}

std::optional<Bytes> gcm_open(View key, View nonce, View aad, View sealed) {
  const EVP_CIPHER *method = gcm_method(key.size);
  if (method == nullptr || nonce.size != kNonceBytes || sealed.size < kTagBytes) return std::nullopt;
  const Cipher context(EVP_CIPHER_CTX_new());
  const View ciphertext = sealed.part(0, sealed.size - kTagBytes);
  Bytes tag = sealed.from(ciphertext.size).copy();
  Bytes out(ciphertext.size);
  int written = 0;
  check(EVP_DecryptInit_ex(context.get(), method, nullptr, key.data, nonce.data));
  if (!aad.empty()) check(EVP_DecryptUpdate(context.get(), nullptr, &written, aad.data, size_of(aad)));
  if (!ciphertext.empty()) {
    check(EVP_DecryptUpdate(context.get(), out.data(), &written, ciphertext.data, size_of(ciphertext)));
  }
  check(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag.data()));
  uint8_t none[16];
  if (EVP_DecryptFinal_ex(context.get(), none, &written) <= 0) return std::nullopt;
  return out;
}

std::optional<Bytes> x25519_public(View private_key) {
  if (private_key.size != kKeyBytes) return std::nullopt;
  const Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, private_key.data, private_key.size));
  if (!key) throw std::bad_alloc();
  Bytes out(kKeyBytes);
  size_t length = out.size();
  check(EVP_PKEY_get_raw_public_key(key.get(), out.data(), &length));
  return out;
}

std::optional<Bytes> x25519(View private_key, View public_key) {
  if (private_key.size != kKeyBytes || public_key.size != kKeyBytes) return std::nullopt;
  const Key own(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, private_key.data, private_key.size));
  const Key peer(EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, public_key.data, public_key.size));
  if (!own || !peer) throw std::bad_alloc();
  const std::unique_ptr<EVP_PKEY_CTX, FreeKeyContext> context(EVP_PKEY_CTX_new(own.get(), nullptr));
  Bytes out(kKeyBytes);
  size_t length = out.size();
  check(EVP_PKEY_derive_init(context.get()));
  check(EVP_PKEY_derive_set_peer(context.get(), peer.get()));
  // OpenSSL fails for a secret that is all zero.
  if (EVP_PKEY_derive(context.get(), out.data(), &length) <= 0) return std::nullopt;
  return out;
}

bool ed25519_verify(View public_key, View message, View signature) {
  if (public_key.size != kKeyBytes || signature.size != kSignatureBytes) return false;
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, public_key.data, public_key.size));
  if (!key) return false;
  const Digest context(EVP_MD_CTX_new());
  check(EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()));
  return EVP_DigestVerify(context.get(), signature.data, signature.size, message.data, message.size) == 1;
}

struct Sha256::State {
  Digest context{EVP_MD_CTX_new()};
};

Sha256::Sha256() : state_(new State) { check(EVP_DigestInit_ex(state_->context.get(), sha256_method(), nullptr)); }
Sha256::Sha256(Sha256 &&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(View data) { check(EVP_DigestUpdate(state_->context.get(), data.data, data.size)); }

Bytes Sha256::finish() {
  Bytes out(kHashBytes);
  check(EVP_DigestFinal_ex(state_->context.get(), out.data(), nullptr));
  return out;
}

struct SigningKey::State {
  Key key;
};

SigningKey::SigningKey(View seed)
    : state_(new State{Key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data, seed.size))}) {
  if (!state_->key) throw std::runtime_error("not an Ed25519 seed");
}
SigningKey::SigningKey(SigningKey &&) noexcept = default;
SigningKey::~SigningKey() = default;

Bytes SigningKey::public_key() const {
  Bytes out(kKeyBytes);
  size_t length = out.size();
  check(EVP_PKEY_get_raw_public_key(state_->key.get(), out.data(), &length));
  return out;
}

Bytes SigningKey::sign(View message) const {
  const Digest context(EVP_MD_CTX_new());
  Bytes out(kSignatureBytes);
  size_t length = out.size();
  check(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, state_->key.get()));
  check(EVP_DigestSign(context.get(), out.data(), &length, message.data, message.size));
  return out;
}

}  // namespace signet::crypto

#endif
