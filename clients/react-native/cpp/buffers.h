// Bytes of JavaScript.
#pragma once

#include <jsi/jsi.h>

#include "platform.h"

namespace signet {

// Copies the bytes into a new ArrayBuffer.
facebook::jsi::ArrayBuffer array_buffer(facebook::jsi::Runtime &runtime, const Bytes &bytes);

// The argument as an ArrayBuffer. Throws jsi::JSError for another value.
facebook::jsi::ArrayBuffer buffer_argument(facebook::jsi::Runtime &runtime, const char *name, const facebook::jsi::Value &value);

}  // namespace signet
