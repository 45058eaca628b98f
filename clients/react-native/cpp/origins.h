// Where tokens may go. JavaScript names URLs, and the app's native code lists their origins.
#pragma once

#include <initializer_list>
#include <string>

#include "platform.h"

namespace signet {

// True if every URL in these fields of the message is of a listed origin.
bool are_allowed(const std::vector<std::string> &origins, const uint8_t *message, size_t length,
                 std::initializer_list<uint32_t> fields);

}  // namespace signet
