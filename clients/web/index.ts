// @signet/client-web: the identity client in a browser.
export * from "@signet/client"
export { createBroadcast } from "./broadcast.ts"
export { configure, type WebConfig, type WebSignet } from "./configure.ts"
export { createIdbStorage } from "./idb-storage.ts"
export type { HandledCallback, PageSignIn, PageSignInOptions } from "./page-sign-in.ts"
export { createWebSecretBox } from "./secret-box.ts"
export { createWebLock } from "./web-lock.ts"
export { grpcWeb } from "./wires.ts"
