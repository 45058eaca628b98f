// Objects of the fake CoreFoundation.
#pragma once

#include <CoreFoundation/CoreFoundation.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace fake {

enum class Kind { kBoolean, kString, kData, kDictionary };

using Entries = std::vector<std::pair<const void *, const void *>>;

struct Object {
  Kind kind;
  long references;
  bool is_constant;
  std::string bytes;
  Entries entries;
};

Object *make(Kind kind, std::string bytes);
Object *constant(Kind kind, std::string bytes);
// Ends the process for an object of another kind.
Object *as(const void *object, Kind kind);
void retain(const void *object);

template <typename T>
T make(Kind kind, std::string bytes) {
  return reinterpret_cast<T>(make(kind, std::move(bytes)));
}
template <typename T>
T constant(Kind kind, std::string bytes) {
  return reinterpret_cast<T>(constant(kind, std::move(bytes)));
}

inline Entries::iterator find(Entries &entries, const void *key) {
  return std::find_if(entries.begin(), entries.end(), [key](const auto &entry) { return CFEqual(entry.first, key) != 0; });
}

}  // namespace fake
