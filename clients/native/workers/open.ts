// Opens a core in a Durable Object. Primitives and effects are those of Node, which workerd has under `nodejs_compat`.
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { IdentityOptionsSchema } from "@signet/proto/client/v1/identity_service"
import type { ClientEvent } from "@signet/proto/client/v1/messenger_service"
import { EffectResultSchema, HostInfoSchema, Primitive, type PrimitiveCall } from "@signet/proto/host/v1/host"
import type { Suite } from "../../core/messaging/crypto/suite.ts"
import { makeWebSuite } from "../../core/messaging/crypto/web-suite.ts"
import { createBoxes } from "../node/boxes.ts"
import { nodeEffects } from "../node/effects.ts"
import { nodePrimitives } from "../node/primitives.ts"
import { createSigningRoots } from "../node/signing-roots.ts"
import { type Core, openCore } from "../wasm/core.ts"
import { createObjectBytes } from "./object-bytes.ts"
import { createObjectLock } from "./object-lock.ts"
import type { ObjectStorage } from "./object-storage.ts"
import { openObjectStore } from "./object-store.ts"
import { createWorkerSecretBox } from "./secret-box.ts"

export interface WorkersCoreOptions {
  /** quickjs.wasm and the core's bytecode, from one build. A Worker imports both: it may not compile bytes. */
  readonly module: WebAssembly.Module
  readonly bytecode: ArrayBuffer | Uint8Array
  readonly identity: MessageInitShape<typeof IdentityOptionsSchema>
  /** The object's own storage: one object has one user. */
  readonly storage: ObjectStorage
  /** 32 random bytes from a Worker's secret: they seal every stored row. */
  readonly secretKey: Uint8Array
  readonly onEvent?: (event: ClientEvent) => void
  /** Writes a line of the core's log, which has no secret. */
  readonly log?: (level: number, text: string) => void
  /** In bytes. Default: 64 MiB, half of what an isolate has. */
  readonly memoryLimit?: number
}

const defaultMemoryLimit = 64 * 1024 * 1024

/** @throws CoreError, SecretBoxError, MessagingError */
export async function openWorkersCore(options: WorkersCoreOptions): Promise<Core> {
  const { module, bytecode, identity, storage, secretKey, onEvent, log, memoryLimit = defaultMemoryLimit } = options
  const lock = createObjectLock()
  const bytes = createObjectBytes(storage)
  const box = createWorkerSecretBox({ key: secretKey, storage: bytes, lock: createObjectLock() })
  const roots = createSigningRoots(bytes)
  const effects = nodeEffects({ store: openObjectStore(storage), storage: bytes, boxes: createBoxes(box, roots), lock })
  const suite = await makeWebSuite()
  const { backend, version, hardware, deviceBound, persistent } = box.describe()

  const perform: typeof effects.perform = async (effect, performing) => {
    const value = effect.case === "primitive" ? await computed(suite, effect.value) : undefined
    if (value === undefined) return effects.perform(effect, performing)
    return create(EffectResultSchema, { result: { case: "primitive", value } }).result
  }

  const core = await openCore({
    ...{ module, bytecode: new Uint8Array(bytecode), memoryLimit },
    platform: {
      primitives: nodePrimitives({ roots, log }),
      perform,
      after(ms, run) {
        // A longer timer would fire at once.
        const timer = setTimeout(run, Math.min(ms, 2 ** 31 - 1))
        return () => clearTimeout(timer)
      },
    },
    info: create(HostInfoSchema, {
      ...{ version: 1, platform: "workers", boxBackend: backend, boxVersion: version },
      ...{ boxHardware: hardware, boxDeviceBound: deviceBound, boxPersistent: persistent },
      storePersistent: true,
      deferred: [Primitive.BOX_SEAL, Primitive.BOX_OPEN, Primitive.ARGON2ID, ...computedHere],
    }),
    identity: create(IdentityOptionsSchema, identity),
    ...(onEvent && { onEvent }),
  }).catch((error: unknown) => {
    effects.close()
    throw error
  })
  return {
    ...{ call: core.call, memory: core.memory },
    get memoryBytes() {
      return core.memoryBytes
    },
    async close() {
      await core.close()
      effects.close()
    },
  }
}

/** Computed by WebCrypto: workerd's node:crypto refuses an empty plaintext, and every agreement. */
const computedHere = [Primitive.AES_GCM_SEAL, Primitive.AES_GCM_OPEN, Primitive.X25519] as const

/** @returns An answer without bytes refuses; undefined for another primitive. */
async function computed(
  { seal, open, dh }: Suite,
  { primitive, bytes: [a = nothing, b = nothing, c = nothing, d = nothing] }: PrimitiveCall,
): Promise<{ bytes?: Uint8Array<ArrayBuffer> } | undefined> {
  const work = {
    [Primitive.AES_GCM_SEAL]: () => seal(a, b, c, d),
    [Primitive.AES_GCM_OPEN]: () => open(a, b, c, d),
    [Primitive.X25519]: () => dh(a, b),
  }
  const own = computedHere.find((one) => one === primitive)
  if (own === undefined) return undefined
  try {
    return { bytes: new Uint8Array(await work[own]()) }
  } catch {
    return {}
  }
}

const nothing = new Uint8Array()
