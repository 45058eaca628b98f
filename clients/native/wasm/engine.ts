// QuickJS-ng as WebAssembly: evaluates bytecode, and calls the functions of the core. A JavaScript exception that unwinds
// the engine's frames, a trap and an exhausted memory are final: the engine refuses every later call.
import { type Exports, exportsOf } from "./exports.ts"
import { EngineError, type Value, type Values, valuesOf } from "./values.ts"

export { EngineError, type Value } from "./values.ts"

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
  /** Calls a function of the global object `signet`, and runs the pending jobs until none is left. */
  enter(name: string, args: readonly Exclude<Value, undefined>[]): void
  readonly memoryBytes: number
  /** A copy of the linear memory, for tests. */
  memory(): Uint8Array
  /** Overwrites the linear memory. The engine cannot be used any more. */
  wipe(): void
}

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

  function checkMemory(): void {
    if (wasm.memory.buffer.byteLength > memoryLimit) throw new EngineError("the core exceeds its memory limit")
  }

  const hostCall: HostCall = (_name, _size, _self, count, args) => {
    try {
      checkMemory()
      const given = Array.from({ length: count }, (_, i) => values.fromEngine(values.word(args + 4 * i)))
      return values.toEngine(host.call(given))
    } catch (error) {
      failed ??= error
      throw error
    }
  }

  const wasm = exportsOf(
    new WebAssembly.Instance(
      module,
      importsFor(hostCall, host, () => wasm.memory),
    ),
  )
  wasm._initialize()
  if (wasm.qjs_init() !== 0) throw new EngineError("the engine did not start")
  wasm.qjs_set_memory_limit(memoryLimit * 2)
  const values = valuesOf(wasm)
  const { checked, scratch, withCopy, withName } = values
  setHost(wasm, values)

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

  function settle(): void {
    while (wasm.qjs_is_job_pending() !== 0) {
      if (wasm.qjs_execute_pending_job() < 0) throw new EngineError("a job of the engine threw")
    }
  }

  return {
    evaluate: (bytecode) =>
      guarded(() => {
        const result = withCopy(bytecode, (pointer) => wasm.qjs_eval_bytecode(pointer, bytecode.length))
        wasm.qjs_free_value(checked(result))
        settle()
      }),
    compile: (source) =>
      guarded(() => {
        const code = new TextEncoder().encode(source)
        const made = withCopy(code, (pointer) =>
          withName("core.js", (name) => wasm.qjs_compile(pointer, code.length, name, 0, stripped, scratch)),
        )
        if (made === 0) throw new EngineError("the script does not compile")
        return values.copyOut(made, values.word(scratch))
      }),
    enter: (name, args) =>
      guarded(() => {
        callSignet(wasm, values, name, args)
        settle()
      }),
    get memoryBytes() {
      return wasm.memory.buffer.byteLength
    },
    memory: () => new Uint8Array(wasm.memory.buffer).slice(),
    wipe() {
      failed ??= new EngineError("the engine was closed")
      new Uint8Array(wasm.memory.buffer).fill(0)
    },
  }
}

/** Sets the one function that the core calls. */
function setHost(wasm: Exports, { withName }: Values): void {
  const global = wasm.qjs_get_global()
  withName("host", (name) => {
    const made = wasm.qjs_new_host_function(name, "host".length, 0)
    wasm.qjs_set_prop_string(global, name, made)
    wasm.qjs_free_value(made)
  })
  wasm.qjs_free_value(global)
}

function callSignet(
  wasm: Exports,
  { checked, toEngine, withName }: Values,
  name: string,
  args: readonly Exclude<Value, undefined>[],
): void {
  const global = wasm.qjs_get_global()
  const self = withName("signet", (pointer) => wasm.qjs_get_prop_string(global, pointer))
  const callee = withName(name, (pointer) => wasm.qjs_get_prop_string(self, pointer))
  const given = args.map((arg) => checked(toEngine(arg)))
  const list = wasm.wasm_malloc(4 * Math.max(1, given.length))
  const view = new DataView(wasm.memory.buffer)
  for (const [i, value] of given.entries()) view.setUint32(list + 4 * i, value, true)
  const result = checked(wasm.qjs_call(callee, self, given.length, list))
  wasm.wasm_free(list)
  for (const value of [...given, result, callee, self, global]) wasm.qjs_free_value(value)
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
