/* As much of protocol buffers as the example needs: texts, bytes and messages. A larger program uses a generator, such as
 * `protoc --cpp_out`, on proto/signet/client/v1 and proto/signet/host/v1. */
#ifndef EXAMPLE_PROTO_H
#define EXAMPLE_PROTO_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  uint8_t data[16384];
  size_t length;
} message;

typedef struct {
  const uint8_t *data;
  size_t length;
} slice;

static void put_varint(message *to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to->data[to->length++] = (uint8_t)(value | 0x80);
  to->data[to->length++] = (uint8_t)value;
}

/* Adds a field of bytes, or another message. */
static void put(message *to, uint32_t field, const void *bytes, size_t length) {
  if (length + 20 > sizeof to->data - to->length) abort();
  put_varint(to, (uint64_t)field << 3 | 2);
  put_varint(to, length);
  memcpy(to->data + to->length, bytes, length);
  to->length += length;
}

static void put_text(message *to, uint32_t field, const char *text) { put(to, field, text, strlen(text)); }

static uint64_t take_varint(slice *from) {
  uint64_t value = 0;
  for (int shift = 0; from->length > 0 && shift < 64; shift += 7) {
    const uint8_t byte = *from->data++;
    from->length--;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

/* Finds a field of bytes or text, or a message; empty if it is absent. */
static slice get(slice in, uint32_t field) {
  while (in.length > 0) {
    const uint64_t tag = take_varint(&in);
    const uint64_t value = take_varint(&in);
    if ((tag & 7) == 0) continue;
    if ((tag & 7) != 2 || value > in.length) break;
    if (tag >> 3 == field) return (slice){in.data, value};
    in.data += value;
    in.length -= value;
  }
  return (slice){NULL, 0};
}

#endif
