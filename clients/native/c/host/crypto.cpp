// What is the same with every library.
#include "crypto.h"

#include <argon2.h>

#include <algorithm>

namespace signet::crypto {

constexpr size_t kMaxRunning = 64;

// RFC 2104 over plain hashes: OpenSSL's own takes several times as long for short messages.
Bytes hmac_sha256(View key, View data) {
  constexpr size_t kBlock = 64;
  Bytes block(kBlock, 0);
  const Bytes short_key = key.size > kBlock ? sha256(key) : key.copy();
  std::copy(short_key.begin(), short_key.end(), block.begin());
  for (uint8_t &byte : block) byte ^= 0x36;
  Sha256 inner;
  inner.update(block);
  inner.update(data);
  for (uint8_t &byte : block) byte ^= 0x36 ^ 0x5c;
  Sha256 outer;
  outer.update(block);
  outer.update(inner.finish());
  return outer.finish();
}

std::optional<Bytes> hkdf_expand(View key, View info, size_t length) {
  if (length > 255 * kHashBytes) return std::nullopt;
  Bytes out, block;
  out.reserve(length + kHashBytes);
  for (uint8_t i = 1; out.size() < length; i++) {
    Bytes input = block;
    append(input, info);
    input.push_back(i);
    block = hmac_sha256(key, input);
    append(out, block);
  }
  out.resize(length);
  return out;
}

std::optional<Bytes> argon2id(View passphrase, View salt, double memory_kib, double passes, double lanes, double length) {
  const bool fits = memory_kib >= 8 && memory_kib <= 4194304 && passes >= 1 && passes <= 1000 && lanes >= 1 &&
                    lanes <= 64 && length >= 4 && length <= 1024;
  if (!fits) return std::nullopt;
  Bytes out(static_cast<size_t>(length));
  const int status = argon2id_hash_raw(static_cast<uint32_t>(passes), static_cast<uint32_t>(memory_kib),
                                       static_cast<uint32_t>(lanes), passphrase.data, passphrase.size, salt.data,
                                       salt.size, out.data(), out.size());
  if (status == ARGON2_MEMORY_ALLOCATION_ERROR) throw std::bad_alloc();
  if (status != ARGON2_OK) return std::nullopt;
  return out;
}

uint32_t RunningHashes::begin() {
  if (running_.size() >= kMaxRunning) return 0;
  running_.emplace(++last_, Sha256());
  return last_;
}

bool RunningHashes::update(double id, View data) {
  const auto found = running_.find(id);
  if (found == running_.end()) return false;
  found->second.update(data);
  return true;
}

std::optional<Bytes> RunningHashes::end(double id) {
  const auto found = running_.find(id);
  if (found == running_.end()) return std::nullopt;
  Sha256 hash(std::move(found->second));
  running_.erase(found);
  return hash.finish();
}

}  // namespace signet::crypto
