#include "wire.h"

namespace signet {

namespace {

void put_varint(Bytes &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<uint8_t>(value | 0x80));
  out.push_back(static_cast<uint8_t>(value));
}

// Reads a number, and moves `at` behind it. Nothing for a malformed one.
std::optional<uint64_t> varint(const uint8_t *&at, const uint8_t *end) {
  uint64_t value = 0;
  for (int shift = 0; at < end && shift < 64; shift += 7) {
    const uint8_t byte = *at++;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

}  // namespace

void put_number(Bytes &message, uint32_t field, uint64_t value) {
  put_varint(message, static_cast<uint64_t>(field) << 3);
  put_varint(message, value);
}

void put_bytes(Bytes &message, uint32_t field, const uint8_t *value, size_t length) {
  put_varint(message, static_cast<uint64_t>(field) << 3 | 2);
  put_varint(message, length);
  message.insert(message.end(), value, value + length);
}

std::optional<std::vector<std::string>> texts_in(const uint8_t *message, size_t length, uint32_t field) {
  std::vector<std::string> found;
  const uint8_t *at = message, *const end = message + length;
  while (at < end) {
    const auto tag = varint(at, end);
    if (!tag) return std::nullopt;
    uint64_t size = 0;
    switch (*tag & 7) {
      case 0:
        if (!varint(at, end)) return std::nullopt;
        continue;
      case 1:
        size = 8;
        break;
      case 2: {
        const auto stated = varint(at, end);
        if (!stated) return std::nullopt;
        size = *stated;
        break;
      }
      case 5:
        size = 4;
        break;
      default:
        return std::nullopt;
    }
    if (size > static_cast<uint64_t>(end - at)) return std::nullopt;
    if ((*tag & 7) == 2 && *tag >> 3 == field) found.emplace_back(at, at + size);
    at += size;
  }
  return found;
}

}  // namespace signet
