import { join } from "node:path"
import { openCoreIn } from "../../../clients/native/wasm/core.ts"
import { buildNative } from "../../support/native/library.ts"
import type { Core } from "./core.ts"
import { engineCore } from "./engine-core.ts"
import { startLibrary } from "./library-engine.ts"

/** Messengers in libsignet, each in a process. Builds the library, unless it is built. */
export async function nativeCore(): Promise<Core> {
  const { folder } = await buildNative()
  return engineCore((options) => openCoreIn((host) => startLibrary(join(folder, "driver"), host), options))
}
