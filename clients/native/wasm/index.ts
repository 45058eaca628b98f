// @signet/client-native/wasm: the core in WebAssembly, with a platform of the caller.
export { type CoreClient, clientOf } from "./client.ts"
export { type Core, type CoreOptions, openCore } from "./core.ts"
export { type Engine, EngineError, type EngineHost, startEngine, type Value } from "./engine.ts"
export { CoreError } from "./failure.ts"
export type { Performing, Platform, Primitives } from "./platform.ts"
