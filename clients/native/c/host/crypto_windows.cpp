#ifdef _WIN32

#include <windows.h>
#include <bcrypt.h>
#include <sodium.h>

#include <stdexcept>

#include "crypto.h"

namespace signet::crypto {

namespace {

constexpr NTSTATUS kTagMismatch = static_cast<NTSTATUS>(0xc000a002);

void check(NTSTATUS status) {
  if (status < 0) throw std::runtime_error("CNG failed");
}

// Libraries check for what the processor has, once.
void start_sodium() {
  static const int started = sodium_init();
  if (started < 0) throw std::runtime_error("libsodium failed");
}

// Opened once: providers are the process's.
BCRYPT_ALG_HANDLE open(const wchar_t *algorithm, const wchar_t *mode = nullptr) {
  BCRYPT_ALG_HANDLE handle = nullptr;
  check(BCryptOpenAlgorithmProvider(&handle, algorithm, nullptr, 0));
  if (mode != nullptr) {
    // Its property is a text, with the zero.
    const auto bytes = static_cast<ULONG>((wcslen(mode) + 1) * sizeof(wchar_t));
    check(BCryptSetProperty(handle, BCRYPT_CHAINING_MODE, reinterpret_cast<UCHAR *>(const_cast<wchar_t *>(mode)), bytes, 0));
  }
  return handle;
}

BCRYPT_ALG_HANDLE sha256_method() {
  static const BCRYPT_ALG_HANDLE handle = open(BCRYPT_SHA256_ALGORITHM);
  return handle;
}

BCRYPT_ALG_HANDLE sha512_method() {
  static const BCRYPT_ALG_HANDLE handle = open(BCRYPT_SHA512_ALGORITHM);
  return handle;
}

BCRYPT_ALG_HANDLE gcm_method() {
  static const BCRYPT_ALG_HANDLE handle = open(BCRYPT_AES_ALGORITHM, BCRYPT_CHAIN_MODE_GCM);
  return handle;
}

// CNG does not change what it reads, and does not say so.
UCHAR *in(View view) {
  static UCHAR none = 0;
  return view.empty() ? &none : const_cast<UCHAR *>(view.data);
}

ULONG size_of(View view) {
  if (view.size > 0x7fffffff) throw std::bad_alloc();
  return static_cast<ULONG>(view.size);
}

class Hash {
 public:
  explicit Hash(BCRYPT_ALG_HANDLE method) { check(BCryptCreateHash(method, &handle_, nullptr, 0, nullptr, 0, 0)); }
  ~Hash() { BCryptDestroyHash(handle_); }
  Hash(const Hash &) = delete;
  void update(View data) { check(BCryptHashData(handle_, in(data), size_of(data), 0)); }
  Bytes finish(size_t length) {
    Bytes out(length);
    check(BCryptFinishHash(handle_, out.data(), static_cast<ULONG>(length), 0));
    return out;
  }

 private:
  BCRYPT_HASH_HANDLE handle_ = nullptr;
};

Bytes digest(BCRYPT_ALG_HANDLE method, View data, size_t length) {
  Hash hash(method);
  hash.update(data);
  return hash.finish(length);
}

class GcmKey {
 public:
  explicit GcmKey(View key) {
    check(BCryptGenerateSymmetricKey(gcm_method(), &handle_, nullptr, 0, in(key), size_of(key), 0));
  }
  ~GcmKey() { BCryptDestroyKey(handle_); }
  GcmKey(const GcmKey &) = delete;
  BCRYPT_KEY_HANDLE get() const { return handle_; }

 private:
  BCRYPT_KEY_HANDLE handle_ = nullptr;
};

bool is_gcm(View key, View nonce) { return (key.size == 16 || key.size == 32) && nonce.size == kNonceBytes; }

BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO mode_of(View nonce, View aad, uint8_t *tag) {
  BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO mode;
  BCRYPT_INIT_AUTH_MODE_INFO(mode);
  mode.pbNonce = in(nonce);
  mode.cbNonce = size_of(nonce);
  mode.pbAuthData = aad.empty() ? nullptr : in(aad);
  mode.cbAuthData = size_of(aad);
  mode.pbTag = tag;
  mode.cbTag = kTagBytes;
  return mode;
}

}  // namespace

Bytes random(size_t length) {
  Bytes out(length);
  if (length > 0) check(BCryptGenRandom(nullptr, out.data(), static_cast<ULONG>(length), BCRYPT_USE_SYSTEM_PREFERRED_RNG));
  return out;
}

Bytes sha256(View data) { return digest(sha256_method(), data, kHashBytes); }
Bytes sha512(View data) { return digest(sha512_method(), data, 64); }

std::optional<Bytes> gcm_seal(View key, View nonce, View aad, View plaintext) {
  if (!is_gcm(key, nonce)) return std::nullopt;
  const GcmKey cipher(key);
  Bytes out(plaintext.size + kTagBytes);
  auto mode = mode_of(nonce, aad, out.data() + plaintext.size);
  ULONG written = 0;
  check(BCryptEncrypt(cipher.get(), in(plaintext), size_of(plaintext), &mode, nullptr, 0, out.data(), size_of(plaintext),
                      &written, 0));
  return out;
}

std::optional<Bytes> gcm_open(View key, View nonce, View aad, View sealed) {
  if (!is_gcm(key, nonce) || sealed.size < kTagBytes) return std::nullopt;
  const GcmKey cipher(key);
  const View ciphertext = sealed.part(0, sealed.size - kTagBytes);
  Bytes tag = sealed.from(ciphertext.size).copy();
  // CNG does not take an output of NULL for no bytes.
  Bytes out(ciphertext.size + 1);
  auto mode = mode_of(nonce, aad, tag.data());
  ULONG written = 0;
  const NTSTATUS status = BCryptDecrypt(cipher.get(), in(ciphertext), size_of(ciphertext), &mode, nullptr, 0, out.data(),
                                        size_of(ciphertext), &written, 0);
  if (status == kTagMismatch) return std::nullopt;
  check(status);
  out.resize(ciphertext.size);
  return out;
}

std::optional<Bytes> x25519_public(View private_key) {
  if (private_key.size != kKeyBytes) return std::nullopt;
  start_sodium();
  Bytes out(kKeyBytes);
  if (crypto_scalarmult_curve25519_base(out.data(), private_key.data) != 0) return std::nullopt;
  return out;
}

std::optional<Bytes> x25519(View private_key, View public_key) {
  if (private_key.size != kKeyBytes || public_key.size != kKeyBytes) return std::nullopt;
  start_sodium();
  Bytes out(kKeyBytes);
  // libsodium fails for a secret that is all zero.
  if (crypto_scalarmult_curve25519(out.data(), private_key.data, public_key.data) != 0) return std::nullopt;
  return out;
}

bool ed25519_verify(View public_key, View message, View signature) {
  if (public_key.size != kKeyBytes || signature.size != kSignatureBytes) return false;
  start_sodium();
  return crypto_sign_ed25519_verify_detached(signature.data, in(message), message.size, public_key.data) == 0;
}

struct Sha256::State : Hash {
  State() : Hash(sha256_method()) {}
};

Sha256::Sha256() : state_(new State) {}
Sha256::Sha256(Sha256 &&) noexcept = default;
Sha256::~Sha256() = default;
void Sha256::update(View data) { state_->update(data); }
Bytes Sha256::finish() { return state_->finish(kHashBytes); }

struct SigningKey::State {
  Bytes pair, public_key;
};

SigningKey::SigningKey(View seed) : state_(new State{Bytes(crypto_sign_ed25519_SECRETKEYBYTES), Bytes(kKeyBytes)}) {
  start_sodium();
  if (seed.size != crypto_sign_ed25519_SEEDBYTES) throw std::runtime_error("not an Ed25519 seed");
  crypto_sign_ed25519_seed_keypair(state_->public_key.data(), state_->pair.data(), seed.data);
}
SigningKey::SigningKey(SigningKey &&) noexcept = default;
SigningKey::~SigningKey() = default;

Bytes SigningKey::public_key() const { return state_->public_key; }

Bytes SigningKey::sign(View message) const {
  Bytes out(kSignatureBytes);
  crypto_sign_ed25519_detached(out.data(), nullptr, in(message), message.size, state_->pair.data());
  return out;
}

}  // namespace signet::crypto

#endif
