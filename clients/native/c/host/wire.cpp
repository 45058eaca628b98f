#include "wire.h"

namespace signet {

namespace {
constexpr uint32_t kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5;
constexpr uint32_t kMaxField = (1u << 29) - 1;
}  // namespace

uint64_t Reader::varint() {
  uint64_t value = 0;
  for (int i = 0; i < 10; i++) {
    if (rest_.empty()) throw Malformed();
    const uint8_t byte = rest_.data[0];
    rest_ = rest_.from(1);
    if (i == 9 && byte > 1) throw Malformed();
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) return value;
  }
  throw Malformed();
}

bool Reader::next() {
  if (rest_.empty()) return false;
  const uint64_t tag = varint();
  if ((tag >> 3) == 0 || (tag >> 3) > kMaxField) throw Malformed();
  field_ = static_cast<uint32_t>(tag >> 3);
  type_ = static_cast<uint32_t>(tag & 7);
  if (type_ == kVarint) {
    number_ = varint();
    return true;
  }
  uint64_t length = 0;
  if (type_ == kLength) {
    length = varint();
  } else if (type_ == kFixed64) {
    length = 8;
  } else if (type_ == kFixed32) {
    length = 4;
  } else {
    throw Malformed();
  }
  if (length > rest_.size) throw Malformed();
  bytes_ = rest_.part(0, length);
  rest_ = rest_.from(length);
  return true;
}

uint64_t Reader::number() const {
  if (type_ != kVarint) throw Malformed();
  return number_;
}

View Reader::bytes() const {
  if (type_ != kLength) throw Malformed();
  return bytes_;
}

std::string Reader::text() const {
  if (!is_utf8(bytes())) throw Malformed();
  return bytes().text();
}

void Reader::numbers(std::vector<uint64_t> &into) const {
  if (type_ == kVarint) return into.push_back(number_);
  Reader packed(bytes());
  while (!packed.rest_.empty()) into.push_back(packed.varint());
}

void Writer::varint(uint64_t value) {
  while (value >= 0x80) {
    out_.push_back(static_cast<uint8_t>(value | 0x80));
    value >>= 7;
  }
  out_.push_back(static_cast<uint8_t>(value));
}

Writer &Writer::number(uint32_t field, uint64_t value) {
  if (value == 0) return *this;
  varint(static_cast<uint64_t>(field) << 3 | kVarint);
  varint(value);
  return *this;
}

Writer &Writer::bytes(uint32_t field, View value) { return value.empty() ? *this : present(field, value); }

Writer &Writer::present(uint32_t field, View value) {
  varint(static_cast<uint64_t>(field) << 3 | kLength);
  varint(value.size);
  append(out_, value);
  return *this;
}

bool is_utf8(View bytes) {
  for (size_t i = 0; i < bytes.size;) {
    const uint8_t lead = bytes.data[i];
    const size_t more = lead < 0x80 ? 0 : lead >= 0xc2 && lead < 0xe0 ? 1 : lead >= 0xe0 && lead < 0xf0 ? 2
                        : lead >= 0xf0 && lead < 0xf5                 ? 3
                                                                      : 4;
    if (more == 4 || more >= bytes.size - i) return false;
    const uint8_t second = more > 0 ? bytes.data[i + 1] : 0x80;
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) || (lead == 0xf0 && second < 0x90) ||
        (lead == 0xf4 && second > 0x8f)) {
      return false;
    }
    for (size_t k = 1; k <= more; k++) {
      if ((bytes.data[i + k] & 0xc0) != 0x80) return false;
    }
    i += more + 1;
  }
  return true;
}

}  // namespace signet
