#include "box.h"

namespace signet {

namespace {

constexpr uint8_t kFormat = 1;
constexpr size_t kMaxKeys = 64;
constexpr size_t kMaxSigningKeys = 256;
constexpr std::string_view kCanary = "signet canary";

Failure changed() { return Failure(BoxFault::kChanged, "the store does not have the keys that were stored there"); }

size_t count_of(View kept) {
  if (kept.size < 2) throw changed();
  if (kept.data[0] > kFormat) {
    throw Failure(BoxFault::kNewer, "a later version of this program keeps its keys in the store");
  }
  const size_t count = kept.data[1];
  if (kept.data[0] != kFormat || count == 0 || kept.size <= 2 + crypto::kKeyBytes * count) throw changed();
  return count;
}

}  // namespace

std::optional<std::vector<BoxKey>> Box::load(const Scope &scope) const {
  const std::optional<Bytes> kept = keeper_->read(scope);
  if (!kept) return std::nullopt;
  const size_t count = count_of(*kept);
  std::vector<BoxKey> keys;
  for (size_t i = 0; i < count; i++) keys.emplace_back(View(*kept).part(2 + crypto::kKeyBytes * i, crypto::kKeyBytes));
  try {
    const View canary = View(*kept).from(2 + crypto::kKeyBytes * count);
    if (View(open_bytes(info_, keys, scope.text(), View("canary"), canary)).equals(View(kCanary))) return keys;
  } catch (const Failure &failure) {
    if (failure.fault != Fault::kBox) throw;
  }
  throw changed();
}

// Adds a random key to those of the scope, newest last.
void Box::add_key(const Scope &scope) {
  const std::optional<Bytes> before = keeper_->read(scope);
  const size_t count = before ? count_of(*before) : 0;
  if (count >= kMaxKeys) throw Failure(BoxFault::kUnavailable, "a scope has at most 64 keys");
  const BoxKey newest(crypto::random(crypto::kKeyBytes));
  Bytes kept{kFormat, static_cast<uint8_t>(count + 1)};
  if (before) append(kept, View(*before).part(2, crypto::kKeyBytes * count));
  append(kept, newest.raw);
  append(kept, seal_bytes(info_, newest, scope.text(), View("canary"), View(kCanary)));
  keeper_->write(scope, kept, before.has_value());
  // A store may accept bytes and not return them.
  if (!load(scope)) throw Failure(BoxFault::kUnavailable, "the store accepted a key and does not return it");
}

uint32_t Box::hold(const Scope &scope, bool create) {
  std::optional<std::vector<BoxKey>> keys = load(scope);
  if (!keys && create) {
    locked_([&] {
      if (!load(scope)) add_key(scope);
    });
    keys = load(scope);
  }
  if (!keys) throw Failure(BoxFault::kKeyMissing, "the scope has no key");
  Held held{scope.text(), std::move(*keys), {}};
  // The first key stays the first: a rotation changes no signing key.
  held.signing_root = crypto::hmac_sha256(held.keys.front().raw, View("signet signing root v1"));
  held_.emplace(++last_, std::move(held));
  return last_;
}

void Box::release(uint32_t box) {
  held_.erase(box);
  for (auto at = signing_keys_.begin(); at != signing_keys_.end();) {
    at = at->first.first == box ? signing_keys_.erase(at) : std::next(at);
  }
}

void Box::rotate(const Scope &scope) {
  locked_([&] {
    if (!load(scope)) throw Failure(BoxFault::kKeyMissing, "there is no key to rotate");
    add_key(scope);
  });
  for (auto &[id, held] : held_) {
    if (held.scope_text == scope.text()) held.keys = load(scope).value();
  }
}

void Box::destroy(const Scope &scope) {
  locked_([&] { keeper_->remove(scope); });
  std::vector<uint32_t> gone;
  for (const auto &[id, held] : held_) {
    if (held.scope_text == scope.text()) gone.push_back(static_cast<uint32_t>(id));
  }
  for (const uint32_t id : gone) release(id);
}

const Box::Held &Box::held(double box) const {
  const auto found = held_.find(box);
  if (found == held_.end()) throw Failure(BoxFault::kKeyMissing, "the keys of the scope are not held");
  return found->second;
}

Bytes Box::seal(double box, View purpose, View plaintext) const {
  const Held &keys = held(box);
  return seal_bytes(info_, keys.keys.back(), keys.scope_text, purpose, plaintext);
}

Bytes Box::open(double box, View purpose, View sealed) const {
  const Held &keys = held(box);
  return open_bytes(info_, keys.keys, keys.scope_text, purpose, sealed);
}

const crypto::SigningKey &Box::signing_key(double box, const Held &held, View reference) {
  auto name = std::make_pair(box, reference.text());
  const auto known = signing_keys_.find(name);
  if (known != signing_keys_.end()) return known->second;
  if (signing_keys_.size() >= kMaxSigningKeys) signing_keys_.clear();
  crypto::SigningKey key(crypto::hmac_sha256(held.signing_root, reference));
  return signing_keys_.emplace(std::move(name), std::move(key)).first->second;
}

std::optional<Bytes> Box::generate(double box) {
  const auto found = held_.find(box);
  if (found == held_.end()) return std::nullopt;
  Bytes out = crypto::random(crypto::kKeyBytes);
  append(out, signing_key(box, found->second, Bytes(out)).public_key());
  return out;
}

std::optional<Bytes> Box::sign(double box, View reference, View message) {
  const auto found = held_.find(box);
  if (found == held_.end() || reference.size != crypto::kKeyBytes) return std::nullopt;
  return signing_key(box, found->second, reference).sign(message);
}

}  // namespace signet
