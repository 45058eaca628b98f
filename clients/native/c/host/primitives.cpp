#include "primitives.h"

#include <chrono>
#include <cmath>

#include "wire.h"

namespace signet {

namespace {

constexpr double kMaxRandom = 65536;

// signet.host.v1.Primitive
enum Op {
  kRandom = 1,
  kNow = 2,
  kSha256 = 3,
  kSha512 = 4,
  kHmac = 5,
  kExpand = 6,
  kGcmSeal = 7,
  kGcmOpen = 8,
  kX25519Public = 9,
  kX25519 = 10,
  kEdGenerate = 11,
  kEdSign = 12,
  kEdVerify = 13,
  kBoxSeal = 14,
  kBoxOpen = 15,
  kHashBegin = 16,
  kHashUpdate = 17,
  kHashEnd = 18,
  kArgon2id = 19,
  kUtf8Encode = 20,
  kUtf8Decode = 21,
  kLog = 22,
  kOutput = 23,
  kMonotonic = 24,
};

double milliseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

double microseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

// A lone surrogate of a JavaScript text becomes U+FFFD, as TextEncoder has it. Both take three bytes.
Bytes well_formed(View text) {
  Bytes out = text.copy();
  for (size_t i = 0; i + 2 < out.size(); i++) {
    if (out[i] != 0xed || out[i + 1] < 0xa0) continue;
    out[i] = 0xef;
    out[i + 1] = 0xbf;
    out[i + 2] = 0xbd;
  }
  return out;
}

}  // namespace

struct Primitives::Call {
  const signet_value *arguments;
  size_t count;

  int op() const { return count > 0 ? static_cast<int>(number(0)) : 0; }
  // The argument, or a value that no primitive accepts.
  double number(size_t i) const {
    return i < count && arguments[i].kind == SIGNET_NUMBER && std::isfinite(arguments[i].number) ? arguments[i].number : -1;
  }
  bool has(const char *kinds) const {
    size_t i = 1;
    for (; *kinds != 0; kinds++, i++) {
      const int32_t kind = *kinds == 'n' ? SIGNET_NUMBER : *kinds == 't' ? SIGNET_TEXT : SIGNET_BYTES;
      if (i >= count || arguments[i].kind != kind) return false;
    }
    return i == count;
  }
  View bytes(size_t i) const { return View(arguments[i].bytes, arguments[i].length); }
};

Primitives::Primitives(const signet_host *host, Box *box, Sink sink) : box_(box), sink_(std::move(sink)) {
  if (host != nullptr) host_ = *host;
}

uint64_t Primitives::now() {
  const signet_value argument{SIGNET_NUMBER, kNow, nullptr, 0};
  signet_value answer{};
  perform(&argument, 1, &answer);
  return answer.kind == SIGNET_NUMBER && answer.number > 0 ? static_cast<uint64_t>(answer.number) : 0;
}

void Primitives::give(double number) { answer_ = {SIGNET_NUMBER, number, nullptr, 0}; }

void Primitives::give(Bytes bytes, bool is_text) {
  bytes_ = std::move(bytes);
  answer_ = {is_text ? SIGNET_TEXT : SIGNET_BYTES, 0, bytes_.data(), bytes_.size()};
}

void Primitives::give(std::optional<Bytes> bytes) {
  if (bytes) give(std::move(*bytes));
}

// True if the program's answer has the kind and length that the contract states.
static bool is_stated(int op, double number, const signet_value &answer) {
  const auto bytes = [&](double length) {
    return answer.kind == SIGNET_BYTES && static_cast<double>(answer.length) == length && answer.bytes != nullptr;
  };
  switch (op) {
    case kRandom: return bytes(number);
    case kSha256:
    case kHmac:
    case kX25519Public:
    case kX25519:
    case kHashEnd: return bytes(32);
    case kSha512:
    case kEdGenerate:
    case kEdSign: return bytes(64);
    case kNow:
    case kMonotonic:
    case kEdVerify:
    case kHashBegin: return answer.kind == SIGNET_NUMBER && std::isfinite(answer.number) && answer.number >= 0;
    case kBoxSeal:
    case kBoxOpen:
      if (answer.kind == SIGNET_NUMBER) return answer.number >= 1 && answer.number <= 10;
      break;
    default: break;
  }
  return answer.kind == SIGNET_BYTES && (answer.bytes != nullptr || answer.length == 0);
}

bool Primitives::ask_program(const Call &call, signet_value *answer) {
  const int op = call.op();
  // The interface itself is not replaceable.
  if (host_.primitive == nullptr || op == kOutput || op == kUtf8Encode || op == kUtf8Decode) return false;
  signet_value given{};
  const int32_t done = host_.primitive(host_.context, op, call.arguments + 1, call.count - 1, &given);
  if (done == SIGNET_HOST_DEFAULT) return false;
  const bool is_known = done == SIGNET_HOST_ANSWER && is_stated(op, call.number(1), given);
  *answer = is_known ? given : signet_value{};
  return true;
}

void Primitives::perform(const signet_value *arguments, size_t count, signet_value *answer) noexcept {
  *answer = signet_value{};
  try {
    const Call call{arguments, count};
    if (count == 0 || ask_program(call, answer)) return;
    wipe(bytes_.data(), bytes_.size());
    answer_ = signet_value{};
    run(call);
    *answer = answer_;
  } catch (...) {
    *answer = signet_value{};
  }
}

void Primitives::run(const Call &call) {
  switch (call.op()) {
    case kRandom:
      if (call.has("n") && call.number(1) >= 0 && call.number(1) <= kMaxRandom) {
        give(crypto::random(static_cast<size_t>(call.number(1))));
      }
      return;
    case kNow: return give(milliseconds());
    case kMonotonic: return give(microseconds());
    case kGcmSeal:
      if (call.has("bbbb")) give(crypto::gcm_seal(call.bytes(1), call.bytes(2), call.bytes(3), call.bytes(4)));
      return;
    case kGcmOpen:
      if (call.has("bbbb")) give(crypto::gcm_open(call.bytes(1), call.bytes(2), call.bytes(3), call.bytes(4)));
      return;
    case kX25519Public:
      if (call.has("b")) give(crypto::x25519_public(call.bytes(1)));
      return;
    case kX25519:
      if (call.has("bb")) give(crypto::x25519(call.bytes(1), call.bytes(2)));
      return;
    case kEdVerify:
      if (call.has("bbb")) give(crypto::ed25519_verify(call.bytes(1), call.bytes(2), call.bytes(3)) ? 1.0 : 0.0);
      return;
    case kEdGenerate:
    case kEdSign:
    case kBoxSeal:
    case kBoxOpen: return run_box(call);
    case kUtf8Encode:
    case kUtf8Decode:
    case kOutput: return run_text(call);
    default: return run_hash(call);
  }
}

void Primitives::run_hash(const Call &call) {
  switch (call.op()) {
    case kSha256:
      if (call.has("b")) give(crypto::sha256(call.bytes(1)));
      return;
    case kSha512:
      if (call.has("b")) give(crypto::sha512(call.bytes(1)));
      return;
    case kHmac:
      if (call.has("bb")) give(crypto::hmac_sha256(call.bytes(1), call.bytes(2)));
      return;
    case kExpand:
      if (call.has("bbn") && call.number(3) >= 0) {
        give(crypto::hkdf_expand(call.bytes(1), call.bytes(2), static_cast<size_t>(call.number(3))));
      }
      return;
    case kHashBegin:
      if (const uint32_t hash = hashes_.begin(); hash != 0) give(static_cast<double>(hash));
      return;
    case kHashUpdate:
      if (call.has("nb") && hashes_.update(call.number(1), call.bytes(2))) give(1.0);
      return;
    case kHashEnd:
      if (call.has("n")) give(hashes_.end(call.number(1)));
      return;
    case kArgon2id: {
      // The passphrase is bytes or a text.
      const bool is_text = call.has("tbnnnn");
      if (!is_text && !call.has("bbnnnn")) return;
      give(crypto::argon2id(call.bytes(1), call.bytes(2), call.number(3), call.number(4), call.number(5), call.number(6)));
      return;
    }
  }
}

void Primitives::run_box(const Call &call) {
  if (box_ == nullptr) return;
  try {
    switch (call.op()) {
      case kEdGenerate:
        if (call.has("n")) give(box_->generate(call.number(1)));
        return;
      case kEdSign:
        if (call.has("nbb")) give(box_->sign(call.number(1), call.bytes(2), call.bytes(3)));
        return;
      case kBoxSeal:
        if (call.has("ntb")) give(box_->seal(call.number(1), call.bytes(2), call.bytes(3)));
        return;
      case kBoxOpen:
        if (call.has("ntb")) give(box_->open(call.number(1), call.bytes(2), call.bytes(3)));
        return;
    }
  } catch (const Failure &failure) {
    give(static_cast<double>(failure.box == BoxFault::kNone ? BoxFault::kUnavailable : failure.box));
  }
}

void Primitives::run_text(const Call &call) {
  if (call.op() == kUtf8Encode && call.has("t")) return give(well_formed(call.bytes(1)));
  if (call.op() == kUtf8Decode && call.has("b") && is_utf8(call.bytes(1))) return give(call.bytes(1).copy(), true);
  if (call.op() != kOutput || call.count < 3 || call.number(1) < 0 || call.number(2) < 0) return;
  const bool has_bytes = call.count > 3 && call.arguments[3].kind == SIGNET_BYTES;
  sink_(static_cast<int32_t>(call.number(1)), static_cast<uint64_t>(call.number(2)), has_bytes ? call.bytes(3) : View());
}

}  // namespace signet
