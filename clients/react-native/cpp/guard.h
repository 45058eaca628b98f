// Checks the names in calls of JavaScript: URLs that receive tokens, and files.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "platform.h"

namespace signet {

// True if every URL in these fields of the message is of a listed origin.
bool are_allowed(const std::vector<std::string> &origins, const uint8_t *message, size_t length,
                 std::initializer_list<uint32_t> fields);

// Why the request of a method is refused; empty for an allowed one.
std::string refusal_of(Platform &platform, std::string_view method, const uint8_t *request, size_t length);

}  // namespace signet
