/* A host whose randomness has a seed and whose clock stands still, with a box that hides nothing. For tests only. */
#ifndef SIGNET_TEST_SEEDED_H
#define SIGNET_TEST_SEEDED_H

#include "signet.h"

/* Starts the random bytes over. */
void seeded_start(uint32_t seed, double now_ms);
/* As signet_host.primitive. */
int32_t seeded_primitive(int32_t op, const signet_value *arguments, size_t count, signet_value *answer);

#endif
