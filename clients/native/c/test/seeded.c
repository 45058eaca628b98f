#include "seeded.h"

#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <sodium.h>
#else
#include <openssl/evp.h>
#endif

static uint32_t seed, drawn;
static double now_ms;

void seeded_start(uint32_t new_seed, double new_now_ms) {
  seed = new_seed;
  drawn = 0;
  now_ms = new_now_ms;
}

/* As drawsOf() of the TypeScript tests. */
static void draw(uint8_t *out, size_t length) {
  for (size_t i = 0; i < length; i++) {
    uint32_t x = (drawn++ * 0x9e3779b1u) ^ seed;
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    out[i] = (uint8_t)(x ^ (x >> 16));
  }
}

/* The reference of a key is its seed. */
#ifdef _WIN32

static size_t generate(uint8_t *out) {
  uint8_t pair[crypto_sign_ed25519_SECRETKEYBYTES];
  draw(out, 32);
  crypto_sign_ed25519_seed_keypair(out + 32, pair, out);
  return 64;
}

static size_t sign(const signet_value *reference, const signet_value *message, uint8_t *out) {
  uint8_t pair[crypto_sign_ed25519_SECRETKEYBYTES], public_key[32];
  crypto_sign_ed25519_seed_keypair(public_key, pair, reference->bytes);
  crypto_sign_ed25519_detached(out, NULL, message->bytes, message->length, pair);
  return 64;
}

#else

static EVP_PKEY *key_of(const uint8_t *reference) {
  return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, reference, 32);
}

static size_t generate(uint8_t *out) {
  size_t length = 32;
  draw(out, 32);
  EVP_PKEY *key = key_of(out);
  EVP_PKEY_get_raw_public_key(key, out + 32, &length);
  EVP_PKEY_free(key);
  return 64;
}

static size_t sign(const signet_value *reference, const signet_value *message, uint8_t *out) {
  size_t length = 64;
  EVP_PKEY *key = key_of(reference->bytes);
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  EVP_DigestSignInit(context, NULL, NULL, NULL, key);
  EVP_DigestSign(context, out, &length, message->bytes, message->length);
  EVP_MD_CTX_free(context);
  EVP_PKEY_free(key);
  return length;
}

#endif

/* A sealed value is its purpose, a line break, and its plaintext. */
static size_t seal(const signet_value *purpose, const signet_value *plaintext, uint8_t *out) {
  memcpy(out, purpose->bytes, purpose->length);
  out[purpose->length] = '\n';
  if (plaintext->length > 0) memcpy(out + purpose->length + 1, plaintext->bytes, plaintext->length);
  return purpose->length + 1 + plaintext->length;
}

int32_t seeded_primitive(int32_t op, const signet_value *arguments, size_t count, signet_value *answer) {
  static uint8_t *out;
  static size_t room;
  size_t needed = 65536;
  for (size_t i = 0; i < count; i++) needed += arguments[i].length;
  if (needed > room) out = realloc(out, room = needed);
  size_t length = 0;
  switch (op) {
    case SIGNET_NOW:
      *answer = (signet_value){.kind = SIGNET_NUMBER, .number = now_ms};
      return SIGNET_HOST_ANSWER;
    case SIGNET_RANDOM:
      length = (size_t)arguments[0].number;
      if (length > 65536) return SIGNET_HOST_DEFAULT;
      draw(out, length);
      break;
    case SIGNET_ED25519_GENERATE: length = generate(out); break;
    case SIGNET_ED25519_SIGN: length = sign(&arguments[1], &arguments[2], out); break;
    case SIGNET_BOX_SEAL: length = seal(&arguments[1], &arguments[2], out); break;
    case SIGNET_BOX_OPEN:
      length = arguments[2].length - arguments[1].length - 1;
      memcpy(out, arguments[2].bytes + arguments[1].length + 1, length);
      break;
    default: return SIGNET_HOST_DEFAULT;
  }
  *answer = (signet_value){.kind = SIGNET_BYTES, .bytes = out, .length = length};
  return SIGNET_HOST_ANSWER;
}
