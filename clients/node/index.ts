// @signet/client-node: the identity client in Node.
export * from "@signet/client"
export { configure, type NodeConfig } from "./configure.ts"
export { createFileLock, type FileLockOptions } from "./file-lock.ts"
export { createFileStorage } from "./file-storage.ts"
export type { DpapiOptions } from "./secret-box/dpapi.ts"
export { type OsSecretBoxOptions, openOsSecretBox } from "./secret-box/os-store.ts"
export { createPassphraseBox, type KeyHolder, type PassphraseBoxOptions } from "./secret-box/passphrase.ts"
export { grpc, grpcWeb } from "./wires.ts"
