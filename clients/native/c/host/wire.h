// The wire format of protocol buffers, as far as signet/host/v1 uses it.
#pragma once

#include <stdexcept>

#include "bytes.h"

namespace signet {

// Bytes that are not the stated message.
struct Malformed : std::runtime_error {
  Malformed() : std::runtime_error("the bytes are not the stated message") {}
};

// Reads the fields of a message in order. Unknown fields are skipped by not asking for their value.
class Reader {
 public:
  explicit Reader(View message) : rest_(message) {}

  // Moves to the next field. False at the end. Throws Malformed.
  bool next();
  uint32_t field() const { return field_; }
  // The value of the current field. Throws Malformed if it has another wire type.
  uint64_t number() const;
  bool flag() const { return number() != 0; }
  View bytes() const;
  // As bytes(), and must be UTF-8.
  std::string text() const;
  // Adds the numbers of a repeated field, packed or not.
  void numbers(std::vector<uint64_t> &into) const;

 private:
  uint64_t varint();

  View rest_;
  uint32_t field_ = 0;
  uint32_t type_ = 0;
  uint64_t number_ = 0;
  View bytes_;
};

// Writes the fields of a message. Defaults are left out, as proto3 does.
class Writer {
 public:
  Writer &number(uint32_t field, uint64_t value);
  Writer &bytes(uint32_t field, View value);
  // Writes the field even if it is empty: for messages, repeated fields and fields with presence.
  Writer &present(uint32_t field, View value);
  Writer &message(uint32_t field, const Writer &value) { return present(field, value.out_); }

  const Bytes &done() const { return out_; }
  Bytes take() { return std::move(out_); }

 private:
  void varint(uint64_t value);
  Bytes out_;
};

// True for UTF-8 without surrogates and overlong forms.
bool is_utf8(View bytes);

}  // namespace signet
