// The calls that JavaScript may make. No request or response of theirs has a key, a group state or a token of Signet.
#pragma once

#include <string_view>

namespace signet {

bool is_method(std::string_view name);

}  // namespace signet
