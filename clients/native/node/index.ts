// @signet/client-native: the core in WebAssembly, in a Node program.

export { type CoreClient, clientOf } from "../wasm/client.ts"
export type { Core } from "../wasm/core.ts"
export { CoreError } from "../wasm/failure.ts"
export { type NodeCoreOptions, type NodePlatform, nodePlatform, openNodeCore } from "./open.ts"
