/* The part of Security that libsignet uses, with Apple's declarations, for a test on Linux. See ../security.cpp. */
#ifndef FAKE_SECURITY_H
#define FAKE_SECURITY_H

#include <CoreFoundation/CoreFoundation.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  errSecSuccess = 0,
  errSecParam = -50,
  errSecNotAvailable = -25291,
  errSecDuplicateItem = -25299,
  errSecItemNotFound = -25300,
  errSecInteractionNotAllowed = -25308,
  errSecMissingEntitlement = -34018,
};

extern const CFStringRef kSecClass, kSecClassGenericPassword;
extern const CFStringRef kSecAttrService, kSecAttrAccount, kSecAttrAccessGroup, kSecAttrSynchronizable, kSecAttrLabel;
extern const CFStringRef kSecAttrAccessible, kSecAttrAccessibleWhenUnlockedThisDeviceOnly;
extern const CFStringRef kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly;
extern const CFStringRef kSecUseDataProtectionKeychain;
extern const CFStringRef kSecValueData, kSecReturnData, kSecReturnAttributes, kSecMatchLimit, kSecMatchLimitOne;

OSStatus SecItemCopyMatching(CFDictionaryRef query, CFTypeRef *result);
OSStatus SecItemAdd(CFDictionaryRef attributes, CFTypeRef *result);
OSStatus SecItemUpdate(CFDictionaryRef query, CFDictionaryRef changes);
OSStatus SecItemDelete(CFDictionaryRef query);

#ifdef __cplusplus
}
#endif

#endif
