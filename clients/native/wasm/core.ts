// A core in WebAssembly: enters it, routes what it emits, and performs its effects. The platform brings primitives and the
// performer.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import {
  type ClientFailure,
  ClientFailure_Kind,
  ClientFailureSchema,
  type IdentityOptions,
  IdentityOptionsSchema,
} from "@signet/proto/client/v1/identity_service"
import { type ClientEvent, ClientEventSchema } from "@signet/proto/client/v1/messenger_service"
import {
  type Effect,
  EffectFailure_Kind,
  EffectFailureSchema,
  type EffectResult,
  EffectResultSchema,
  EffectSchema,
  type HostInfo,
  HostInfoSchema,
  type HttpPiece,
  HttpPieceSchema,
  OutputKind,
  Primitive,
} from "@signet/proto/host/v1/host"
import { type Engine, EngineError, startEngine, type Value } from "./engine.ts"

/** The platform's primitives, by their number in the contract. Undefined refuses. OUTPUT is the core's own. */
export type Primitives = Readonly<Partial<Record<number, (...args: readonly Value[]) => Value>>>

type Result = EffectResult["result"]

export interface Performing {
  /** Aborted once the core does not need the effect any more. */
  readonly signal: AbortSignal
  /** For a streamed answer, in order. */
  push(piece: Omit<HttpPiece, "$typeName">): void
}

export interface Platform {
  readonly primitives: Primitives
  /** Performs an effect. A rejection counts as EffectFailure IO. */
  perform(effect: Effect["effect"], performing: Performing): Promise<Result>
  /** Runs once after `ms`. @returns Cancels it. */
  after(ms: number, run: () => void): () => void
}

export interface CoreOptions {
  /** quickjs.wasm, compiled. */
  readonly module: WebAssembly.Module
  /** The core, compiled to bytecode by exactly that engine. */
  readonly bytecode: Uint8Array
  readonly platform: Platform
  readonly info: HostInfo
  readonly identity: IdentityOptions
  readonly onEvent?: (event: ClientEvent) => void
  /** In bytes. Default: 128 MiB. */
  readonly memoryLimit?: number
}

/** A failed call, with the typed facts of the contract. */
export class CoreError extends Error {
  override readonly name = "CoreError"
  readonly failure: ClientFailure
  get reason(): string {
    return this.failure.reason
  }

  constructor(failure: ClientFailure) {
    super(failure.message)
    this.failure = failure
  }
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

const facts = (kind: ClientFailure_Kind, reason: string, message: string): CoreError =>
  new CoreError(create(ClientFailureSchema, { kind, reason, message }))

const closed = facts(ClientFailure_Kind.MESSAGING, "CLOSED", "the core was closed, or has failed: open another one")

const internal = (error: unknown): CoreError =>
  facts(ClientFailure_Kind.INTERNAL, "INTERNAL", error instanceof EngineError ? error.message : "the engine failed")

const defaultMemoryLimit = 128 * 1024 * 1024

/** Starts a core. @throws CoreError of its configuration, or INTERNAL if the engine fails. */
export async function openCore(options: CoreOptions): Promise<Core> {
  const { platform, module, bytecode, memoryLimit = defaultMemoryLimit } = options
  const outputs: { readonly kind: number; readonly id: number; readonly bytes: Uint8Array }[] = []
  const calls = new Map<number, PromiseWithResolvers<Uint8Array>>()
  const effects = new Map<number, AbortController>()
  let lastCall = 0
  let wake = () => {}
  let engine: Engine | undefined
  let ended: CoreError | undefined

  const primitives: Primitives = {
    ...platform.primitives,
    [Primitive.OUTPUT](kind, id, bytes) {
      if (typeof kind === "number" && typeof id === "number" && bytes instanceof Uint8Array) {
        outputs.push({ kind, id, bytes })
      }
      return undefined
    },
  }

  /** A failed engine is dropped: its state is unknown, and the stored rows are whole. */
  function end(reason: CoreError, now: CoreError = reason): void {
    if (ended !== undefined) return
    ended = reason
    wake()
    outputs.length = 0
    for (const effect of effects.values()) effect.abort()
    for (const call of calls.values()) call.reject(now)
    calls.clear()
    engine?.wipe()
  }

  function enter(name: string, ...args: readonly (number | string | Uint8Array)[]): void {
    if (engine === undefined || ended !== undefined) return
    try {
      engine.enter(name, args)
    } catch (error) {
      end(closed, internal(error))
      return
    }
    deliver()
  }

  /** After the entry: a listener or an effect may enter the core again. */
  function deliver(): void {
    for (const { kind, id, bytes } of outputs.splice(0)) {
      switch (kind) {
        case OutputKind.REPLY:
          take(id)?.resolve(bytes)
          break
        case OutputKind.REPLY_FAILURE:
          take(id)?.reject(new CoreError(fromBinary(ClientFailureSchema, bytes)))
          break
        case OutputKind.EVENT:
          options.onEvent?.(fromBinary(ClientEventSchema, bytes))
          break
        case OutputKind.EFFECT:
          void perform(id, bytes)
          break
        case OutputKind.CANCEL:
          effects.get(id)?.abort()
          effects.delete(id)
          break
        case OutputKind.WAKE_AT:
          wake()
          if (id > 0) wake = platform.after(Math.max(0, id - now()), () => enter("tick"))
          break
      }
    }
  }

  function take(id: number): PromiseWithResolvers<Uint8Array> | undefined {
    const call = calls.get(id)
    calls.delete(id)
    return call
  }

  const now = () => Number(platform.primitives[Primitive.NOW]?.() ?? 0)

  async function perform(id: number, bytes: Uint8Array): Promise<void> {
    const aborting = new AbortController()
    effects.set(id, aborting)
    const push = (piece: Omit<HttpPiece, "$typeName">) => {
      if (effects.has(id)) enter("push", id, toBinary(HttpPieceSchema, create(HttpPieceSchema, piece)))
    }
    let result: Result
    try {
      result = await platform.perform(fromBinary(EffectSchema, bytes).effect, { signal: aborting.signal, push })
    } catch {
      // The message may name a path or an address: the core gets the kind only.
      result = { case: "failure", value: create(EffectFailureSchema, { kind: EffectFailure_Kind.IO }) }
    }
    if (!effects.delete(id)) return
    enter("complete", id, toBinary(EffectResultSchema, create(EffectResultSchema, { result })))
  }

  const host = {
    call: ([operation, ...args]: readonly Value[]) => primitives[Number(operation)]?.(...args),
    nowNanoseconds: () => BigInt(Math.trunc(now())) * 1_000_000n,
    random(length: number) {
      const made = platform.primitives[Primitive.RANDOM]?.(length)
      return made instanceof Uint8Array ? made : new Uint8Array(length)
    },
  }

  const core: Core = {
    call(method, request) {
      if (ended !== undefined) return Promise.reject(ended)
      const call = Promise.withResolvers<Uint8Array>()
      const id = ++lastCall
      calls.set(id, call)
      enter("call", id, method, request)
      return call.promise
    },
    get memoryBytes() {
      return engine?.memoryBytes ?? 0
    },
    memory: () => engine?.memory() ?? new Uint8Array(),
    close: async () => end(closed),
  }
  const started = Promise.withResolvers<Uint8Array>()
  calls.set(0, started)
  try {
    engine = startEngine(module, host, memoryLimit)
    engine.evaluate(bytecode)
  } catch (error) {
    end(closed, internal(error))
  }
  enter("start", toBinary(HostInfoSchema, options.info), toBinary(IdentityOptionsSchema, options.identity))
  try {
    await started.promise
  } catch (error) {
    end(closed)
    throw error
  }
  return core
}
