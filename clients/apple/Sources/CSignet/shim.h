/* signet.h is where `cmake --install` has put it. */
#include <signet.h>
