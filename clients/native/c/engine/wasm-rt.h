/* The run-time interface of the C code that wasm2c generates from quickjs.wasm. Takes the place of wabt's own header: traps
 * belong to a thread, and memory grows in place. */
#ifndef WASM_RT_H_
#define WASM_RT_H_

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define wasm_rt_memcpy __builtin_memcpy

/* A signal handler would fight the one of a Java virtual machine. Each access is checked instead. */
#define WASM_RT_MEMCHECK_SIGNAL_HANDLER 0
#define WASM_RT_USE_STACK_DEPTH_COUNT 0

typedef enum {
  WASM_RT_TRAP_NONE,
  WASM_RT_TRAP_OOB,
  WASM_RT_TRAP_INT_OVERFLOW,
  WASM_RT_TRAP_DIV_BY_ZERO,
  WASM_RT_TRAP_INVALID_CONVERSION,
  WASM_RT_TRAP_UNREACHABLE,
  WASM_RT_TRAP_CALL_INDIRECT,
  WASM_RT_TRAP_UNCAUGHT_EXCEPTION,
  WASM_RT_TRAP_EXHAUSTION,
} wasm_rt_trap_t;

typedef enum { WASM_RT_I32, WASM_RT_I64, WASM_RT_F32, WASM_RT_F64, WASM_RT_FUNCREF, WASM_RT_EXTERNREF } wasm_rt_type_t;

typedef void (*wasm_rt_function_ptr_t)(void);

typedef struct {
  uint32_t func_type;
  wasm_rt_function_ptr_t func;
  void *module_instance;
} wasm_rt_funcref_t;

typedef void *wasm_rt_externref_t;
static const wasm_rt_externref_t wasm_rt_externref_null_value = NULL;

typedef struct {
  uint8_t *data;
  uint32_t pages, max_pages;
  uint32_t size;
} wasm_rt_memory_t;

typedef struct {
  wasm_rt_funcref_t *data;
  uint32_t max_size;
  uint32_t size;
} wasm_rt_funcref_table_t;

typedef struct {
  wasm_rt_externref_t *data;
  uint32_t max_size;
  uint32_t size;
} wasm_rt_externref_table_t;

static inline bool wasm_rt_is_initialized(void) { return true; }
uint32_t wasm_rt_register_func_type(uint32_t params, uint32_t results, ...);
void wasm_rt_allocate_memory(wasm_rt_memory_t *memory, uint32_t initial_pages, uint32_t max_pages);
uint32_t wasm_rt_grow_memory(wasm_rt_memory_t *memory, uint32_t pages);
void wasm_rt_free_memory(wasm_rt_memory_t *memory);
void wasm_rt_allocate_funcref_table(wasm_rt_funcref_table_t *table, uint32_t elements, uint32_t max_elements);
void wasm_rt_free_funcref_table(wasm_rt_funcref_table_t *table);
__attribute__((noreturn)) void wasm_rt_trap(wasm_rt_trap_t code);

/* Where a trap of this thread returns to. A trap without a target aborts the program. */
typedef struct signet_trap_target {
  jmp_buf jump;
} signet_trap_target;
#ifdef _WIN32
/* Without a frame longjmp() only jumps. It would unwind the stack otherwise. */
#define SIGNET_CATCH_TRAP(target) _setjmp((target).jump, NULL)
#else
#define SIGNET_CATCH_TRAP(target) setjmp((target).jump)
#endif
void signet_set_trap_target(signet_trap_target *target);
const char *signet_trap_text(int code);

/* Bytes of a memory that are committed, and the most that memories may grow to. */
#define SIGNET_MEMORY_BYTES_MAX ((size_t)512 << 20)

#ifdef __cplusplus
}
#endif

#endif
