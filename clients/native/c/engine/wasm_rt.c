/* The run time of the translated WebAssembly module. */
#include "wasm-rt.h"

#include <stdarg.h>
#include <stdio.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <sys/mman.h>
#endif

#include "wipe.h"

#define PAGE_BYTES 65536u
#define MAX_TYPES 256
#define MAX_TYPE_PARTS 64

#ifdef _WIN32
static __thread signet_trap_target *trap_target = NULL;
#else
static __thread signet_trap_target *trap_target __attribute__((tls_model("initial-exec"))) = NULL;
#endif

/* Written once, by Z_quickjs_init_module, before any other thread reads it. */
static struct {
  uint8_t params, results;
  uint8_t parts[MAX_TYPE_PARTS];
} types[MAX_TYPES];
static uint32_t type_count = 0;

void signet_set_trap_target(signet_trap_target *target) { trap_target = target; }

void wasm_rt_trap(wasm_rt_trap_t code) {
  if (trap_target == NULL) abort();
  longjmp(trap_target->jump, (int)code);
}

const char *signet_trap_text(int code) {
  switch (code) {
    case WASM_RT_TRAP_OOB: return "access outside the core's memory";
    case WASM_RT_TRAP_INT_OVERFLOW: return "integer overflow";
    case WASM_RT_TRAP_DIV_BY_ZERO: return "division by zero";
    case WASM_RT_TRAP_INVALID_CONVERSION: return "invalid conversion";
    case WASM_RT_TRAP_UNREACHABLE: return "unreachable instruction";
    case WASM_RT_TRAP_CALL_INDIRECT: return "invalid indirect call";
    case WASM_RT_TRAP_EXHAUSTION: return "the thread's stack is too small";
    default: return "unknown trap";
  }
}

uint32_t wasm_rt_register_func_type(uint32_t params, uint32_t results, ...) {
  uint8_t parts[MAX_TYPE_PARTS] = {0};
  if (params + results > MAX_TYPE_PARTS || type_count >= MAX_TYPES) abort();
  va_list list;
  va_start(list, results);
  for (uint32_t i = 0; i < params + results; i++) parts[i] = (uint8_t)va_arg(list, int);
  va_end(list);
  for (uint32_t i = 0; i < type_count; i++) {
    if (types[i].params == params && types[i].results == results && memcmp(types[i].parts, parts, sizeof parts) == 0) {
      return i + 1;
    }
  }
  types[type_count].params = (uint8_t)params;
  types[type_count].results = (uint8_t)results;
  memcpy(types[type_count].parts, parts, sizeof parts);
  return ++type_count;
}

#ifdef _WIN32
/* Addresses without memory. NULL if there are none. */
static uint8_t *reserve(size_t length) { return VirtualAlloc(NULL, length, MEM_RESERVE, PAGE_NOACCESS); }
static int commit(uint8_t *at, size_t length) { return VirtualAlloc(at, length, MEM_COMMIT, PAGE_READWRITE) != NULL; }
static void release(uint8_t *at, size_t length) {
  (void)length;
  VirtualFree(at, 0, MEM_RELEASE);
}
#else
static uint8_t *reserve(size_t length) {
  void *at = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return NULL;
#ifdef MADV_DONTDUMP
  madvise(at, length, MADV_DONTDUMP);
#endif
  return at;
}
static int commit(uint8_t *at, size_t length) { return mprotect(at, length, PROT_READ | PROT_WRITE) == 0; }
static void release(uint8_t *at, size_t length) { munmap(at, length); }
#endif

/* Reserves addresses for the largest memory, so that growing never copies: a copy would leave secrets behind. */
void wasm_rt_allocate_memory(wasm_rt_memory_t *memory, uint32_t initial_pages, uint32_t max_pages) {
  const uint32_t most = (uint32_t)(SIGNET_MEMORY_BYTES_MAX / PAGE_BYTES);
  memory->pages = 0;
  memory->size = 0;
  memory->max_pages = max_pages < most ? max_pages : most;
  memory->data = reserve(SIGNET_MEMORY_BYTES_MAX);
  if (memory->data == NULL || wasm_rt_grow_memory(memory, initial_pages) == UINT32_MAX) {
    wasm_rt_trap(WASM_RT_TRAP_OOB);
  }
}

uint32_t wasm_rt_grow_memory(wasm_rt_memory_t *memory, uint32_t pages) {
  const uint32_t before = memory->pages;
  if (pages > memory->max_pages - before) return UINT32_MAX;
  if (pages == 0) return before;
  uint8_t *from = memory->data + (size_t)before * PAGE_BYTES;
  if (!commit(from, (size_t)pages * PAGE_BYTES)) return UINT32_MAX;
  memory->pages = before + pages;
  memory->size = memory->pages * PAGE_BYTES;
  return before;
}

void wasm_rt_free_memory(wasm_rt_memory_t *memory) {
  if (memory->data == NULL) return;
  signet_wipe(memory->data, memory->size);
  release(memory->data, SIGNET_MEMORY_BYTES_MAX);
  memory->data = NULL;
  memory->size = memory->pages = 0;
}

void wasm_rt_allocate_funcref_table(wasm_rt_funcref_table_t *table, uint32_t elements, uint32_t max_elements) {
  table->data = calloc(elements, sizeof *table->data);
  table->size = table->data == NULL ? 0 : elements;
  table->max_size = max_elements;
  if (table->data == NULL) wasm_rt_trap(WASM_RT_TRAP_OOB);
}

void wasm_rt_free_funcref_table(wasm_rt_funcref_table_t *table) {
  free(table->data);
  table->data = NULL;
  table->size = 0;
}
