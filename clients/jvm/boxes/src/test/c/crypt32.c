// Data protection of Windows for a test on Linux, as its documentation describes it. SIGNET_FAKE_DPAPI names a folder:
//
//   user      the signed-in user
//   broken    if it exists: the error of every call
//
// Protected bytes: the user in 16 bytes, a nonce and a checksum of 8 bytes each, and the bytes under a stream. It protects
// nothing. The error code is errno, where JNA looks for it on this system.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  uint32_t size;
  uint8_t *bytes;
} Blob;

enum { INVALID_DATA = 13, INVALID_PARAMETER = 87, BAD_KEY_STATE = (int)0x8009000b, HEAD = 32 };

static long living = 0;

__attribute__((destructor)) static void report(void) {
  if (living != 0) fprintf(stderr, "crypt32: %ld blobs are not freed\n", living);
}

static int refuse(int error) {
  errno = error;
  return 0;
}

static int text(const char *name, char *into, size_t size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", getenv("SIGNET_FAKE_DPAPI"), name);
  memset(into, 0, size);
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  const size_t read = fread(into, 1, size - 1, file);
  fclose(file);
  return read > 0;
}

static uint64_t mix(uint64_t hash, const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

static void stream(uint64_t key, const uint8_t *from, uint8_t *to, size_t size) {
  for (size_t i = 0; i < size; i++) {
    key = key * 6364136223846793005u + 1442695040888963407u;
    to[i] = from[i] ^ (uint8_t)(key >> 56);
  }
}

// Allocates with the size before the bytes, so that LocalFree can check them.
static void answer(Blob *out, uint32_t size) {
  uint8_t *memory = malloc(16 + (size_t)size);
  memcpy(memory, &size, sizeof size);
  *out = (Blob){size, memory + 16};
  living++;
}

// Windows may show a dialog without CRYPTPROTECT_UI_FORBIDDEN, and opens for every user with CRYPTPROTECT_LOCAL_MACHINE.
static int check(const Blob *in, const Blob *entropy, const void *reserved, const void *prompt, uint32_t flags, char *user) {
  char broken[16];
  if (text("broken", broken, sizeof broken)) return refuse((int)strtol(broken, NULL, 0));
  if (in->size == 0 || in->bytes == NULL || entropy->size != 32) return refuse(INVALID_PARAMETER);
  if (reserved != NULL || prompt != NULL || flags != 1) return refuse(INVALID_PARAMETER);
  return text("user", user, 17) || refuse(2);
}

static uint64_t key_of(const char *user, const Blob *entropy, const uint8_t *nonce) {
  return mix(mix(mix(0xcbf29ce484222325u, (const uint8_t *)user, 16), entropy->bytes, entropy->size), nonce, 8);
}

int CryptProtectData(const Blob *in, const void *description, const Blob *entropy, void *reserved, void *prompt,
                     uint32_t flags, Blob *out) {
  (void)description;
  char user[17];
  if (!check(in, entropy, reserved, prompt, flags, user)) return 0;
  static uint64_t count = 0;
  const uint64_t nonce = ++count;
  answer(out, HEAD + in->size);
  memcpy(out->bytes, user, 16);
  memcpy(out->bytes + 16, &nonce, 8);
  const uint64_t key = key_of(user, entropy, out->bytes + 16), sum = mix(key, in->bytes, in->size);
  memcpy(out->bytes + 24, &sum, 8);
  stream(key, in->bytes, out->bytes + HEAD, in->size);
  return 1;
}

int CryptUnprotectData(const Blob *in, void *description, const Blob *entropy, void *reserved, void *prompt, uint32_t flags,
                       Blob *out) {
  (void)description;
  char user[17];
  if (!check(in, entropy, reserved, prompt, flags, user)) return 0;
  if (in->size <= HEAD) return refuse(INVALID_DATA);
  // Protected bytes name their master key: the one of another user is not found.
  if (memcmp(in->bytes, user, 16) != 0) return refuse(BAD_KEY_STATE);
  const uint64_t key = key_of(user, entropy, in->bytes + 16);
  answer(out, in->size - HEAD);
  stream(key, in->bytes + HEAD, out->bytes, out->size);
  const uint64_t sum = mix(key, out->bytes, out->size);
  if (memcmp(&sum, in->bytes + 24, 8) == 0) return 1;
  free(out->bytes - 16);
  living--;
  *out = (Blob){0, NULL};
  return refuse(INVALID_DATA);
}

void *LocalFree(void *memory) {
  uint8_t *bytes = memory;
  uint32_t size;
  memcpy(&size, bytes - 16, sizeof size);
  for (uint32_t i = 0; i < size; i++) {
    if (bytes[i] != 0) {
      fprintf(stderr, "crypt32: the bytes of a blob are not wiped\n");
      break;
    }
  }
  free(bytes - 16);
  living--;
  return NULL;
}
