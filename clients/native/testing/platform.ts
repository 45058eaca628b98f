// A platform in memory, for tests of the core and its host: Node's primitives, and effects that a test answers.
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import type { ByteStorage } from "@signet/client"
import { IdentityOptionsSchema } from "@signet/proto/client/v1/identity_service"
import { type Effect, type EffectResult, EffectResultSchema, HostInfoSchema } from "@signet/proto/host/v1/host"
import { buildCore } from "../build.ts"
import { nodePrimitives } from "../node/primitives.ts"
import { createSigningRoots, type SigningRoots } from "../node/signing-roots.ts"
import { type Core, type CoreOptions, openCore } from "../wasm/core.ts"
import type { Platform } from "../wasm/platform.ts"

type Answer = NonNullable<MessageInitShape<typeof EffectResultSchema>["result"]>

export const result = (answer: Answer): EffectResult["result"] => create(EffectResultSchema, { result: answer }).result

/** Bytes by name, without a file. */
export function memoryStorage(): ByteStorage {
  const all = new Map<string, { readonly revision: string; readonly bytes: Uint8Array }>()
  let last = 0
  return {
    read: async (name) => all.get(name),
    async write(name, bytes, expected) {
      if (expected !== "any" && all.get(name)?.revision !== expected) return undefined
      const revision = String(++last)
      all.set(name, { revision, bytes: bytes.slice() })
      return revision
    },
    async remove(name, expected) {
      const found = all.get(name)
      if (found !== undefined && expected !== "any" && found.revision !== expected) return false
      all.delete(name)
      return true
    },
  }
}

/** Answers as an empty store and an empty storage do. */
export async function emptyEffects(effect: Effect["effect"]): Promise<EffectResult["result"]> {
  switch (effect.case) {
    case "storageRead":
      return result({ case: "storageRead", value: {} })
    case "boxHold":
      return result({ case: "boxHold", value: { box: 1 } })
    case "http":
      return result({ case: "failure", value: { kind: 1 } })
    default:
      return result({ case: "done", value: {} })
  }
}

export interface Changes extends Partial<Omit<CoreOptions, "platform">> {
  readonly platform?: Partial<Platform>
}

const built = buildCore()
const module = built.then(({ wasm }) => WebAssembly.compile(wasm))

export async function startCore({ platform, ...change }: Changes = {}): Promise<Core> {
  const { bytecode } = await built
  const roots: SigningRoots = createSigningRoots(memoryStorage())
  return openCore({
    module: await module,
    bytecode,
    info: create(HostInfoSchema, { version: 1, platform: "test", boxBackend: "test", boxVersion: 1 }),
    identity: create(IdentityOptionsSchema, {
      appId: "app_01kdvdna00edmtevk5ehj6axhg",
      authBaseUrl: "https://auth.example.test",
      providers: ["IDP_A"],
    }),
    ...change,
    platform: {
      primitives: nodePrimitives({ roots }),
      perform: emptyEffects,
      after(ms, run) {
        const timer = setTimeout(run, ms)
        return () => clearTimeout(timer)
      },
      ...platform,
    },
  })
}
