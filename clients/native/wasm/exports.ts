// The exports of quickjs.wasm that a host uses. Values of the engine are pointers, which their owner frees.

/** The exports that a host needs. */
export interface Exports {
  readonly memory: WebAssembly.Memory
  _initialize(): void
  wasm_malloc(size: number): number
  wasm_free(pointer: number): void
  qjs_init(): number
  qjs_destroy(): void
  qjs_set_memory_limit(bytes: number): void
  qjs_compile(code: number, size: number, name: number, flags: number, compileFlags: number, outSize: number): number
  qjs_eval_bytecode(bytecode: number, size: number): number
  qjs_execute_pending_job(): number
  qjs_is_job_pending(): number
  qjs_new_host_function(name: number, size: number, magic: number): number
  qjs_call(callee: number, self: number, count: number, args: number): number
  qjs_get_global(): number
  qjs_get_prop_string(object: number, name: number): number
  qjs_set_prop_string(object: number, name: number, value: number): number
  qjs_get_undefined(): number
  qjs_new_number(value: number): number
  qjs_new_string(text: number, size: number): number
  qjs_new_uint8_array(bytes: number, size: number): number
  qjs_is_exception(value: number): number
  qjs_is_number(value: number): number
  qjs_is_string(value: number): number
  qjs_is_undefined(value: number): number
  qjs_get_float64(value: number): number
  qjs_get_string_len(value: number, outSize: number): number
  qjs_free_cstring(text: number): void
  qjs_get_typed_array_buffer(value: number, outOffset: number, outSize: number, outElement: number): number
  qjs_get_array_buffer(value: number, outSize: number): number
  qjs_get_exception(): number
  qjs_free_value(value: number): void
}

/** The file is pinned by its hash, and has these exports. */
export function exportsOf(instance: WebAssembly.Instance): Exports {
  return instance.exports as unknown as Exports
}
