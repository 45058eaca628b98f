// @signet/client-native/wasm: the core in WebAssembly, with a platform of the caller.
export { type CoreClient, clientOf } from "./client.ts"
export {
  type Core,
  CoreError,
  type CoreOptions,
  openCore,
  type Performing,
  type Platform,
  type Primitives,
} from "./core.ts"
export { type Engine, EngineError, type EngineHost, startEngine, type Value } from "./engine.ts"
