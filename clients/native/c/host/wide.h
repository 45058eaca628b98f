// UTF-16, in which Windows takes texts. Wiped when it is released: headers and addresses have tokens.
#pragma once

#include <windows.h>

#include "bytes.h"

namespace signet {

using Wide = std::vector<wchar_t, WipingAllocator<wchar_t>>;

// Ends with a zero. Bytes that are not UTF-8 become U+FFFD.
inline Wide wide(View text) {
  const auto *bytes = reinterpret_cast<const char *>(text.data);
  const int size = static_cast<int>(text.size);
  const int length = size == 0 ? 0 : MultiByteToWideChar(CP_UTF8, 0, bytes, size, nullptr, 0);
  Wide out(static_cast<size_t>(length) + 1, L'\0');
  if (length > 0) MultiByteToWideChar(CP_UTF8, 0, bytes, size, out.data(), length);
  return out;
}

inline Bytes utf8_of(const wchar_t *text, size_t length) {
  const int size = static_cast<int>(length);
  const int count = size == 0 ? 0 : WideCharToMultiByte(CP_UTF8, 0, text, size, nullptr, 0, nullptr, nullptr);
  Bytes out(static_cast<size_t>(count));
  if (count > 0) WideCharToMultiByte(CP_UTF8, 0, text, size, reinterpret_cast<char *>(out.data()), count, nullptr, nullptr);
  return out;
}

}  // namespace signet
