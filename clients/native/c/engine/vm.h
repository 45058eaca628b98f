/* One JavaScript engine with the client core, inside its own linear memory. Plain C: a trap jumps over frames, and must
 * not jump over a C++ object. */
#ifndef SIGNET_VM_H_
#define SIGNET_VM_H_

#include <stddef.h>
#include <stdint.h>

#include "signet.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct signet_vm signet_vm;

/* Performs a primitive. The arguments are valid during the call, the answer until the next one. Must not throw, and must
 * not enter the engine. An unset answer refuses. */
typedef void (*signet_vm_host)(void *context, const signet_value *arguments, size_t count, signet_value *answer);

typedef enum {
  SIGNET_VM_OK = 0,
  SIGNET_VM_THREW = 1,   /* the core threw: a defect */
  SIGNET_VM_TRAPPED = 2, /* the engine's memory is in an unknown state */
  SIGNET_VM_NO_MEMORY = 3,
} signet_vm_status;

/* Starts an engine and runs the core's bytecode, which the same engine has compiled.
 *
 * error: receives a text of at most 127 bytes without a secret.
 * Returns NULL on failure. */
signet_vm *signet_vm_open(const uint8_t *core, size_t core_length, uint32_t memory_limit, signet_vm_host host,
                          void *context, char error[128]);

/* Calls `globalThis.signet[entry](...arguments)` and runs the pending jobs. After a status other than OK the engine can
 * only be closed. */
signet_vm_status signet_vm_enter(signet_vm *vm, const char *entry, const signet_value *arguments, size_t count,
                                 char error[128]);

/* Bytes of the linear memory. */
size_t signet_vm_memory(const signet_vm *vm);

/* Zeroes the linear memory and releases it. */
void signet_vm_close(signet_vm *vm);

#ifdef __cplusplus
}
#endif

#endif
