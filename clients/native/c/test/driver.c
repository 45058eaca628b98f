/* Runs the functions of signet.h for a test that writes a line for each: bytes are hexadecimal, `-` is empty. One client at
 * a time. Answers are lines of a status and, where there is one, an output. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process.h"
#include "seeded.h"
#include "signet.h"

static signet_client *client;
static char host_mode[16];
static uint64_t fixed_count;
/* The mode `slow` has the box of `wrap`, and clocks that run at a sixtieth of their speed. */
enum { SLOWNESS = 60 };

static int32_t read_slow_clock(int32_t op, signet_value *answer) {
  static double started[2];
  struct timespec now;
  const int is_wall = op == SIGNET_NOW;
  clock_gettime(is_wall ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now);
  const double ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
  if (started[is_wall] == 0) started[is_wall] = ms;
  const double passed = started[is_wall] + (ms - started[is_wall]) / SLOWNESS;
  *answer = (signet_value){.kind = SIGNET_NUMBER, .number = is_wall ? passed : passed * 1e3};
  return SIGNET_HOST_ANSWER;
}

/* A box with one wrapping key, which the mode `lost` begins without. */
static int32_t wrap(int32_t op, const signet_value *arguments, size_t count, signet_value *answer) {
  static uint8_t bytes[4096];
  static int has_key = -1;
  if (has_key < 0) has_key = strcmp(host_mode, "lost") != 0;
  if (op == SIGNET_BOX_FORGET) has_key = 0;
  if (op == SIGNET_BOX_WRAP && count == 3 && arguments[2].number == 1) has_key = 1;
  const size_t length = count < 2 || arguments[1].length > sizeof bytes ? 0 : arguments[1].length;
  for (size_t i = 0; i < length; i++) bytes[i] = arguments[1].bytes[i] ^ 0x5a;
  *answer = (signet_value){.kind = SIGNET_BYTES, .bytes = bytes, .length = length};
  if (!has_key && op != SIGNET_BOX_FORGET) *answer = (signet_value){.kind = SIGNET_NUMBER, .number = 7};
  return SIGNET_HOST_ANSWER;
}

static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

/* Decodes in place. */
static size_t unhex(char *text) {
  if (text == NULL || strcmp(text, "-") == 0) return 0;
  const size_t length = strlen(text) / 2;
  for (size_t i = 0; i < length; i++) text[i] = (char)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  return length;
}

/* The mode `asked`: the test answers. It gets a line `? primitive argument...` while its own command runs. Numbers are decimal,
 * and bytes follow an `x`. */
static int32_t ask(int32_t op, const signet_value *arguments, size_t count, signet_value *answer) {
  static char line[2 * 65536 + 16];
  printf("? %d", op);
  for (size_t i = 0; i < count; i++) {
    if (arguments[i].kind == SIGNET_NUMBER) printf(" %.17g", arguments[i].number);
    else fputs(" x", stdout);
    for (size_t k = 0; k < arguments[i].length; k++) printf("%02x", arguments[i].bytes[k]);
  }
  putchar('\n');
  fflush(stdout);
  if (fgets(line, sizeof line, stdin) == NULL) exit(1);
  line[strcspn(line, "\n")] = 0;
  *answer = (signet_value){.kind = SIGNET_NUMBER, .number = strtod(line, NULL)};
  if (line[0] == 'x') *answer = (signet_value){.kind = SIGNET_BYTES, .bytes = (uint8_t *)line + 1, .length = unhex(line + 1)};
  return SIGNET_HOST_ANSWER;
}

static int is_asked(int32_t op) {
  return op == SIGNET_RANDOM || op == SIGNET_NOW || op == SIGNET_MONOTONIC || op == SIGNET_ED25519_GENERATE ||
         op == SIGNET_ED25519_SIGN;
}

/* How the program's own primitives behave: as in the names. */
static int32_t primitive(void *context, int32_t op, const signet_value *arguments, size_t count, signet_value *answer) {
  static uint8_t bytes[65536];
  (void)context;
  if (op == SIGNET_LOG && count == 2) fprintf(stderr, "core: %.*s\n", (int)arguments[1].length, arguments[1].bytes);
  if (strcmp(host_mode, "asked") == 0) return is_asked(op) ? ask(op, arguments, count, answer) : SIGNET_HOST_DEFAULT;
  if (strcmp(host_mode, "seeded") == 0) return seeded_primitive(op, arguments, count, answer);
  if (strcmp(host_mode, "fail") == 0 && op != SIGNET_NOW) {
    answer->kind = SIGNET_NONE;
    return SIGNET_HOST_ANSWER;
  }
  if (strcmp(host_mode, "lie") == 0 && op != SIGNET_NOW && op != SIGNET_RANDOM) {
    *answer = (signet_value){.kind = SIGNET_BYTES, .bytes = bytes, .length = 7};
    return SIGNET_HOST_ANSWER;
  }
  if (strcmp(host_mode, "garbage") == 0 && op != SIGNET_NOW && op != SIGNET_RANDOM) {
    *answer = (signet_value){.kind = 77, .number = 0.0 / 0.0, .bytes = NULL, .length = 32};
    return op % 2 == 0 ? SIGNET_HOST_ANSWER : -5;
  }
  if (strcmp(host_mode, "slow") == 0 && (op == SIGNET_NOW || op == SIGNET_MONOTONIC)) return read_slow_clock(op, answer);
  if (strcmp(host_mode, "slow") == 0 || strcmp(host_mode, "wrap") == 0 || strcmp(host_mode, "lost") == 0) {
    return op < SIGNET_BOX_WRAP || op > SIGNET_BOX_FORGET ? SIGNET_HOST_DEFAULT : wrap(op, arguments, count, answer);
  }
  if (strcmp(host_mode, "fixed") != 0) return SIGNET_HOST_DEFAULT;
  if (op == SIGNET_NOW) {
    *answer = (signet_value){.kind = SIGNET_NUMBER, .number = 1700000000000.0};
    return SIGNET_HOST_ANSWER;
  }
  if (op != SIGNET_RANDOM || count != 1 || arguments[0].number > sizeof bytes) return SIGNET_HOST_DEFAULT;
  const size_t length = (size_t)arguments[0].number;
  for (size_t i = 0; i < length; i++) bytes[i] = (uint8_t)(fixed_count++ * 151);
  *answer = (signet_value){.kind = SIGNET_BYTES, .bytes = bytes, .length = length};
  return SIGNET_HOST_ANSWER;
}

static void print_hex(const signet_buf *buf) {
  if (buf->length == 0) fputs(" -", stdout);
  else putchar(' ');
  for (size_t i = 0; i < buf->length; i++) printf("%02x", buf->data[i]);
}

static char *word(char **rest) { return strtok_r(NULL, " \n", rest); }

static void open_client(char **rest) {
  const uint32_t version = (uint32_t)strtoul(word(rest), NULL, 10);
  snprintf(host_mode, sizeof host_mode, "%s", word(rest));
  char *options = word(rest);
  const size_t length = unhex(options);
  const signet_host host = {.size = sizeof host, .primitive = primitive};
  signet_buf error = {0};
  printf("%d", signet_open(version, (uint8_t *)options, length, strcmp(host_mode, "none") == 0 ? NULL : &host, &client, &error));
  print_hex(&error);
  signet_buf_free(&error);
}

static void next(char **rest) {
  int32_t kind;
  uint64_t id;
  signet_buf out = {0};
  const int32_t status = signet_next(client, atoi(word(rest)), &kind, &id, &out);
  printf("%d %d %llu", status, kind, (unsigned long long)id);
  print_hex(&out);
  signet_buf_free(&out);
}

/* Prints each output that is due as a line `! kind id bytes`, and then the status that ended it. */
static void drain(void) {
  for (;;) {
    int32_t kind;
    uint64_t id;
    signet_buf out = {0};
    const int32_t status = signet_next(client, 0, &kind, &id, &out);
    if (status != SIGNET_OK) {
      printf("%d", status);
      signet_buf_free(&out);
      return;
    }
    printf("! %d %llu", kind, (unsigned long long)id);
    print_hex(&out);
    putchar('\n');
    signet_buf_free(&out);
  }
}

static void *wait_in_next(void *argument) {
  int32_t kind;
  uint64_t id;
  signet_buf out = {0};
  *(int32_t *)argument = signet_next(client, 60000, &kind, &id, &out);
  signet_buf_free(&out);
  return NULL;
}

/* Closes the client while another thread waits in signet_next(). Prints what both returned. */
static void close_beside(void) {
  pthread_t thread;
  int32_t waited = 99, kind;
  uint64_t id;
  signet_buf out = {0};
  pthread_create(&thread, NULL, wait_in_next, &waited);
  usleep(200000);
  const int32_t second = signet_next(client, 0, &kind, &id, &out);
  const int32_t closed = signet_close(client);
  pthread_join(thread, NULL);
  printf("%d %d %d", closed, waited, second);
}

static void scan(char **rest) {
  char *needle = word(rest);
  printf("%zu", process_count((uint8_t *)needle, unhex(needle)));
}

static void run(char *line) {
  char *rest;
  const char *command = strtok_r(line, " \n", &rest);
  if (command == NULL) return;
  if (strcmp(command, "open") == 0) open_client(&rest);
  if (strcmp(command, "next") == 0) next(&rest);
  if (strcmp(command, "drain") == 0) drain();
  if (strcmp(command, "scan") == 0) scan(&rest);
  if (strcmp(command, "memory") == 0) printf("%ld", process_kilobytes());
  if (strcmp(command, "seed") == 0) {
    const uint32_t seed = (uint32_t)strtoul(word(&rest), NULL, 10);
    seeded_start(seed, strtod(word(&rest), NULL));
  }
  if (strcmp(command, "close") == 0) printf("%d", signet_close(client));
  if (strcmp(command, "close-beside") == 0) close_beside();
  if (strcmp(command, "call") == 0 || strcmp(command, "complete") == 0 || strcmp(command, "push") == 0) {
    const uint64_t id = strtoull(word(&rest), NULL, 10);
    const char *method = command[1] == 'a' ? word(&rest) : NULL;
    char *bytes = word(&rest);
    const size_t length = unhex(bytes);
    printf("%d", command[1] == 'a'   ? signet_call(client, id, method, (uint8_t *)bytes, length)
                 : command[0] == 'c' ? signet_complete(client, id, (uint8_t *)bytes, length)
                                     : signet_push(client, id, (uint8_t *)bytes, length));
  }
  putchar('\n');
  fflush(stdout);
}

int main(void) {
  char *line;
  process_start();
  while ((line = process_read_line()) != NULL) {
    run(line);
    process_wipe_line();
  }
  return 0;
}
