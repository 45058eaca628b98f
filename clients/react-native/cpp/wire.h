// The wire format of protocol buffers, as far as the module reads and writes it.
#pragma once

#include <optional>
#include <string_view>

#include "platform.h"

namespace signet {

void put_number(Bytes &message, uint32_t field, uint64_t value);
void put_bytes(Bytes &message, uint32_t field, const uint8_t *value, size_t length);
inline void put_bytes(Bytes &message, uint32_t field, const Bytes &value) {
  put_bytes(message, field, value.data(), value.size());
}
inline void put_bytes(Bytes &message, uint32_t field, std::string_view value) {
  put_bytes(message, field, reinterpret_cast<const uint8_t *>(value.data()), value.size());
}

// The values of a length-delimited field, in order. Nothing for bytes that are not a message.
std::optional<std::vector<std::string>> texts_in(const uint8_t *message, size_t length, uint32_t field);

}  // namespace signet
