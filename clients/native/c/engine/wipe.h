/* Overwrites bytes, in a way that the compiler does not remove. */
#ifndef SIGNET_WIPE_H
#define SIGNET_WIPE_H

#include <string.h>
#ifdef _WIN32
#include <windows.h>
#endif

static inline void signet_wipe(void *at, size_t length) {
#ifdef __APPLE__
  /* Its C library has no explicit_bzero. */
  memset(at, 0, length);
  __asm__ volatile("" : : "r"(at) : "memory");
#elif defined(_WIN32)
  SecureZeroMemory(at, length);
#else
  explicit_bzero(at, length);
#endif
}

#endif
