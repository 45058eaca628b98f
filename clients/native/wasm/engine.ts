// QuickJS-ng as WebAssembly, by its exports. Values of the engine are pointers, which their owner frees.

/** The exports that a host needs. */
interface Exports {
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

export type Value = number | string | Uint8Array | undefined

/** What the engine asks of its host, besides memory. */
export interface EngineHost {
  /** The core's `host` function. The arguments are copies. */
  call(args: readonly Value[]): Value
  /** Nanoseconds since the Unix epoch. */
  nowNanoseconds(): bigint
  random(length: number): Uint8Array
}

export interface Engine {
  /** Evaluates bytecode that this engine compiled. Bytecode from elsewhere can corrupt the engine: never load it. */
  evaluate(bytecode: Uint8Array): void
  /** Compiles a script to bytecode without source and debug information. */
  compile(source: string): Uint8Array
  /** Calls a function of the global object `signet`. */
  enter(name: string, args: readonly Exclude<Value, undefined>[]): void
  /** Runs the pending jobs until none is left. */
  settle(): void
  readonly memoryBytes: number
  /** A copy of the linear memory, for tests. */
  memory(): Uint8Array
  /** Overwrites the linear memory. The engine cannot be used any more. */
  wipe(): void
}

/** The engine threw, trapped, or has no memory left. */
export class EngineError extends Error {
  override readonly name = "EngineError"
}

const utf8 = new TextEncoder()
const text = new TextDecoder()
/** qjs_compile: without source and without debug information. */
const stripped = 48

/**
 * Starts an engine.
 *
 * @param memoryLimit In bytes. The engine's own limit is twice as high, so that no script sees an exhausted memory: the
 *   host ends it before.
 */
export function startEngine(module: WebAssembly.Module, host: EngineHost, memoryLimit: number): Engine {
  let failed: unknown
  const instance = new WebAssembly.Instance(
    module,
    importsFor(hostCall, host, () => wasm.memory),
  )
  const wasm = exportsOf(instance)
  wasm._initialize()
  if (wasm.qjs_init() !== 0) throw new EngineError("the engine did not start")
  wasm.qjs_set_memory_limit(memoryLimit * 2)
  const scratch = wasm.wasm_malloc(12)

  const bytes = () => new Uint8Array(wasm.memory.buffer)
  const word = (pointer: number) => new DataView(wasm.memory.buffer).getUint32(pointer, true)

  function copyIn(data: Uint8Array): number {
    const pointer = wasm.wasm_malloc(data.length + 1)
    if (pointer === 0) throw new EngineError("the engine has no memory left")
    bytes().set(data, pointer)
    bytes()[pointer + data.length] = 0
    return pointer
  }

  /** Runs with a zero-terminated copy in the engine's memory. */
  function withCopy<T>(data: Uint8Array, use: (pointer: number) => T): T {
    const pointer = copyIn(data)
    const made = use(pointer)
    wasm.wasm_free(pointer)
    return made
  }

  function toEngine(value: Value): number {
    if (value === undefined) return wasm.qjs_get_undefined()
    if (typeof value === "number") return wasm.qjs_new_number(value)
    if (typeof value === "string") {
      const encoded = utf8.encode(value)
      return withCopy(encoded, (pointer) => wasm.qjs_new_string(pointer, encoded.length))
    }
    return withCopy(value, (pointer) => wasm.qjs_new_uint8_array(pointer, value.length))
  }

  function fromEngine(value: number): Value {
    if (wasm.qjs_is_number(value) !== 0) return wasm.qjs_get_float64(value)
    if (wasm.qjs_is_undefined(value) !== 0) return undefined
    if (wasm.qjs_is_string(value) === 0) return bytesFrom(value)
    const pointer = wasm.qjs_get_string_len(value, scratch)
    if (pointer === 0) throw new EngineError("a text of the engine cannot be read")
    const found = text.decode(bytes().subarray(pointer, pointer + word(scratch)))
    wasm.qjs_free_cstring(pointer)
    return found
  }

  function bytesFrom(value: number): Uint8Array {
    const buffer = wasm.qjs_get_typed_array_buffer(value, scratch, scratch + 4, scratch + 8)
    if (wasm.qjs_is_exception(buffer) !== 0) throw new EngineError("an argument is neither number, text nor bytes")
    const [offset, length] = [word(scratch), word(scratch + 4)]
    const start = wasm.qjs_get_array_buffer(buffer, scratch + 8) + offset
    const found = bytes().slice(start, start + length)
    wasm.qjs_free_value(buffer)
    return found
  }

  /** A JavaScript exception here unwinds the engine's frames: it is of no use afterwards. */
  function hostCall(_name: number, _size: number, _self: number, count: number, args: number): number {
    try {
      checkMemory()
      const given = Array.from({ length: count }, (_, i) => fromEngine(word(args + 4 * i)))
      return toEngine(host.call(given))
    } catch (error) {
      failed ??= error
      throw error
    }
  }

  function checkMemory(): void {
    if (wasm.memory.buffer.byteLength > memoryLimit) throw new EngineError("the core exceeds its memory limit")
  }

  function checked(value: number): number {
    if (wasm.qjs_is_exception(value) === 0) return value
    const exception = wasm.qjs_get_exception()
    const shown = wasm.qjs_get_string_len(exception, scratch)
    const message = shown === 0 ? "an exception" : text.decode(bytes().subarray(shown, shown + word(scratch)))
    throw new EngineError(`the engine threw ${message.slice(0, 200)}`)
  }

  function guarded<T>(work: () => T): T {
    if (failed !== undefined) throw new EngineError("the engine has failed before")
    try {
      const made = work()
      checkMemory()
      return made
    } catch (error) {
      failed ??= error
      throw error instanceof EngineError ? error : new EngineError("the engine trapped", { cause: error })
    }
  }

  const named = <T>(name: string, use: (pointer: number) => T): T => withCopy(utf8.encode(name), use)

  guarded(() => {
    const size = utf8.encode("host").length
    const global = wasm.qjs_get_global()
    named("host", (name) => {
      const made = wasm.qjs_new_host_function(name, size, 0)
      wasm.qjs_set_prop_string(global, name, made)
      wasm.qjs_free_value(made)
    })
    wasm.qjs_free_value(global)
  })

  function settle(): void {
    while (wasm.qjs_is_job_pending() !== 0) {
      if (wasm.qjs_execute_pending_job() < 0) checked(-1)
    }
  }

  return {
    evaluate: (bytecode) =>
      guarded(() => {
        wasm.qjs_free_value(checked(withCopy(bytecode, (pointer) => wasm.qjs_eval_bytecode(pointer, bytecode.length))))
        settle()
      }),
    compile: (source) =>
      guarded(() => {
        const code = utf8.encode(source)
        const made = withCopy(code, (pointer) =>
          named("core.js", (name) => wasm.qjs_compile(pointer, code.length, name, 0, stripped, scratch)),
        )
        if (made === 0) throw new EngineError("the script does not compile")
        return bytes().slice(made, made + word(scratch))
      }),
    enter: (name, args) =>
      guarded(() => {
        const global = wasm.qjs_get_global()
        const self = named("signet", (pointer) => wasm.qjs_get_prop_string(global, pointer))
        const callee = named(name, (pointer) => wasm.qjs_get_prop_string(self, pointer))
        const values = args.map(toEngine)
        const list = wasm.wasm_malloc(4 * Math.max(1, values.length))
        const view = new DataView(wasm.memory.buffer)
        for (const [i, value] of values.entries()) view.setUint32(list + 4 * i, value, true)
        const result = checked(wasm.qjs_call(callee, self, values.length, list))
        wasm.wasm_free(list)
        for (const value of [...values, result, callee, self, global]) wasm.qjs_free_value(value)
        settle()
      }),
    settle: () => guarded(settle),
    get memoryBytes() {
      return wasm.memory.buffer.byteLength
    },
    memory: () => bytes().slice(),
    wipe() {
      failed ??= new EngineError("the engine was closed")
      bytes().fill(0)
    },
  }
}

const noEntry = 8
const noFunction = 52

type HostCall = (name: number, size: number, self: number, count: number, args: number) => number

/** The engine gets no file, no environment and no module. */
function importsFor(
  hostCall: HostCall,
  { nowNanoseconds, random }: EngineHost,
  memory: () => WebAssembly.Memory,
): WebAssembly.Imports {
  return {
    env: {
      host_call: hostCall,
      host_interrupt: () => 0,
      host_promise_rejection: () => undefined,
      host_module_normalize: () => 0,
      host_module_load: () => 0,
      host_get_timezone_offset: () => 0,
    },
    wasi_snapshot_preview1: {
      clock_time_get(_clock: number, _precision: bigint, out: number) {
        new DataView(memory().buffer).setBigUint64(out, nowNanoseconds(), true)
        return 0
      },
      random_get(out: number, length: number) {
        new Uint8Array(memory().buffer).set(random(length), out)
        return 0
      },
      fd_write: () => noEntry,
      fd_close: () => noFunction,
      fd_fdstat_get: () => noEntry,
      fd_seek: () => noFunction,
    },
  }
}

function exportsOf(instance: WebAssembly.Instance): Exports {
  // The file is pinned by its hash, and has these exports.
  return instance.exports as unknown as Exports
}
