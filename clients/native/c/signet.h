/*
 * signet.h - the C interface of libsignet: sign-in and end-to-end encrypted messaging.
 *
 * SYNOPSIS
 *     cc program.c $(pkg-config --cflags --libs signet)
 *
 * DESCRIPTION
 *     A program opens a client, passes calls with signet_call() and takes replies and events from signet_next(). Requests,
 *     replies, events and options are protocol buffers of signet/client/v1 and signet/host/v1; this interface carries bytes.
 *
 *         signet_open()  ->  signet_call()*  ->  signet_next()* until the reply  ->  signet_close()
 *
 * THREADS
 *     signet_next() does all work of a client: the core, timers, the network, the store. One thread at a time may be in it;
 *     a second one gets SIGNET_E_BUSY. That thread needs a stack of at least 4 MiB. Every other function may be called from
 *     any thread at any time, and returns without waiting, except that signet_close() waits for signet_next() to return.
 *     Distinct clients are independent. No function may be called in a child after fork() without exec().
 *
 * TIME AND CHANCE
 *     A client knows the time and draws random bytes by SIGNET_NOW, SIGNET_MONOTONIC and SIGNET_RANDOM, and has one timer,
 *     in signet_next(). A program may replace these primitives, and take the timer: if NativeOptions.performs has the effect
 *     `wake_up`, signet_next() returns each wake-up as an effect. signet_complete() with its id wakes the client. A program
 *     with its own clock, timer and bytes can repeat a run. One that also performs `http` has all that signet_next() waits
 *     for, except the folder's lock, and calls it without a time.
 *
 * MEMORY
 *     Arguments are copied. A signet_buf belongs to the library: release it with signet_buf_free(), which wipes it.
 *     signet_close() wipes the memory of the core.
 *
 * ERRORS
 *     Functions return one of the SIGNET_* statuses: an int32_t, so that later versions can add values. Nothing else is
 *     reported through errno, signals, exceptions or output. A failed call is not a status: it is an output of the kind
 *     SIGNET_REPLY_FAILURE with a signet.client.v1.ClientFailure.
 */
#ifndef SIGNET_H
#define SIGNET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) && !defined(_WIN32)
#define SIGNET_API __attribute__((visibility("default")))
#else
#define SIGNET_API
#endif

/* The version of this header. A library accepts every earlier version of its own. */
#define SIGNET_ABI_VERSION 1u

/* Statuses. Zero and above: no error. */
#define SIGNET_OK 0
#define SIGNET_TIMEOUT 1     /* signet_next(): no output within the time */
#define SIGNET_E_ARGUMENT -1 /* an argument is NULL or outside its range, or bytes are not the stated message */
#define SIGNET_E_VERSION -2  /* the library does not support this version of the interface */
#define SIGNET_E_HANDLE -3   /* not a client, or closed */
#define SIGNET_E_BUSY -4     /* another thread is in signet_next() of this client */
#define SIGNET_E_OPEN -5     /* signet_open() failed: see its error */
#define SIGNET_E_STOPPED -6  /* the core stopped: only signet_close() is left. Stored data is intact: open again */
#define SIGNET_E_MEMORY -7   /* no memory for the arguments */

/* What signet_next() returns: signet.host.v1.OutputKind. */
#define SIGNET_REPLY 1         /* id: of the call. out: the response message of its method */
#define SIGNET_REPLY_FAILURE 2 /* id: of the call. out: a signet.client.v1.ClientFailure */
#define SIGNET_EVENT 3         /* id: 0. out: a signet.client.v1.ClientEvent */
#define SIGNET_EFFECT 4        /* id: of the effect. out: a signet.host.v1.Effect to perform and signet_complete() */
#define SIGNET_CANCEL 5        /* id: of an effect that need not be completed any more. out: empty */

/* A client. Not a pointer to memory: an invalid one is recognized. */
typedef struct signet_client signet_client;

/* Bytes that the library owns. Initialize with {0}. */
typedef struct signet_buf {
  uint8_t *data; /* NULL if empty */
  size_t length;
} signet_buf;

/* Kinds of a signet_value. */
#define SIGNET_NONE 0
#define SIGNET_NUMBER 1
#define SIGNET_BYTES 2
#define SIGNET_TEXT 3 /* UTF-8, not terminated */

/* An argument or the answer of a primitive. */
typedef struct signet_value {
  int32_t kind;
  double number;
  const uint8_t *bytes;
  size_t length;
} signet_value;

/* Primitives that a program most often replaces: the values of signet.host.v1.Primitive, which documents all. */
#define SIGNET_RANDOM 1
#define SIGNET_NOW 2
#define SIGNET_ED25519_GENERATE 11
#define SIGNET_ED25519_SIGN 12
#define SIGNET_BOX_SEAL 14
#define SIGNET_BOX_OPEN 15
#define SIGNET_LOG 22
#define SIGNET_MONOTONIC 24
#define SIGNET_BOX_WRAP 25
#define SIGNET_BOX_UNWRAP 26
#define SIGNET_BOX_FORGET 27

/* Answers of signet_host.primitive. */
#define SIGNET_HOST_DEFAULT 0 /* the library performs the primitive */
#define SIGNET_HOST_ANSWER 1  /* `answer` is set; SIGNET_NONE refuses */

/* Functions of the program that replace the library's own. */
typedef struct signet_host {
  uint32_t size; /* sizeof(signet_host) */
  void *context; /* passed to every function */
  /* Performs a primitive of signet.host.v1.Primitive, on the thread in signet_next() or signet_open().
   *
   * The arguments are valid during the call. What `answer` points to must stay valid until the next call; the library
   * copies it. An answer of another kind or length than the contract states refuses. The function must not call the
   * library, unwind, or jump out. */
  int32_t (*primitive)(void *context, int32_t primitive, const signet_value *arguments, size_t count,
                       signet_value *answer);
} signet_host;

/* Returns SIGNET_ABI_VERSION of the library. */
SIGNET_API uint32_t signet_abi_version(void);

/* Opens a client and starts its core.
 *
 * version: SIGNET_ABI_VERSION.
 * options, length: a signet.host.v1.NativeOptions.
 * host: replaces primitives; NULL for none. Copied.
 * out: receives the client.
 * error: receives a signet.client.v1.ClientFailure if the status is not SIGNET_OK; may be NULL.
 *
 * Returns SIGNET_OK, SIGNET_E_ARGUMENT, SIGNET_E_VERSION, SIGNET_E_OPEN or SIGNET_E_MEMORY. */
SIGNET_API int32_t signet_open(uint32_t version, const uint8_t *options, size_t length, const signet_host *host,
                               signet_client **out, signet_buf *error);

/* Queues a call. Its reply is an output of signet_next(); replies come in any order.
 *
 * id: chosen by the program, 1 to 2^53 - 1, unique among calls without a reply.
 * method: of signet.client.v1, such as "MessengerService/Send".
 * request, length: the method's request message.
 *
 * Returns SIGNET_OK, SIGNET_E_ARGUMENT, SIGNET_E_HANDLE, SIGNET_E_STOPPED or SIGNET_E_MEMORY. */
SIGNET_API int32_t signet_call(signet_client *client, uint64_t id, const char *method, const uint8_t *request,
                               size_t length);

/* Queues the outcome of an effect that the program performs: NativeOptions.performs. An effect that is unknown or already
 * completed is ignored.
 *
 * result, length: a signet.host.v1.EffectResult.
 *
 * Returns as signet_call(). */
SIGNET_API int32_t signet_complete(signet_client *client, uint64_t id, const uint8_t *result, size_t length);

/* Queues a signet.host.v1.HttpPiece of a streamed answer, for a program that performs HTTP requests itself.
 *
 * Returns as signet_call(). */
SIGNET_API int32_t signet_push(signet_client *client, uint64_t id, const uint8_t *piece, size_t length);

/* Works until the client has an output or the time has passed, and returns one output.
 *
 * timeout_ms: 0 to only do what is due; below 0 to wait without a limit.
 * kind, id, out: receive the output.
 *
 * Returns SIGNET_OK, SIGNET_TIMEOUT, SIGNET_E_ARGUMENT, SIGNET_E_HANDLE, SIGNET_E_BUSY or SIGNET_E_STOPPED. With
 * SIGNET_E_STOPPED `out` is a signet.client.v1.ClientFailure. */
SIGNET_API int32_t signet_next(signet_client *client, int32_t timeout_ms, int32_t *kind, uint64_t *id, signet_buf *out);

/* Wipes and releases the bytes, and empties `buf`. NULL and an empty buf are allowed. */
SIGNET_API void signet_buf_free(signet_buf *buf);

/* Closes a client: ends its requests, wipes its memory. A signet_next() in another thread returns SIGNET_E_HANDLE first.
 *
 * Returns SIGNET_OK or SIGNET_E_HANDLE. */
SIGNET_API int32_t signet_close(signet_client *client);

#ifdef __cplusplus
}
#endif

#endif
