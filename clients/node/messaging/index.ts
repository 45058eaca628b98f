// @signet/client-node/messaging: the messenger in Node.
export * from "@signet/client/messaging"
export { createMessenger, type NodeMessengerOptions } from "./create-messenger.ts"
export { openFolderStore } from "./folder-store.ts"
export { openSqliteStore } from "./sqlite-store.ts"
