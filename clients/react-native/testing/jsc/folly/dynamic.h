// Stands in for folly, which no package registry of Linux has. React Native's headers name this type, and the module uses no
// function with it.
#pragma once

namespace folly {
class dynamic {};
}
