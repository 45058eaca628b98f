import { buildCore } from "../../../clients/native/build.ts"
import { openCore } from "../../../clients/native/wasm/core.ts"
import type { Core } from "./core.ts"
import { engineCore } from "./engine-core.ts"

/** Messengers in WebAssembly. Builds the core, unless it is built. */
export async function wasmCore(): Promise<Core> {
  const { wasm, bytecode } = await buildCore()
  const module = new WebAssembly.Module(wasm)
  return engineCore((options) => openCore({ module, bytecode, ...options }))
}
