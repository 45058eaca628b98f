/* A chat: signs in, writes to a user, and prints what others write until one of them writes "bye".
 *
 *     chat FOLDER SERVER APP_ID ROOT_KEY NONCE ID_TOKEN [USER TEXT] */
#include <signet.h>
#include <stdio.h>

#include "proto.h"

static signet_client *client;
static int is_over;

static void print_failure(const signet_buf *failure) {
  const slice all = {failure->data, failure->length}, reason = get(all, 2), text = get(all, 3);
  fprintf(stderr, "%.*s: %.*s\n", (int)reason.length, reason.data, (int)text.length, text.data);
}

/* Prints the message of a ClientEvent, if it is one. */
static void print_event(const signet_buf *event) {
  const slice entry = get(get((slice){event->data, event->length}, 1), 2), message_entry = get(entry, 4);
  const slice user = get(get(message_entry, 1), 1), text = get(message_entry, 2);
  if (text.length == 0) return;
  printf("%.*s: %.*s\n", (int)user.length, user.data, (int)text.length, text.data);
  fflush(stdout);
  is_over = text.length == 3 && memcmp(text.data, "bye", 3) == 0;
}

/* Calls a method, and prints events until its reply. The reply is valid until the next call. */
static slice call(const char *method, const message *request) {
  static signet_buf reply;
  static uint64_t calls;
  int32_t kind = 0;
  uint64_t id = 0;
  signet_call(client, ++calls, method, request->data, request->length);
  while (!is_over) {
    signet_buf_free(&reply);
    if (signet_next(client, -1, &kind, &id, &reply) != SIGNET_OK || kind == SIGNET_REPLY_FAILURE) {
      print_failure(&reply);
      exit(1);
    }
    if (kind == SIGNET_EVENT) print_event(&reply);
    if (kind == SIGNET_REPLY && id == calls) break;
  }
  return (slice){reply.data, reply.length};
}

int main(int argc, char **argv) {
  if (argc != 7 && argc != 9) return 2;
  message identity = {0}, box = {0}, options = {0}, credential = {0}, login = {0}, open = {0}, none = {0};
  signet_buf error = {0};
  put_text(&identity, 1, argv[3]); /* app_id */
  put_text(&identity, 2, argv[2]); /* auth_base_url */
  put_text(&identity, 3, "IDP_A"); /* providers */
  put_text(&box, 1, "a passphrase that the user typed");
  put(&options, 1, identity.data, identity.length);
  put_text(&options, 2, argv[1]); /* data_folder */
  put(&options, 4, box.data, box.length);
  if (signet_open(SIGNET_ABI_VERSION, options.data, options.length, NULL, &client, &error) != SIGNET_OK) {
    print_failure(&error);
    return 1;
  }
  put_text(&credential, 1, argv[6]); /* id_token */
  put_text(&login, 1, "IDP_A");
  put_text(&login, 3, argv[5]); /* nonce */
  put(&login, 5, credential.data, credential.length);
  const slice user = get(get(call("IdentityService/Login", &login), 1), 3);
  printf("signed in as %.*s\n", (int)user.length, user.data);

  uint8_t root_key[32] = {0};
  for (int i = 0; i < 32; i++) {
    unsigned byte = 0;
    sscanf(argv[4] + 2 * i, "%2x", &byte);
    root_key[i] = (uint8_t)byte;
  }
  put_text(&open, 1, argv[2]); /* base_url */
  put(&open, 2, root_key, sizeof root_key);
  call("MessengerService/Open", &open);
  call("MessengerService/Sync", &none);
  puts("ready");
  fflush(stdout);
  if (argc == 9) {
    message create = {0}, send = {0};
    put_text(&create, 1, argv[7]); /* peer_user_id */
    const slice conversation = get(get(call("MessengerService/CreateDirectConversation", &create), 1), 1);
    put(&send, 1, conversation.data, conversation.length);
    put_text(&send, 2, argv[8]); /* plaintext */
    call("MessengerService/Send", &send);
  }
  call("MessengerService/Run", &none); /* Events arrive until the end. */
  return signet_close(client) == SIGNET_OK ? 0 : 1;
}
