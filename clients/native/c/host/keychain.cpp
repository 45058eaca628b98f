// Keys in the Keychain of macOS and iOS: one generic password for each scope, readable on this device only, not synchronized.
// On macOS in the data protection Keychain, without which "this device only" has no effect.
#include "box.h"

#if defined(__APPLE__) || defined(SIGNET_FAKE_SECURITY)

#include <CoreFoundation/CoreFoundation.h>
#include <Security/Security.h>

namespace signet {

namespace {

constexpr std::string_view kService = "dev.signet.keys";

// A reference to an object of CoreFoundation, which it releases.
template <typename T>
class Owned {
 public:
  explicit Owned(T object) : object_(object) {
    if (object == nullptr) throw std::bad_alloc();
  }
  Owned(const Owned &) = delete;
  ~Owned() { CFRelease(object_); }
  T get() const { return object_; }

 private:
  T object_;
};

class Dictionary {
 public:
  Dictionary &set(CFStringRef key, CFTypeRef value) {
    CFDictionarySetValue(dictionary_.get(), key, value);
    return *this;
  }
  Dictionary &text(CFStringRef key, std::string_view value) {
    const Owned<CFStringRef> text(CFStringCreateWithBytes(kCFAllocatorDefault, reinterpret_cast<const UInt8 *>(value.data()),
                                                          static_cast<CFIndex>(value.size()), kCFStringEncodingUTF8, false));
    return set(key, text.get());
  }
  CFDictionaryRef get() const { return dictionary_.get(); }

 private:
  Owned<CFMutableDictionaryRef> dictionary_{CFDictionaryCreateMutable(
      kCFAllocatorDefault, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks)};
};

Failure refusal(OSStatus status) {
  switch (status) {
    case errSecInteractionNotAllowed:
      return Failure(BoxFault::kLocked, "the Keychain is locked: unlock the device and try again");
    case errSecMissingEntitlement:
      return Failure(BoxFault::kUnavailable,
                     "the program has no entitlement for the Keychain or its access group: sign it with a team's profile");
    default:
      return Failure(BoxFault::kUnavailable, "the Keychain refuses with the status " + std::to_string(status));
  }
}

class KeychainKeeper : public Keeper {
 public:
  explicit KeychainKeeper(KeychainOptions options) : options_(std::move(options)) {}

  std::optional<Bytes> read(const Scope &scope) override {
    Dictionary query;
    // One item: a query for all items skips those that are locked, as if they did not exist.
    name(query, scope).set(kSecMatchLimit, kSecMatchLimitOne);
    query.set(kSecReturnData, kCFBooleanTrue).set(kSecReturnAttributes, kCFBooleanTrue);
    CFTypeRef found = nullptr;
    const OSStatus status = SecItemCopyMatching(query.get(), &found);
    if (status == errSecItemNotFound) return std::nullopt;
    if (status != errSecSuccess) throw refusal(status);
    const Owned<CFTypeRef> owned(found);
    const auto item = static_cast<CFDictionaryRef>(found);
    const auto data = static_cast<CFDataRef>(CFDictionaryGetValue(item, kSecValueData));
    if (data == nullptr) throw Failure(BoxFault::kChanged, "the Keychain's item has no keys");
    Bytes kept = View(CFDataGetBytePtr(data), static_cast<size_t>(CFDataGetLength(data))).copy();
    // An earlier version of the app may have chosen otherwise.
    const CFTypeRef before = CFDictionaryGetValue(item, kSecAttrAccessible);
    if (before == nullptr || !CFEqual(before, accessible())) {
      Dictionary change;
      update(scope, change.set(kSecAttrAccessible, accessible()));
    }
    return kept;
  }

  void write(const Scope &scope, View kept, bool exists) override {
    // The bytes are not copied: the Keychain's memory is not wiped.
    const Owned<CFDataRef> data(CFDataCreateWithBytesNoCopy(kCFAllocatorDefault, kept.data,
                                                            static_cast<CFIndex>(kept.size), kCFAllocatorNull));
    Dictionary attributes;
    attributes.set(kSecValueData, data.get()).set(kSecAttrAccessible, accessible());
    if (exists) return update(scope, attributes);
    name(attributes, scope).text(kSecAttrLabel, "signet " + scope.app);
    const OSStatus status = SecItemAdd(attributes.get(), nullptr);
    // Another program of the access group has stored the first key: that one stays.
    if (status != errSecSuccess && status != errSecDuplicateItem) throw refusal(status);
  }

  void remove(const Scope &scope) override {
    Dictionary query;
    const OSStatus status = SecItemDelete(name(query, scope).get());
    if (status != errSecSuccess && status != errSecItemNotFound) throw refusal(status);
  }

 private:
  // Adds the attributes that make an item unique. The accessibility is none of them: with it a query misses an item that
  // has another one, and the item to add is a duplicate.
  Dictionary &name(Dictionary &query, const Scope &scope) const {
    query.set(kSecClass, kSecClassGenericPassword).set(kSecUseDataProtectionKeychain, kCFBooleanTrue);
    query.set(kSecAttrSynchronizable, kCFBooleanFalse);
    query.text(kSecAttrService, kService).text(kSecAttrAccount, scope.text());
    return options_.access_group.empty() ? query : query.text(kSecAttrAccessGroup, options_.access_group);
  }

  CFStringRef accessible() const {
    return options_.after_first_unlock ? kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
                                       : kSecAttrAccessibleWhenUnlockedThisDeviceOnly;
  }

  void update(const Scope &scope, const Dictionary &attributes) const {
    Dictionary query;
    const OSStatus status = SecItemUpdate(name(query, scope).get(), attributes.get());
    if (status != errSecSuccess) throw refusal(status);
  }

  KeychainOptions options_;
};

}  // namespace

std::unique_ptr<Keeper> keychain_keeper(KeychainOptions options) {
  return std::make_unique<KeychainKeeper>(std::move(options));
}

}  // namespace signet

#else

namespace signet {

std::unique_ptr<Keeper> keychain_keeper(KeychainOptions) {
  throw Failure(BoxFault::kUnavailable, "only systems of Apple have a Keychain");
}

}  // namespace signet

#endif
