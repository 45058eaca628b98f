import { openEngine, uncheckedEngine } from "../../../core/messaging/mls.ts"

/** The engine's self-test takes 130 ms in an interpreter, and proves the same for every messenger and peek of this core. */
export function createEngineOnce(): typeof openEngine {
  let isProven = false
  return async (options) => {
    if (isProven) return uncheckedEngine(options)
    const engine = await openEngine(options)
    isProven = true
    return engine
  }
}
