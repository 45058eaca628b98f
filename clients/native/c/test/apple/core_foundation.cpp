// Objects of CoreFoundation for a test on Linux. A wrong release ends the process; a missing one is reported at its end.
#include "core_foundation.h"

#include <cstdio>
#include <cstdlib>

namespace {

long living = 0;

[[noreturn]] void fail(const char *why) {
  fprintf(stderr, "CoreFoundation: %s\n", why);
  abort();
}

struct Report {
  ~Report() {
    if (living != 0) fprintf(stderr, "CoreFoundation: %ld objects are not released\n", living);
  }
} report;

}  // namespace

namespace fake {

Object *make(Kind kind, std::string bytes) {
  living++;
  auto *object = new Object{kind, 1, false, std::move(bytes), {}};
  return object;
}

Object *constant(Kind kind, std::string bytes) { return new Object{kind, 1, true, std::move(bytes), {}}; }

Object *as(const void *object, Kind kind) {
  auto *found = const_cast<Object *>(static_cast<const Object *>(object));
  if (found == nullptr || found->kind != kind || found->references < 1) fail("an object of another type, or a released one");
  return found;
}

void retain(const void *object) {
  auto *found = const_cast<Object *>(static_cast<const Object *>(object));
  if (!found->is_constant) found->references++;
}

}  // namespace fake

using fake::as;
using fake::Kind;

extern "C" {

const CFAllocatorRef kCFAllocatorDefault = nullptr;
const CFAllocatorRef kCFAllocatorNull = reinterpret_cast<CFAllocatorRef>(1);
const CFBooleanRef kCFBooleanTrue = fake::constant<CFBooleanRef>(Kind::kBoolean, "1");
const CFBooleanRef kCFBooleanFalse = fake::constant<CFBooleanRef>(Kind::kBoolean, "0");
const CFDictionaryKeyCallBacks kCFTypeDictionaryKeyCallBacks = {0};
const CFDictionaryValueCallBacks kCFTypeDictionaryValueCallBacks = {0};

void CFRelease(CFTypeRef object) {
  auto *found = const_cast<fake::Object *>(static_cast<const fake::Object *>(object));
  if (found == nullptr || found->references < 1) fail("CFRelease of NULL or of a released object");
  if (found->is_constant || --found->references > 0) return;
  for (const auto &[key, value] : found->entries) {
    CFRelease(key);
    CFRelease(value);
  }
  living--;
  delete found;
}

Boolean CFEqual(CFTypeRef one, CFTypeRef other) {
  const auto *a = static_cast<const fake::Object *>(one), *b = static_cast<const fake::Object *>(other);
  return a->kind == b->kind && a->bytes == b->bytes;
}

CFStringRef CFStringCreateWithBytes(CFAllocatorRef, const UInt8 *bytes, CFIndex length, CFStringEncoding encoding, Boolean) {
  if (encoding != kCFStringEncodingUTF8) return nullptr;
  return fake::make<CFStringRef>(Kind::kString, std::string(reinterpret_cast<const char *>(bytes), static_cast<size_t>(length)));
}

CFDataRef CFDataCreateWithBytesNoCopy(CFAllocatorRef, const UInt8 *bytes, CFIndex length, CFAllocatorRef deallocator) {
  // Another deallocator would free the caller's bytes.
  if (deallocator != kCFAllocatorNull) fail("the bytes of the caller would be freed");
  return fake::make<CFDataRef>(Kind::kData, std::string(reinterpret_cast<const char *>(bytes), static_cast<size_t>(length)));
}

const UInt8 *CFDataGetBytePtr(CFDataRef data) { return reinterpret_cast<const UInt8 *>(as(data, Kind::kData)->bytes.data()); }

CFIndex CFDataGetLength(CFDataRef data) { return static_cast<CFIndex>(as(data, Kind::kData)->bytes.size()); }

CFMutableDictionaryRef CFDictionaryCreateMutable(CFAllocatorRef, CFIndex, const CFDictionaryKeyCallBacks *keys,
                                                 const CFDictionaryValueCallBacks *values) {
  // Without these callbacks a dictionary retains nothing.
  if (keys != &kCFTypeDictionaryKeyCallBacks || values != &kCFTypeDictionaryValueCallBacks) fail("a dictionary that retains nothing");
  return fake::make<CFMutableDictionaryRef>(Kind::kDictionary, "");
}

void CFDictionarySetValue(CFMutableDictionaryRef dictionary, const void *key, const void *value) {
  auto &entries = as(dictionary, Kind::kDictionary)->entries;
  as(key, Kind::kString);
  fake::retain(key);
  fake::retain(value);
  const auto before = fake::find(entries, key);
  if (before != entries.end()) {
    CFRelease(before->first);
    CFRelease(before->second);
    entries.erase(before);
  }
  entries.emplace_back(key, value);
}

const void *CFDictionaryGetValue(CFDictionaryRef dictionary, const void *key) {
  auto &entries = as(dictionary, Kind::kDictionary)->entries;
  const auto found = fake::find(entries, key);
  return found == entries.end() ? nullptr : found->second;
}
}
