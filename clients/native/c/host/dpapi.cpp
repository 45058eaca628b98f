// Data protection of Windows (DPAPI): the system encrypts a few bytes under keys of the signed-in user.
#include "box.h"

#ifdef _WIN32

#include <windows.h>
#include <dpapi.h>

#include "crypto.h"

namespace signet {

namespace {

// The scope is the entropy, so that wrapped keys open for their scope only.
constexpr std::string_view kLabel("signet libsignet dpapi v1\0", 26);
constexpr auto kBadKeyState = static_cast<DWORD>(0x8009000b); /* NTE_BAD_KEY_STATE: this user lacks the key */

DATA_BLOB blob(View bytes) {
  // Data protection does not change what it reads, and does not say so.
  return {static_cast<DWORD>(bytes.size), const_cast<BYTE *>(bytes.data)};
}

Bytes take(DATA_BLOB made) {
  Bytes out(made.pbData, made.pbData + made.cbData);
  wipe(made.pbData, made.cbData);
  LocalFree(made.pbData);
  return out;
}

Failure refusal() {
  const DWORD error = GetLastError();
  switch (error) {
    case kBadKeyState:
      return Failure(BoxFault::kWrongUser, "another user protected the keys, or they are older than a password that an administrator set");
    case ERROR_INVALID_DATA: return Failure(BoxFault::kTampered, "the protected keys were changed, or belong to another scope");
    default:
      return Failure(BoxFault::kUnavailable, "data protection of Windows refuses with the code " + std::to_string(error));
  }
}

class DpapiWrapping : public Wrapping {
 public:
  Bytes wrap(const std::string &scope, View keys, bool) override {
    const Bytes bound = entropy(scope);
    DATA_BLOB plain = blob(keys), entropy = blob(bound), made{};
    if (!CryptProtectData(&plain, nullptr, &entropy, nullptr, nullptr, CRYPTPROTECT_UI_FORBIDDEN, &made)) throw refusal();
    return take(made);
  }

  Bytes unwrap(const std::string &scope, View wrapped) override {
    const Bytes bound = entropy(scope);
    DATA_BLOB sealed = blob(wrapped), entropy = blob(bound), made{};
    if (!CryptUnprotectData(&sealed, nullptr, &entropy, nullptr, nullptr, CRYPTPROTECT_UI_FORBIDDEN, &made)) throw refusal();
    return take(made);
  }

  // There is no key of a scope, only the wrapped bytes.
  void forget(const std::string &) override {}

 private:
  static Bytes entropy(const std::string &scope) {
    Bytes text = View(kLabel).copy();
    append(text, View(scope));
    return crypto::sha256(text);
  }
};

}  // namespace

std::unique_ptr<Wrapping> dpapi_wrapping() { return std::make_unique<DpapiWrapping>(); }

}  // namespace signet

#else

namespace signet {

std::unique_ptr<Wrapping> dpapi_wrapping() { throw Failure(BoxFault::kUnavailable, "only Windows has data protection"); }

}  // namespace signet

#endif
