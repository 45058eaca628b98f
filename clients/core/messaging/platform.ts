// For platforms with a crypto provider of their own. Internal: no package exports it.
export { createMessengerWith } from "./create-messenger.ts"
export type { Suite } from "./crypto/suite.ts"
