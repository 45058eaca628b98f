// Opens a core in a Node program: one per signed-in user, with the folder of the plain Node client's files.
import { createHash } from "node:crypto"
import { platform } from "node:os"
import { join } from "node:path"
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import type { SecretBox } from "@signet/client"
import type { MessagingStore } from "@signet/client/messaging"
import { createFileLock, createFileStorage } from "@signet/client-node"
import { IdentityOptionsSchema } from "@signet/proto/client/v1/identity_service"
import type { ClientEvent } from "@signet/proto/client/v1/messenger_service"
import { HostInfoSchema, Primitive } from "@signet/proto/host/v1/host"
import { type Core, type CoreOptions, openCore } from "../wasm/core.ts"
import { createBoxes } from "./boxes.ts"
import { nodeEffects } from "./effects.ts"
import { nodePrimitives } from "./primitives.ts"
import { createSigningRoots } from "./signing-roots.ts"

export interface NodeCoreOptions {
  /** quickjs.wasm and the core's bytecode, from one build. */
  readonly wasm: BufferSource
  readonly bytecode: Uint8Array
  readonly identity: MessageInitShape<typeof IdentityOptionsSchema>
  /** The folder of the sealed sign-in; all processes with the same folder share it. */
  readonly folder: string
  readonly box: SecretBox
  /** The messenger's rows. The caller closes it after the core. */
  readonly store: MessagingStore
  readonly onEvent?: (event: ClientEvent) => void
  /** Writes a line of the core's log, which has no secret. */
  readonly log?: (level: number, text: string) => void
  /** In bytes. */
  readonly memoryLimit?: number
}

const modules = new WeakMap<BufferSource, Promise<WebAssembly.Module>>()

/** Compiled once. */
function moduleOf(wasm: BufferSource): Promise<WebAssembly.Module> {
  const known = modules.get(wasm)
  if (known !== undefined) return known
  const made = WebAssembly.compile(wasm)
  modules.set(wasm, made)
  return made
}

/** What a core gets of a Node program. */
export interface NodePlatform extends Pick<CoreOptions, "platform" | "info" | "identity"> {
  /** Releases the lock and the keys of a core that has ended. */
  close(): void
}

export function nodePlatform(options: Omit<NodeCoreOptions, "wasm" | "bytecode">): NodePlatform {
  const { box, store, folder, log } = options
  const identity = create(IdentityOptionsSchema, options.identity)
  const place = createHash("sha256").update(`${identity.appId} ${identity.authBaseUrl}`).digest("base64url")
  const storage = createFileStorage(join(folder, "kept"))
  const roots = createSigningRoots(storage)
  const boxes = createBoxes(box, roots)
  const lock = createFileLock(join(folder, `lock-${place.slice(0, 16)}`))
  const effects = nodeEffects({ store, storage, boxes, lock })
  const { backend, version, hardware, deviceBound, persistent } = box.describe()
  return {
    platform: {
      primitives: nodePrimitives({ roots, log }),
      perform: effects.perform,
      after(ms, run) {
        // A longer timer would fire at once.
        const timer = setTimeout(run, Math.min(ms, 2 ** 31 - 1))
        timer.unref()
        return () => clearTimeout(timer)
      },
    },
    info: create(HostInfoSchema, {
      ...{ version: 1, platform: `node-${platform()}`, boxBackend: backend, boxVersion: version },
      ...{ boxHardware: hardware, boxDeviceBound: deviceBound, boxPersistent: persistent },
      storePersistent: store.durability !== "memory",
      deferred: [Primitive.BOX_SEAL, Primitive.BOX_OPEN, Primitive.ARGON2ID],
    }),
    identity,
    close: effects.close,
  }
}

/** @throws CoreError */
export async function openNodeCore(options: NodeCoreOptions): Promise<Core> {
  const { bytecode, onEvent, memoryLimit } = options
  const { close, ...platform } = nodePlatform(options)
  const core = await openCore({
    ...platform,
    ...{ module: await moduleOf(options.wasm), bytecode },
    ...(onEvent && { onEvent }),
    ...(memoryLimit !== undefined && { memoryLimit }),
  }).catch((error: unknown) => {
    close()
    throw error
  })
  return {
    ...{ call: core.call, memory: core.memory },
    get memoryBytes() {
      return core.memoryBytes
    },
    async close() {
      await core.close()
      close()
    },
  }
}
