// A core in an engine: enters it, and routes what it emits. The platform brings primitives and performs effects.
import { fromBinary, toBinary } from "@bufbuild/protobuf"
import {
  ClientFailureSchema,
  type IdentityOptions,
  IdentityOptionsSchema,
} from "@signet/proto/client/v1/identity_service"
import { type ClientEvent, ClientEventSchema } from "@signet/proto/client/v1/messenger_service"
import { type HostInfo, HostInfoSchema, OutputKind, Primitive } from "@signet/proto/host/v1/host"
import { type Engine, EngineError, type EngineHost, startEngine } from "./engine.ts"
import { CoreError, closed, internal } from "./failure.ts"
import type { Platform, Primitives } from "./platform.ts"
import { runningEffects } from "./running-effects.ts"

export interface CoreOptions extends HostOptions {
  /** quickjs.wasm, compiled. */
  readonly module: WebAssembly.Module
  /** The core, compiled to bytecode by exactly that engine. */
  readonly bytecode: Uint8Array
  /** In bytes. Default: 128 MiB. */
  readonly memoryLimit?: number
}

export interface HostOptions {
  readonly platform: Platform
  readonly info: HostInfo
  readonly identity: IdentityOptions
  readonly onEvent?: (event: ClientEvent) => void
}

export interface Core {
  /** Calls a method, such as `MessengerService/Send`. @throws CoreError */
  call(method: string, request: Uint8Array): Promise<Uint8Array>
  /** Bytes of the engine's memory. */
  readonly memoryBytes: number
  /** A copy of the engine's memory, for tests; also after the end. */
  memory(): Uint8Array
  /** Cancels every effect, fails every call, and overwrites the memory. */
  close(): Promise<void>
}

const defaultMemoryLimit = 128 * 1024 * 1024

/** An engine that has evaluated the core. */
export type EnteredEngine = Omit<Engine, "evaluate" | "compile">

interface Output {
  readonly kind: number
  readonly id: number
  readonly bytes: Uint8Array
}

/** Starts a core in WebAssembly. @throws CoreError of its configuration, or INTERNAL if the engine fails. */
export function openCore({
  module,
  bytecode,
  memoryLimit = defaultMemoryLimit,
  ...options
}: CoreOptions): Promise<Core> {
  function start(host: EngineHost): Engine {
    const engine = startEngine(module, host, memoryLimit)
    engine.evaluate(bytecode)
    return engine
  }
  return openCoreIn(start, options)
}

/** Starts a core. @param start Starts an engine that has evaluated the core. @throws CoreError as `openCore`. */
export async function openCoreIn(start: (host: EngineHost) => EnteredEngine, options: HostOptions): Promise<Core> {
  const { platform } = options
  const outputs: Output[] = []
  const calls = new Map<number, PromiseWithResolvers<Uint8Array>>()
  let cancelWake = () => {}
  let engine: EnteredEngine | undefined
  let hasEnded = false

  /** A failed engine is dropped: its state is unknown, and the stored rows are whole. */
  function end(reason: CoreError): void {
    if (hasEnded) return
    hasEnded = true
    cancelWake()
    outputs.length = 0
    effects.cancelAll()
    for (const call of calls.values()) call.reject(reason)
    calls.clear()
    engine?.wipe()
  }

  function enter(name: string, ...args: readonly (number | string | Uint8Array)[]): void {
    if (hasEnded) return
    try {
      engine?.enter(name, args)
    } catch (error) {
      end(internal(error))
      return
    }
    // After the entry: a listener or an effect may enter the core again.
    for (const one of outputs.splice(0)) route(one)
  }
  const effects = runningEffects(platform, enter)

  function report(event: ClientEvent): void {
    try {
      options.onEvent?.(event)
    } catch (error) {
      // A listener's error must not affect the core, whose change is stored already.
      queueMicrotask(() => {
        throw error
      })
    }
  }

  function begin(id: number): Promise<Uint8Array> {
    const call = Promise.withResolvers<Uint8Array>()
    calls.set(id, call)
    return call.promise
  }

  function take(id: number): PromiseWithResolvers<Uint8Array> | undefined {
    const call = calls.get(id)
    calls.delete(id)
    return call
  }

  function route({ kind, id, bytes }: Output): void {
    if (kind === OutputKind.REPLY) take(id)?.resolve(bytes)
    if (kind === OutputKind.REPLY_FAILURE) take(id)?.reject(new CoreError(fromBinary(ClientFailureSchema, bytes)))
    if (kind === OutputKind.EVENT) report(fromBinary(ClientEventSchema, bytes))
    if (kind === OutputKind.EFFECT) effects.start(id, bytes)
    if (kind === OutputKind.CANCEL) effects.cancel(id)
    if (kind === OutputKind.WAKE_AT) {
      cancelWake()
      cancelWake = id > 0 ? platform.after(Math.max(0, id - nowOf(platform)), () => enter("tick")) : () => {}
    }
  }

  const started = begin(0)
  try {
    engine = start(hostFor(platform, (output) => outputs.push(output)))
  } catch (error) {
    end(internal(error))
  }
  enter("start", toBinary(HostInfoSchema, options.info), toBinary(IdentityOptionsSchema, options.identity))
  try {
    await started
  } catch (error) {
    end(closed)
    throw error
  }
  let lastCall = 0
  return {
    call(method, request) {
      if (hasEnded) return Promise.reject(closed)
      const answer = begin(++lastCall)
      enter("call", lastCall, method, request)
      return answer
    },
    get memoryBytes() {
      return engine?.memoryBytes ?? 0
    },
    memory: () => engine?.memory() ?? new Uint8Array(),
    close: async () => end(closed),
  }
}

const nowOf = ({ primitives }: Platform): number => Number(primitives[Primitive.NOW]?.() ?? 0)

function hostFor(platform: Platform, emit: (output: Output) => void): EngineHost {
  const primitives: Primitives = {
    ...platform.primitives,
    [Primitive.OUTPUT](kind, id, bytes) {
      if (typeof kind === "number" && typeof id === "number" && bytes instanceof Uint8Array) emit({ kind, id, bytes })
      return undefined
    },
  }
  return {
    call: ([operation, ...args]) => primitives[Number(operation)]?.(...args),
    nowNanoseconds: () => BigInt(Math.trunc(nowOf(platform))) * 1_000_000n,
    random(length) {
      const made = platform.primitives[Primitive.RANDOM]?.(length)
      if (made instanceof Uint8Array && made.length === length) return made
      throw new EngineError("the host has no random bytes")
    },
  }
}
