// For platforms that bring a crypto provider of their own. Inside: no package exports it.
export { createMessengerWith } from "./create-messenger.ts"
export type { Suite } from "./crypto/suite.ts"
