/* Wrong uses of signet.h: each has a typed status. Prints the failed line, or nothing. Takes the options as hexadecimal. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"
#include "signet.h"

#define EXPECT(expression, status)                                                               \
  do {                                                                                           \
    const int32_t got = (expression);                                                            \
    if (got != (status)) {                                                                       \
      printf("line %d: %s is %d and not %d\n", __LINE__, #expression, got, (int32_t)(status));   \
      return 1;                                                                                  \
    }                                                                                            \
  } while (0)

static uint8_t options[4096];
static size_t length;

static int count_reply(signet_client *client, uint64_t expected) {
  int32_t kind;
  uint64_t id;
  signet_buf out = {0};
  const int32_t status = signet_next(client, 10000, &kind, &id, &out);
  signet_buf_free(&out);
  return status == SIGNET_OK && kind == SIGNET_REPLY && id == expected;
}

static int open_badly(void) {
  signet_client *client = (signet_client *)1;
  signet_buf error = {0};
  signet_host host = {.size = 3};
  EXPECT(signet_open(SIGNET_ABI_VERSION, options, length, NULL, NULL, &error), SIGNET_E_ARGUMENT);
  EXPECT(signet_open(0, options, length, NULL, &client, &error), SIGNET_E_VERSION);
  EXPECT(client != NULL, 0);
  EXPECT(error.length > 0, 1);
  signet_buf_free(&error);
  EXPECT(signet_open(2, options, length, NULL, &client, NULL), SIGNET_E_VERSION);
  EXPECT(signet_open(1, NULL, 5, NULL, &client, NULL), SIGNET_E_ARGUMENT);
  EXPECT(signet_open(1, NULL, 0, NULL, &client, NULL), SIGNET_E_ARGUMENT);
  EXPECT(signet_open(1, (const uint8_t *)"\xff\xff\xff", 3, NULL, &client, &error), SIGNET_E_ARGUMENT);
  signet_buf_free(&error);
  EXPECT(signet_open(1, options, SIZE_MAX, NULL, &client, NULL), SIGNET_E_ARGUMENT);
  EXPECT(signet_open(1, options, length, &host, &client, NULL), SIGNET_E_ARGUMENT);
  return 0;
}

static int use_badly(void) {
  signet_client *client = NULL;
  int32_t kind;
  uint64_t id;
  signet_buf out = {0};
  EXPECT(signet_open(1, options, length, NULL, &client, NULL), SIGNET_OK);
  signet_client *const wrong[] = {NULL, (signet_client *)options, (signet_client *)(uintptr_t)-1};
  for (size_t i = 0; i < 3; i++) {
    EXPECT(signet_call(wrong[i], 1, "echo", NULL, 0), SIGNET_E_HANDLE);
    EXPECT(signet_complete(wrong[i], 1, NULL, 0), SIGNET_E_HANDLE);
    EXPECT(signet_push(wrong[i], 1, NULL, 0), SIGNET_E_HANDLE);
    EXPECT(signet_next(wrong[i], 0, &kind, &id, &out), SIGNET_E_HANDLE);
    EXPECT(signet_close(wrong[i]), SIGNET_E_HANDLE);
  }
  EXPECT(signet_call(client, 1, NULL, NULL, 0), SIGNET_E_ARGUMENT);
  EXPECT(signet_call(client, 1, "", NULL, 0), SIGNET_E_ARGUMENT);
  EXPECT(signet_call(client, 1, "\xff", NULL, 0), SIGNET_E_ARGUMENT);
  EXPECT(signet_call(client, 0, "echo", NULL, 0), SIGNET_E_ARGUMENT);
  EXPECT(signet_call(client, UINT64_MAX, "echo", NULL, 0), SIGNET_E_ARGUMENT);
  EXPECT(signet_call(client, 1, "echo", NULL, 1), SIGNET_E_ARGUMENT);
  EXPECT(signet_call(client, 1, "echo", options, SIZE_MAX), SIGNET_E_ARGUMENT);
  EXPECT(signet_next(client, 0, NULL, &id, &out), SIGNET_E_ARGUMENT);
  EXPECT(signet_next(client, 0, &kind, NULL, &out), SIGNET_E_ARGUMENT);
  EXPECT(signet_next(client, 0, &kind, &id, NULL), SIGNET_E_ARGUMENT);
  /* Garbage and unknown ids reach the core, which ignores them. */
  EXPECT(signet_complete(client, 7777, (const uint8_t *)"\xff\xff", 2), SIGNET_OK);
  EXPECT(signet_push(client, 7777, (const uint8_t *)"\xff\xff", 2), SIGNET_OK);
  EXPECT(signet_next(client, 0, &kind, &id, &out), SIGNET_TIMEOUT);
  EXPECT(signet_call(client, 9, "echo", NULL, 0), SIGNET_OK);
  EXPECT(count_reply(client, 9), 1);
  EXPECT(signet_close(client), SIGNET_OK);
  EXPECT(signet_close(client), SIGNET_E_HANDLE);
  EXPECT(signet_call(client, 1, "echo", NULL, 0), SIGNET_E_HANDLE);
  EXPECT(signet_next(client, 0, &kind, &id, &out), SIGNET_E_HANDLE);
  signet_buf_free(NULL);
  signet_buf_free(&out);
  return 0;
}

enum { CALLERS = 4, CALLS = 200 };
static signet_client *shared;

static void *call_often(void *first) {
  for (uint64_t i = 0; i < CALLS; i++) signet_call(shared, (uintptr_t)first + i, "echo", (const uint8_t *)"x", 1);
  return NULL;
}

/* Calls from several threads, while one thread takes the replies. */
static int call_beside(void) {
  pthread_t threads[CALLERS];
  EXPECT(signet_open(1, options, length, NULL, &shared, NULL), SIGNET_OK);
  for (uintptr_t i = 0; i < CALLERS; i++) pthread_create(&threads[i], NULL, call_often, (void *)(1 + i * CALLS));
  for (int left = CALLERS * CALLS; left > 0; left--) {
    int32_t kind;
    uint64_t id;
    signet_buf out = {0};
    EXPECT(signet_next(shared, 20000, &kind, &id, &out), SIGNET_OK);
    EXPECT(kind, SIGNET_REPLY);
    signet_buf_free(&out);
  }
  for (int i = 0; i < CALLERS; i++) pthread_join(threads[i], NULL);
  EXPECT(signet_close(shared), SIGNET_OK);
  return 0;
}

static void *wait_small(void *status) {
  int32_t kind;
  uint64_t id;
  signet_buf out = {0};
  *(int32_t *)status = signet_next(shared, 5000, &kind, &id, &out);
  signet_buf_free(&out);
  return NULL;
}

/* A thread with a small stack gets a status, and no crash. */
static int run_on_small_stack(void) {
  int32_t status = 99;
  EXPECT(signet_open(1, options, length, NULL, &shared, NULL), SIGNET_OK);
  EXPECT(signet_call(shared, 1, "recurse", (const uint8_t *)"1000", 4), SIGNET_OK);
  process_run_on_stack(256 * 1024, wait_small, &status);
  EXPECT(status, SIGNET_E_STOPPED);
  EXPECT(signet_call(shared, 2, "echo", NULL, 0), SIGNET_E_STOPPED);
  EXPECT(signet_close(shared), SIGNET_OK);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2 || signet_abi_version() != SIGNET_ABI_VERSION) return 2;
  length = strlen(argv[1]) / 2;
  for (size_t i = 0; i < length; i++) sscanf(argv[1] + 2 * i, "%2hhx", &options[i]);
  return open_badly() || use_badly() || call_beside() || run_on_small_stack();
}
