// The host function in this process, for tests of the core's modules outside the engine.
import { nodePrimitives } from "../node/primitives.ts"
import { createSigningRoots } from "../node/signing-roots.ts"
import type { Value } from "../wasm/values.ts"
import { memoryStorage } from "./platform.ts"

const roots = createSigningRoots(memoryStorage())
/** The held box with a signing root. */
export const box = 1
await roots.load(
  box,
  { app: "app", device: "device" },
  {
    seal: async (_, plaintext) => plaintext,
    open: async (_, sealed) => sealed,
    release: () => undefined,
  },
)
const primitives = nodePrimitives({ roots })

/** The engine returns plain bytes, never a Buffer. */
const plain = (value: Value): Value => (value instanceof Uint8Array ? Uint8Array.from(value) : value)

Object.assign(globalThis, {
  host: (operation: number, ...args: readonly Value[]) => plain(primitives[operation]?.(...args)),
})
