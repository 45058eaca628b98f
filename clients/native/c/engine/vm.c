#define _GNU_SOURCE
#include "vm.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
#endif

#include "quickjs.h"
#include "wasm-rt.h"

enum {
  MAX_ARGUMENTS = 8,
  MAX_ENTRIES = 8,
  /* The stack that the host's primitives may need below the engine's frames. */
  STACK_MARGIN = 160 * 1024,
  /* Every intrinsic but `eval` and `Function`: the core is bytecode. */
  INTRINSICS = (int)(0xffffffffu & ~2u),
  /* Half of the stack that is inside the linear memory. */
  JS_STACK_BYTES = 512 * 1024,
};

struct signet_vm {
  Z_quickjs_instance_t instance;
  /* The lowest address that a frame may have, on the stack of the thread in the engine. The generated functions compare it,
   * and read it behind the instance: a count of calls says nothing about a stack whose size the program chose. */
  uintptr_t stack_limit;
  signet_vm_host host;
  void *context;
  u32 scratch;    /* 64 bytes in linear memory: lengths and argument lists */
  u32 entries;    /* handle of globalThis.signet */
  int is_entered; /* the host must not enter again */
};

_Static_assert(offsetof(signet_vm, stack_limit) == sizeof(Z_quickjs_instance_t), "the generated functions read it there");

/* The imports get a pointer of these types, which only name the instance. */
#define VM_OF(import) ((signet_vm *)(void *)(import))

static uint8_t *at(signet_vm *vm, u32 address, size_t length) {
  if ((uint64_t)address + length > vm->instance.w2c_memory.size) wasm_rt_trap(WASM_RT_TRAP_OOB);
  return vm->instance.w2c_memory.data + address;
}

static u32 read32(signet_vm *vm, u32 address) {
  u32 value;
  memcpy(&value, at(vm, address, sizeof value), sizeof value);
  return value;
}

static void write32(signet_vm *vm, u32 address, u32 value) { memcpy(at(vm, address, sizeof value), &value, sizeof value); }

/* Copies bytes into the linear memory, with a zero behind them. Zero if it is full. */
static u32 copy_in(signet_vm *vm, const void *bytes, size_t length) {
  const u32 address = length >= SIGNET_MEMORY_BYTES_MAX ? 0 : Z_quickjsZ_wasm_malloc(&vm->instance, (u32)length + 1);
  if (address == 0) return 0;
  uint8_t *to = at(vm, address, length + 1);
  if (length > 0) memcpy(to, bytes, length);
  to[length] = 0;
  return address;
}

static void free_copied(signet_vm *vm, u32 address, size_t length) {
  memset(at(vm, address, length), 0, length);
  Z_quickjsZ_wasm_free(&vm->instance, address);
}

/* A handle of the value. Zero if the memory is full. */
static u32 to_js(signet_vm *vm, const signet_value *value) {
  Z_quickjs_instance_t *js = &vm->instance;
  if (value->kind == SIGNET_NUMBER) return Z_quickjsZ_qjs_new_number(js, value->number);
  if (value->kind != SIGNET_BYTES && value->kind != SIGNET_TEXT) return Z_quickjsZ_qjs_get_undefined(js);
  const u32 copied = copy_in(vm, value->bytes, value->length);
  if (copied == 0) return 0;
  const u32 handle = value->kind == SIGNET_TEXT ? Z_quickjsZ_qjs_new_string(js, copied, (u32)value->length)
                                                : Z_quickjsZ_qjs_new_uint8_array(js, copied, (u32)value->length);
  free_copied(vm, copied, value->length);
  return handle;
}

/* Reads an argument of a host call. Returns the address of a text to free, or zero. */
static u32 from_js(signet_vm *vm, u32 handle, signet_value *value) {
  Z_quickjs_instance_t *js = &vm->instance;
  memset(value, 0, sizeof *value);
  if (Z_quickjsZ_qjs_is_number(js, handle)) {
    value->kind = SIGNET_NUMBER;
    value->number = Z_quickjsZ_qjs_get_float64(js, handle);
    return 0;
  }
  const u32 context = Z_quickjsZ_qjs_get_context_ptr(js);
  u64 boxed;
  memcpy(&boxed, at(vm, handle, sizeof boxed), sizeof boxed);
  if (Z_quickjsZ_qjs_is_string(js, handle)) {
    const u32 text = Z_quickjsZ_JS_ToCStringLen2(js, context, vm->scratch, boxed, 0);
    if (text == 0) return 0;
    value->kind = SIGNET_TEXT;
    value->length = read32(vm, vm->scratch);
    value->bytes = at(vm, text, value->length);
    return text;
  }
  if (!Z_quickjsZ_qjs_is_object(js, handle)) return 0;
  const u32 data = Z_quickjsZ_JS_GetUint8Array(js, context, vm->scratch, boxed);
  if (data == 0) {
    /* No Uint8Array. */
    Z_quickjsZ_qjs_free_value(js, Z_quickjsZ_qjs_get_exception(js));
    return 0;
  }
  value->kind = SIGNET_BYTES;
  value->length = read32(vm, vm->scratch);
  value->bytes = at(vm, data, value->length);
  return 0;
}

u32 Z_envZ_host_call(struct Z_env_instance_t *env, u32 name, u32 name_length, u32 self, u32 count, u32 list) {
  signet_vm *vm = VM_OF(env);
  signet_value arguments[MAX_ARGUMENTS] = {{0}};
  u32 texts[MAX_ARGUMENTS] = {0};
  signet_value answer;
  (void)name, (void)name_length, (void)self;
  memset(&answer, 0, sizeof answer);
  if (count <= MAX_ARGUMENTS) {
    for (u32 i = 0; i < count; i++) texts[i] = from_js(vm, read32(vm, list + 4 * i), &arguments[i]);
    vm->host(vm->context, arguments, count, &answer);
    const u32 context = Z_quickjsZ_qjs_get_context_ptr(&vm->instance);
    for (u32 i = 0; i < count; i++) {
      if (texts[i] != 0) Z_quickjsZ_JS_FreeCString(&vm->instance, context, texts[i]);
    }
  }
  const u32 handle = to_js(vm, &answer);
  /* Without memory for the answer: undefined, which refuses. */
  return handle != 0 ? handle : Z_quickjsZ_qjs_get_undefined(&vm->instance);
}

u32 Z_envZ_host_get_timezone_offset(struct Z_env_instance_t *env, u32 high, u32 low) {
  (void)env, (void)high, (void)low;
  return 0;
}

u32 Z_envZ_host_interrupt(struct Z_env_instance_t *env) {
  (void)env;
  return 0;
}

/* The core has no modules. */
u32 Z_envZ_host_module_load(struct Z_env_instance_t *env, u32 name, u32 length) {
  (void)env, (void)name, (void)length;
  return 0;
}

u32 Z_envZ_host_module_normalize(struct Z_env_instance_t *env, u32 base, u32 name) {
  (void)env, (void)base, (void)name;
  return 0;
}

void Z_envZ_host_promise_rejection(struct Z_env_instance_t *env, u32 promise, u32 reason, u32 is_handled) {
  (void)is_handled;
  Z_quickjsZ_qjs_free_value(&VM_OF(env)->instance, promise);
  Z_quickjsZ_qjs_free_value(&VM_OF(env)->instance, reason);
}

/* The engine's own clock and randomness are the host's, so that a run with given ones is repeatable. */
static double ask_number(signet_vm *vm, int primitive) {
  signet_value argument = {.kind = SIGNET_NUMBER, .number = primitive}, answer;
  memset(&answer, 0, sizeof answer);
  vm->host(vm->context, &argument, 1, &answer);
  return answer.kind == SIGNET_NUMBER && answer.number >= 0 ? answer.number : 0;
}

u32 Z_wasi_snapshot_preview1Z_clock_time_get(struct Z_wasi_snapshot_preview1_instance_t *wasi, u32 clock, u64 precision,
                                             u32 result) {
  signet_vm *vm = VM_OF(wasi);
  (void)precision;
  const double unit = clock == 0 ? 1e6 : 1e3;
  const u64 nanoseconds = (u64)(ask_number(vm, clock == 0 ? SIGNET_NOW : SIGNET_MONOTONIC) * unit);
  memcpy(at(vm, result, sizeof nanoseconds), &nanoseconds, sizeof nanoseconds);
  return 0;
}

u32 Z_wasi_snapshot_preview1Z_random_get(struct Z_wasi_snapshot_preview1_instance_t *wasi, u32 address, u32 length) {
  signet_vm *vm = VM_OF(wasi);
  signet_value arguments[2] = {{.kind = SIGNET_NUMBER, .number = SIGNET_RANDOM},
                               {.kind = SIGNET_NUMBER, .number = length}};
  signet_value answer;
  memset(&answer, 0, sizeof answer);
  vm->host(vm->context, arguments, 2, &answer);
  if (answer.kind != SIGNET_BYTES || answer.length != length) return 52;
  memcpy(at(vm, address, length), answer.bytes, length);
  return 0;
}

/* The engine prints nothing. */
u32 Z_wasi_snapshot_preview1Z_fd_close(struct Z_wasi_snapshot_preview1_instance_t *wasi, u32 fd) {
  (void)wasi, (void)fd;
  return 52;
}

u32 Z_wasi_snapshot_preview1Z_fd_fdstat_get(struct Z_wasi_snapshot_preview1_instance_t *wasi, u32 fd, u32 result) {
  (void)wasi, (void)fd, (void)result;
  return 8;
}

u32 Z_wasi_snapshot_preview1Z_fd_seek(struct Z_wasi_snapshot_preview1_instance_t *wasi, u32 fd, u64 offset, u32 whence,
                                      u32 result) {
  (void)wasi, (void)fd, (void)offset, (void)whence, (void)result;
  return 52;
}

u32 Z_wasi_snapshot_preview1Z_fd_write(struct Z_wasi_snapshot_preview1_instance_t *wasi, u32 fd, u32 list, u32 count,
                                       u32 written) {
  (void)wasi, (void)fd, (void)list, (void)count, (void)written;
  return 8;
}

/* The lowest address that the engine may use of this thread's stack. */
static uintptr_t find_stack_limit(void) {
  static __thread uintptr_t known = 0;
  if (known != 0) return known;
  void *lowest = NULL;
#ifdef _WIN32
  ULONG_PTR low = 0, high = 0;
  GetCurrentThreadStackLimits(&low, &high);
  lowest = (void *)low;
#elif defined(__APPLE__)
  /* Apple names the other end. */
  lowest = (uint8_t *)pthread_get_stackaddr_np(pthread_self()) - pthread_get_stacksize_np(pthread_self());
#else
  pthread_attr_t attributes;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
  }
#endif
  known = (uintptr_t)lowest + STACK_MARGIN;
  return known;
}

static int start(signet_vm *vm, const uint8_t *core, size_t core_length, uint32_t memory_limit) {
  Z_quickjs_instance_t *js = &vm->instance;
  Z_quickjs_instantiate(js, (void *)vm, (void *)vm);
  Z_quickjsZ__initialize(js);
  if (Z_quickjsZ_qjs_init2(js, (u32)INTRINSICS) != 0) return SIGNET_VM_NO_MEMORY;
  Z_quickjsZ_qjs_set_memory_limit(js, memory_limit);
  Z_quickjsZ_qjs_set_max_stack_size(js, JS_STACK_BYTES);
  vm->scratch = Z_quickjsZ_wasm_malloc(js, 64);
  const u32 host = copy_in(vm, "host", 4), entries = copy_in(vm, "signet", 6);
  if (vm->scratch == 0 || host == 0 || entries == 0) return SIGNET_VM_NO_MEMORY;
  const u32 global = Z_quickjsZ_qjs_get_global(js);
  const u32 function = Z_quickjsZ_qjs_new_host_function(js, host, 4, 0);
  Z_quickjsZ_qjs_set_prop_string(js, global, host, function);
  Z_quickjsZ_qjs_free_value(js, function);
  const u32 bytecode = copy_in(vm, core, core_length);
  if (bytecode == 0) return SIGNET_VM_NO_MEMORY;
  const u32 result = Z_quickjsZ_qjs_eval_bytecode(js, bytecode, (u32)core_length);
  Z_quickjsZ_wasm_free(js, bytecode);
  const int threw = Z_quickjsZ_qjs_is_exception(js, result) != 0;
  Z_quickjsZ_qjs_free_value(js, result);
  if (threw) return SIGNET_VM_THREW;
  vm->entries = Z_quickjsZ_qjs_get_prop_string(js, global, entries);
  Z_quickjsZ_qjs_free_value(js, global);
  return Z_quickjsZ_qjs_is_object(js, vm->entries) ? SIGNET_VM_OK : SIGNET_VM_THREW;
}

static int run_jobs(signet_vm *vm) {
  while (Z_quickjsZ_qjs_is_job_pending(&vm->instance)) {
    if ((int)Z_quickjsZ_qjs_execute_pending_job(&vm->instance) < 0) return SIGNET_VM_THREW;
  }
  return SIGNET_VM_OK;
}

static int call(signet_vm *vm, const char *entry, const signet_value *arguments, size_t count) {
  Z_quickjs_instance_t *js = &vm->instance;
  u32 handles[MAX_ARGUMENTS] = {0};
  const size_t length = strlen(entry);
  const u32 name = copy_in(vm, entry, length);
  if (name == 0 || count > MAX_ARGUMENTS) return SIGNET_VM_NO_MEMORY;
  const u32 function = Z_quickjsZ_qjs_get_prop_string(js, vm->entries, name);
  Z_quickjsZ_wasm_free(js, name);
  for (size_t i = 0; i < count; i++) {
    handles[i] = to_js(vm, &arguments[i]);
    if (handles[i] == 0) return SIGNET_VM_NO_MEMORY;
  }
  for (size_t i = 0; i < count; i++) write32(vm, vm->scratch + 16 + 4 * (u32)i, handles[i]);
  const u32 result = Z_quickjsZ_qjs_call(js, function, vm->entries, (u32)count, vm->scratch + 16);
  const int threw = Z_quickjsZ_qjs_is_exception(js, result) != 0;
  Z_quickjsZ_qjs_free_value(js, result);
  for (size_t i = 0; i < count; i++) Z_quickjsZ_qjs_free_value(js, handles[i]);
  Z_quickjsZ_qjs_free_value(js, function);
  return threw ? SIGNET_VM_THREW : run_jobs(vm);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

signet_vm *signet_vm_open(const uint8_t *core, size_t core_length, uint32_t memory_limit, signet_vm_host host,
                          void *context, char error[128]) {
  pthread_once(&once, Z_quickjs_init_module);
  signet_vm *vm = calloc(1, sizeof *vm);
  if (vm == NULL) {
    snprintf(error, 128, "no memory for an engine");
    return NULL;
  }
  vm->host = host;
  vm->context = context;
  signet_trap_target target;
  const int trap = SIGNET_CATCH_TRAP(target);
  if (trap != 0) {
    signet_set_trap_target(NULL);
    snprintf(error, 128, "the engine did not start: %s", signet_trap_text(trap));
    signet_vm_close(vm);
    return NULL;
  }
  signet_set_trap_target(&target);
  vm->stack_limit = find_stack_limit();
  const int status = start(vm, core, core_length, memory_limit);
  const int jobs = status == SIGNET_VM_OK ? run_jobs(vm) : status;
  signet_set_trap_target(NULL);
  if (jobs == SIGNET_VM_OK) return vm;
  snprintf(error, 128, jobs == SIGNET_VM_THREW ? "the core does not start" : "no memory for the core");
  signet_vm_close(vm);
  return NULL;
}

signet_vm_status signet_vm_enter(signet_vm *vm, const char *entry, const signet_value *arguments, size_t count,
                                 char error[128]) {
  signet_trap_target target;
  if (vm->is_entered) {
    snprintf(error, 128, "a primitive entered the core");
    return SIGNET_VM_THREW;
  }
  const int trap = SIGNET_CATCH_TRAP(target);
  if (trap != 0) {
    signet_set_trap_target(NULL);
    vm->is_entered = 0;
    snprintf(error, 128, "the core stopped: %s", signet_trap_text(trap));
    return SIGNET_VM_TRAPPED;
  }
  vm->is_entered = 1;
  signet_set_trap_target(&target);
  vm->stack_limit = find_stack_limit();
  const int status = call(vm, entry, arguments, count);
  signet_set_trap_target(NULL);
  vm->is_entered = 0;
  if (status == SIGNET_VM_THREW) snprintf(error, 128, "the core threw in %s: a defect of the library", entry);
  if (status == SIGNET_VM_NO_MEMORY) snprintf(error, 128, "the core has no memory left");
  return (signet_vm_status)status;
}

size_t signet_vm_memory(const signet_vm *vm) { return vm->instance.w2c_memory.size; }

void signet_vm_close(signet_vm *vm) {
  if (vm == NULL) return;
  Z_quickjs_free(&vm->instance);
  memset(vm, 0, sizeof *vm);
  free(vm);
}
