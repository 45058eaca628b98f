// The format of sealed bytes: "SGSB", format, backend, version, id of the key, hash of the scope, nonce; then AES-256-GCM.
#include "box.h"
#include "wire.h"

namespace signet {

namespace {

constexpr uint8_t kMagic[] = {0x53, 0x47, 0x53, 0x42};
constexpr uint8_t kFormat = 1;
constexpr size_t kIdBytes = 8;
constexpr std::string_view kLabel("signet secret box v1\0", 21);

void append_json(std::string &to, const std::optional<std::string> &value) {
  if (!value) {
    to += "null";
    return;
  }
  static const char *const kHex = "0123456789abcdef";
  to += '"';
  for (const char c : *value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (byte >= 0x20) {
      to += c;
    } else if (const auto at = std::string_view("\b\f\n\r\t").find(c); at != std::string_view::npos) {
      to += '\\';
      to += "bfnrt"[at];
    } else {
      to += "\\u00";
      to += kHex[byte >> 4];
      to += kHex[byte & 15];
    }
  }
  to += '"';
}

Bytes concat(std::initializer_list<View> parts) {
  Bytes all;
  for (const View part : parts) append(all, part);
  return all;
}

}  // namespace

Scope Scope::parse(View message) {
  Scope scope;
  for (Reader in(message); in.next();) {
    switch (in.field()) {
      case 1: scope.tenant = in.text(); break;
      case 2: scope.app = in.text(); break;
      case 3: scope.user = in.text(); break;
      case 4: scope.device = in.text(); break;
    }
  }
  if (scope.app.empty()) throw Malformed();
  return scope;
}

std::string Scope::text() const {
  std::string out = "[";
  append_json(out, tenant);
  out += ',';
  append_json(out, app);
  out += ',';
  append_json(out, user);
  out += ',';
  append_json(out, device);
  return out + "]";
}

BoxKey::BoxKey(View bytes) : raw(bytes.copy()), id(crypto::sha256(concat({View(kLabel), bytes}))) {
  id.resize(kIdBytes);
}

Bytes seal_bytes(const BoxInfo &box, const BoxKey &key, const std::string &scope_text, View purpose, View plaintext) {
  const Bytes nonce = crypto::random(crypto::kNonceBytes);
  Bytes header = concat({View(kMagic, sizeof kMagic), View(&kFormat, 1)});
  header.push_back(static_cast<uint8_t>(box.backend.size()));
  append(header, View(box.backend));
  header.push_back(box.version);
  append(header, key.id);
  append(header, crypto::sha256(View(scope_text)));
  append(header, nonce);
  const auto sealed = crypto::gcm_seal(key.raw, nonce, concat({View(kLabel), header, purpose}), plaintext);
  append(header, sealed.value());
  return header;
}

Bytes open_bytes(const BoxInfo &box, const std::vector<BoxKey> &keys, const std::string &scope_text, View purpose,
                 View sealed) {
  const auto tampered = [] { return Failure(BoxFault::kTampered, "not sealed data, or incomplete"); };
  constexpr size_t kStart = sizeof kMagic + 2;
  if (sealed.size < kStart || memcmp(sealed.data, kMagic, sizeof kMagic) != 0) throw tampered();
  if (sealed.data[sizeof kMagic] != kFormat) {
    throw Failure(BoxFault::kNewer, "a later version of this program sealed the data");
  }
  const size_t backend = sealed.data[sizeof kMagic + 1];
  const size_t end = kStart + backend + 1 + kIdBytes + crypto::kHashBytes + crypto::kNonceBytes;
  if (sealed.size < end + crypto::kTagBytes) throw tampered();
  if (!sealed.part(kStart, backend).equals(View(box.backend))) {
    throw Failure(BoxFault::kChanged, "another store sealed the data");
  }
  size_t at = kStart + backend;
  if (sealed.data[at] > box.version) throw Failure(BoxFault::kNewer, "a later version of this program sealed the data");
  const View id = sealed.part(at + 1, kIdBytes);
  const View hash = sealed.part(at + 1 + kIdBytes, crypto::kHashBytes);
  const View nonce = sealed.part(end - crypto::kNonceBytes, crypto::kNonceBytes);
  if (!hash.equals(crypto::sha256(View(scope_text)))) {
    throw Failure(BoxFault::kWrongUser, "the data was sealed for another user, app or tenant");
  }
  for (const BoxKey &key : keys) {
    if (!id.equals(key.id)) continue;
    const Bytes aad = concat({View(kLabel), sealed.part(0, end), purpose});
    auto plaintext = crypto::gcm_open(key.raw, nonce, aad, sealed.from(end));
    if (!plaintext) throw Failure(BoxFault::kTampered, "the data was changed, or sealed for another purpose");
    return std::move(*plaintext);
  }
  throw Failure(BoxFault::kChanged, "the store does not have the key that sealed the data");
}

}  // namespace signet
