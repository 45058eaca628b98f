// @signet/client: the platform-independent part of the identity client.
export type {
  BeginSignIn,
  Callback,
  EmailSignIn,
  EnabledProvider,
  Platform,
  ProviderSignIn,
  RefreshTokenPlace,
  SignedIn,
  Signet,
  SignetConfig,
  SignInOption,
  SignInOptions,
} from "./client.ts"
export { connect } from "./connect-wire.ts"
export { createSignet } from "./create-signet.ts"
export {
  type ClientReason,
  type Failure,
  type FailureReason,
  failureOf,
  isFailure,
  isSignetError,
  type LoggedOutReason,
  needsSignIn,
  type ServiceReason,
  SignetError,
} from "./errors.ts"
export type { ByteStorage, Channel, Clock, Lock, Random, StoredBytes, Wire } from "./ports.ts"
export { rest } from "./rest.ts"
export * from "./secret-box.ts"
export type { Session, SessionState, SignedInUser, TransportOptions } from "./session.ts"
