/* A libFuzzer target: bytes of an attacker as options, effects, results and pieces. It runs in a folder of its own, and an
 * input with a slash is left out: it could name other folders and servers. */
#include <stdlib.h>
#include <string.h>

#include "signet.h"

/* signet.host.v1.NativeOptions: app_id "a", data_folder "d", program_box "b" version 1, performs 11 to 14. */
static const uint8_t options[] = {0x0a, 3, 0x0a, 1, 'a', 0x12, 1, 'd', 0x2a, 5, 0x0a, 1, 'b', 0x10, 1, 0x32, 4, 11, 12, 13, 14};

static void drain(signet_client *client) {
  for (int i = 0; i < 16; i++) {
    int32_t kind;
    uint64_t id;
    signet_buf out = {0};
    const int32_t status = signet_next(client, 0, &kind, &id, &out);
    signet_buf_free(&out);
    if (status < 0) abort();
    if (status == SIGNET_TIMEOUT) return;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length) {
  static signet_client *client;
  static uint64_t calls;
  if (length == 0 || memchr(data, '/', length) != NULL) return 0;
  if (client == NULL && signet_open(1, options, sizeof options, NULL, &client, NULL) != SIGNET_OK) abort();
  const uint8_t *bytes = data + 1;
  length--;
  signet_client *second = NULL;
  switch (data[0] % 4) {
    case 0:
      if (signet_open(1, bytes, length, NULL, &second, NULL) == SIGNET_OK) signet_close(second);
      return 0;
    case 1: signet_call(client, ++calls, "effect", bytes, length); break;
    case 2: signet_complete(client, data[0], bytes, length); break;
    case 3: signet_push(client, data[0], bytes, length); break;
  }
  drain(client);
  return 0;
}
