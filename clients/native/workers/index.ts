// @signet/client-native/workers: the core in a Durable Object of Cloudflare Workers.
export { type CoreClient, clientOf } from "../wasm/client.ts"
export type { Core } from "../wasm/core.ts"
export { CoreError } from "../wasm/failure.ts"
export type { ObjectStorage } from "./object-storage.ts"
export { openWorkersCore, type WorkersCoreOptions } from "./open.ts"
