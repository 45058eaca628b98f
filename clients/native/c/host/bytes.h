// Bytes that are wiped when they are released.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../engine/wipe.h"

namespace signet {

inline void wipe(void *at, size_t length) {
  if (length > 0) signet_wipe(at, length);
}

template <typename T>
struct WipingAllocator {
  using value_type = T;
  WipingAllocator() = default;
  template <typename U>
  WipingAllocator(const WipingAllocator<U> &) {}
  T *allocate(size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T *at, size_t count) {
    wipe(at, count * sizeof(T));
    std::allocator<T>().deallocate(at, count);
  }
  bool operator==(const WipingAllocator &) const { return true; }
  bool operator!=(const WipingAllocator &) const { return false; }
};

using Bytes = std::vector<uint8_t, WipingAllocator<uint8_t>>;

// Bytes that others own.
struct View {
  const uint8_t *data = nullptr;
  size_t size = 0;

  View() = default;
  View(const void *bytes, size_t length) : data(static_cast<const uint8_t *>(bytes)), size(length) {}
  View(const Bytes &bytes) : data(bytes.data()), size(bytes.size()) {}
  View(std::string_view text) : View(text.data(), text.size()) {}

  bool empty() const { return size == 0; }
  View from(size_t start) const { return View(data + start, size - start); }
  View part(size_t start, size_t length) const { return View(data + start, length); }
  Bytes copy() const { return empty() ? Bytes() : Bytes(data, data + size); }
  std::string text() const { return empty() ? std::string() : std::string(reinterpret_cast<const char *>(data), size); }
  std::string_view view() const { return {reinterpret_cast<const char *>(data), size}; }
  bool equals(View other) const { return size == other.size && (size == 0 || memcmp(data, other.data, size) == 0); }
};

inline void append(Bytes &to, View more) {
  if (!more.empty()) to.insert(to.end(), more.data, more.data + more.size);
}

}  // namespace signet
