#include "buffers.h"

#include <cstring>

namespace signet {

namespace jsi = facebook::jsi;

jsi::ArrayBuffer array_buffer(jsi::Runtime &runtime, const Bytes &bytes) {
  // Runtime::createArrayBuffer does not exist on JavaScriptCore.
  auto buffer = runtime.global()
                    .getPropertyAsFunction(runtime, "ArrayBuffer")
                    .callAsConstructor(runtime, static_cast<double>(bytes.size()))
                    .getObject(runtime)
                    .getArrayBuffer(runtime);
  if (!bytes.empty()) std::memcpy(buffer.data(runtime), bytes.data(), bytes.size());
  return buffer;
}

jsi::ArrayBuffer buffer_argument(jsi::Runtime &runtime, const char *name, const jsi::Value &value) {
  if (value.isObject()) {
    auto object = value.getObject(runtime);
    if (object.isArrayBuffer(runtime)) return object.getArrayBuffer(runtime);
  }
  throw jsi::JSError(runtime, std::string(name) + " must be an ArrayBuffer");
}

}  // namespace signet
