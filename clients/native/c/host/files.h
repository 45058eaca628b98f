// Files that the app named, for attachments.
#pragma once

#include "failure.h"
#include "wire.h"

namespace signet {

// Perform the effects of these names, and return an EffectResult. Throw Failure and Malformed.
Bytes file_read(View effect);
Bytes file_write(View effect);
Bytes file_info(View effect);

}  // namespace signet
