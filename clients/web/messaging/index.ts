// @signet/client-web/messaging: the messenger in a browser.
export * from "../../core/messaging/public.ts"
export { createMessenger } from "./create-messenger.ts"
export { openIdbStore } from "./idb-store.ts"
export type { WebMessengerOptions } from "./options.ts"
