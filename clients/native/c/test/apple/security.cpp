// The Keychain for a test on Linux, with the quirks of Apple's: its items and its state are files of the folder that
// SIGNET_FAKE_KEYCHAIN names.
//
//   items             a line for each item: keychain, group, synchronizable, service, account, accessibility, data
//   late-items        items that another program stores just before the next SecItemAdd
//   locked            the device is locked; before-first-unlock: since its start
//   no-entitlement    the program is not signed with a team's profile
#include <Security/Security.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core_foundation.h"

namespace {

using fake::Kind;

CFStringRef key(const char *name) { return fake::constant<CFStringRef>(Kind::kString, name); }

}  // namespace

extern "C" {
// The texts are Apple's.
const CFStringRef kSecClass = key("class"), kSecClassGenericPassword = key("genp");
const CFStringRef kSecAttrService = key("svce"), kSecAttrAccount = key("acct"), kSecAttrAccessGroup = key("agrp");
const CFStringRef kSecAttrSynchronizable = key("sync"), kSecAttrLabel = key("labl"), kSecAttrAccessible = key("pdmn");
const CFStringRef kSecAttrAccessibleWhenUnlockedThisDeviceOnly = key("aku");
const CFStringRef kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = key("cku");
const CFStringRef kSecUseDataProtectionKeychain = key("nleg"), kSecValueData = key("v_Data");
const CFStringRef kSecReturnData = key("r_Data"), kSecReturnAttributes = key("r_Attributes");
const CFStringRef kSecMatchLimit = key("m_Limit"), kSecMatchLimitOne = key("m_LimitOne");
}

namespace {

struct Item {
  std::string keychain, group, synchronizable, service, account, accessible, data;

  bool is_same(const Item &other) const {
    return keychain == other.keychain && group == other.group && synchronizable == other.synchronizable &&
           service == other.service && account == other.account;
  }
};

std::string path(const char *name) { return std::string(getenv("SIGNET_FAKE_KEYCHAIN")) + "/" + name; }
bool is(const char *state) { return access(path(state).c_str(), F_OK) == 0; }

std::vector<Item> load(const char *name) {
  std::vector<Item> items;
  std::ifstream in(path(name));
  for (std::string line; std::getline(in, line);) {
    Item item;
    std::istringstream words(line);
    for (std::string *word : {&item.keychain, &item.group, &item.synchronizable, &item.service, &item.account, &item.accessible}) {
      std::getline(words, *word, '\t');
    }
    std::string hex;
    std::getline(words, hex, '\t');
    for (size_t i = 0; i < hex.size(); i += 2) item.data += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    items.push_back(item);
  }
  return items;
}

void save(const std::vector<Item> &items) {
  std::ofstream out(path("items"));
  for (const Item &item : items) {
    for (const std::string &word : {item.keychain, item.group, item.synchronizable, item.service, item.account, item.accessible}) {
      out << word << '\t';
    }
    char hex[3];
    for (const char c : item.data) {
      snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(c));
      out << hex;
    }
    out << '\n';
  }
}

std::string text_of(CFDictionaryRef dictionary, CFStringRef name, const char *absent = "") {
  const void *value = CFDictionaryGetValue(dictionary, name);
  return value == nullptr ? absent : static_cast<const fake::Object *>(value)->bytes;
}

bool has(CFDictionaryRef dictionary, CFStringRef name) { return CFDictionaryGetValue(dictionary, name) != nullptr; }

// The item that a query or attributes describe. Without kSecUseDataProtectionKeychain macOS has another Keychain.
Item described(CFDictionaryRef dictionary) {
  Item item;
  item.keychain = text_of(dictionary, kSecUseDataProtectionKeychain) == "1" ? "protected" : "file";
  item.group = text_of(dictionary, kSecAttrAccessGroup, "TEAM.app");
  item.synchronizable = text_of(dictionary, kSecAttrSynchronizable, "0");
  item.service = text_of(dictionary, kSecAttrService);
  item.account = text_of(dictionary, kSecAttrAccount);
  // The other Keychain ignores the accessibility.
  item.accessible = item.keychain == "file" ? "" : text_of(dictionary, kSecAttrAccessible, "ak");
  item.data = text_of(dictionary, kSecValueData);
  return item;
}

OSStatus check(CFDictionaryRef dictionary) {
  if (text_of(dictionary, kSecClass) != "genp") return errSecParam;
  const Item item = described(dictionary);
  if (item.keychain == "protected" && is("no-entitlement")) return errSecMissingEntitlement;
  if (item.group != "TEAM.app" && item.group != "TEAM.shared") return errSecMissingEntitlement;
  // An item that is synchronized cannot be one of this device only.
  if (item.synchronizable == "1" && item.accessible.back() == 'u') return errSecParam;
  return errSecSuccess;
}

// True while the item's class of protection has no key.
bool is_sealed(const Item &item) {
  return item.accessible.substr(0, 1) == "a" ? is("locked") || is("before-first-unlock") : is("before-first-unlock");
}

std::vector<Item>::iterator find(std::vector<Item> &items, CFDictionaryRef query) {
  const Item wanted = described(query);
  // Each attribute of a query must match, the accessibility included.
  const std::string accessible = has(query, kSecAttrAccessible) ? wanted.accessible : "";
  return std::find_if(items.begin(), items.end(), [&](const Item &item) {
    return item.is_same(wanted) && (accessible.empty() || item.accessible == accessible);
  });
}

}  // namespace

extern "C" {

OSStatus SecItemCopyMatching(CFDictionaryRef query, CFTypeRef *result) {
  if (const OSStatus status = check(query); status != errSecSuccess) return status;
  std::vector<Item> items = load("items");
  const auto found = find(items, query);
  if (found == items.end()) return errSecItemNotFound;
  // One item is refused. Of all items, those that are locked are left out.
  if (is_sealed(*found)) return text_of(query, kSecMatchLimit) == "m_LimitOne" ? errSecInteractionNotAllowed : errSecItemNotFound;
  if (text_of(query, kSecReturnData) != "1" || text_of(query, kSecReturnAttributes) != "1") return errSecParam;
  auto item = CFDictionaryCreateMutable(kCFAllocatorDefault, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
  const auto data = fake::make<CFDataRef>(Kind::kData, found->data);
  CFDictionarySetValue(item, kSecValueData, data);
  CFRelease(data);
  const auto accessible = fake::make<CFStringRef>(Kind::kString, found->accessible);
  CFDictionarySetValue(item, kSecAttrAccessible, accessible);
  CFRelease(accessible);
  *result = item;
  return errSecSuccess;
}

OSStatus SecItemAdd(CFDictionaryRef attributes, CFTypeRef *) {
  if (const OSStatus status = check(attributes); status != errSecSuccess) return status;
  if (has(attributes, kSecReturnData) || has(attributes, kSecMatchLimit)) return errSecParam;
  if (is("late-items")) rename(path("late-items").c_str(), path("items").c_str());
  const Item item = described(attributes);
  std::vector<Item> items = load("items");
  for (const Item &other : items) {
    if (other.is_same(item)) return errSecDuplicateItem;
  }
  if (is_sealed(item)) return errSecInteractionNotAllowed;
  items.push_back(item);
  save(items);
  return errSecSuccess;
}

OSStatus SecItemUpdate(CFDictionaryRef query, CFDictionaryRef changes) {
  if (const OSStatus status = check(query); status != errSecSuccess) return status;
  // What names an item's class, what a query returns, and which Keychain it means, are no attributes.
  for (const CFStringRef name : {kSecClass, kSecReturnData, kSecMatchLimit, kSecUseDataProtectionKeychain}) {
    if (has(changes, name)) return errSecParam;
  }
  if (has(query, kSecReturnData) || has(query, kSecMatchLimit)) return errSecParam;
  std::vector<Item> items = load("items");
  const auto found = find(items, query);
  if (found == items.end()) return errSecItemNotFound;
  if (is_sealed(*found)) return errSecInteractionNotAllowed;
  if (has(changes, kSecValueData)) found->data = text_of(changes, kSecValueData);
  if (has(changes, kSecAttrAccessible)) found->accessible = text_of(changes, kSecAttrAccessible);
  save(items);
  return errSecSuccess;
}

// A locked item can be deleted.
OSStatus SecItemDelete(CFDictionaryRef query) {
  if (const OSStatus status = check(query); status != errSecSuccess) return status;
  std::vector<Item> items = load("items");
  const auto found = find(items, query);
  if (found == items.end()) return errSecItemNotFound;
  items.erase(found);
  save(items);
  return errSecSuccess;
}
}
