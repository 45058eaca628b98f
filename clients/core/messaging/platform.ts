// @signet/client/messaging/platform: for packages that bring a crypto provider of their own.
export { createMessengerWith } from "./create-messenger.ts"
export type { Suite } from "./crypto/suite.ts"
