#include "origins.h"

#include <algorithm>

#include "wire.h"

namespace signet {

namespace {

// A listed origin, or a path below it. Another spelling of the same origin is refused: parsers of URLs differ.
bool is_below(const std::string &origin, const std::string &url) {
  if (origin.empty() || url.compare(0, origin.size(), origin) != 0) return false;
  return url.size() == origin.size() || url[origin.size()] == '/';
}

}  // namespace

bool are_allowed(const std::vector<std::string> &origins, const uint8_t *message, size_t length,
                 std::initializer_list<uint32_t> fields) {
  for (const auto field : fields) {
    const auto urls = texts_in(message, length, field);
    if (!urls) return false;
    for (const auto &url : *urls) {
      if (std::none_of(origins.begin(), origins.end(), [&](const auto &one) { return is_below(one, url); })) return false;
    }
  }
  return true;
}

}  // namespace signet
