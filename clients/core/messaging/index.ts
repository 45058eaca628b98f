// @signet/client/messaging: the messenger without a platform.
export { createMessenger } from "./portable.ts"
export * from "./public.ts"
