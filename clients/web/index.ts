// @signet/client-web: the identity client in a browser.
export * from "@signet/client"
export { createBroadcast } from "./broadcast.ts"
export { configure, type WebConfig } from "./configure.ts"
export { createIdbShelf } from "./idb-shelf.ts"
export { createWebSecretBox } from "./secret-box.ts"
export { createWebLock } from "./web-lock.ts"
export { grpcWeb } from "./wires.ts"
