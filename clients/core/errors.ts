// One error type for the client's own failures, and functions that read the reason of any failed call.
import { Code, ConnectError } from "@connectrpc/connect"
import type { Reason as WireReason } from "@signet/proto/authz/v1/reason"
import { type ErrorInfo, ErrorInfoSchema, RetryInfoSchema } from "@signet/proto/google/rpc/error_details"

/** Reasons of services: see docs/reference/errors.md. */
export type ServiceReason = Exclude<keyof typeof WireReason, "UNSPECIFIED">

const clientReasons = [
  /** No user is signed in. */
  "NOT_SIGNED_IN",
  /** No answer, or not the service's: offline, a proxy, a captive portal. The session is unchanged. */
  "UNREACHABLE",
  /** Another process holds the lock for too long. */
  "LOCK_BUSY",
  /** The store could not be read or written. */
  "STORE_FAILED",
  /** The configuration does not have this sign-in method. */
  "PROVIDER_NOT_ENABLED",
  "CONFIGURATION_INVALID",
  /** A callback that this client did not begin, has accepted before, or that has expired. No sign-in happened. */
  "CALLBACK_INVALID",
  /** The callback is from another issuer than the requested one (RFC 9207). No sign-in happened. */
  "CALLBACK_ISSUER_MISMATCH",
  /** The provider rejected the sign-in; metadata `error` is its code, such as `access_denied`. */
  "PROVIDER_REFUSED",
  /** The return path is not a path of the app's own origin. */
  "RETURN_PATH_INVALID",
  /** The browser opened no window: call from a click. */
  "POPUP_BLOCKED",
  /** The service's answer violates the contract. */
  "ANSWER_INVALID",
  "CANCELED",
] as const

export type ClientReason = (typeof clientReasons)[number]
export type FailureReason = ServiceReason | ClientReason

/** Why a session ended: the service's reason, or one of these. */
export type LoggedOutReason =
  | ServiceReason
  /** No user was signed in when the client started. */
  | "NOT_SIGNED_IN"
  | "LOGGED_OUT"
  /** Another tab or process of this client has signed out. */
  | "LOGGED_OUT_ELSEWHERE"
  /** The stored sign-in does not open. It is kept until the next sign-in replaces it. */
  | "STORE_FAILED"

/** The facts of a failure, from any source. */
export interface Failure {
  readonly reason: FailureReason
  readonly code: Code
  /** Values of the request. */
  readonly metadata: Readonly<Record<string, string>>
  /** The wait that the service demands, in milliseconds. */
  readonly retryAfterMs: number | undefined
}

/** The client's own error. Never contains a token. */
export class SignetError extends Error implements Failure {
  override readonly name = "SignetError"
  readonly reason: FailureReason
  readonly code: Code
  readonly metadata: Readonly<Record<string, string>>
  readonly retryAfterMs: number | undefined

  constructor(reason: FailureReason, message: string, options: Partial<Failure> & { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.reason = reason
    this.code = options.code ?? codes[reason] ?? Code.Unknown
    this.metadata = options.metadata ?? {}
    this.retryAfterMs = options.retryAfterMs
  }
}

const codes: Partial<Record<FailureReason, Code>> = {
  NOT_SIGNED_IN: Code.Unauthenticated,
  UNREACHABLE: Code.Unavailable,
  LOCK_BUSY: Code.Unavailable,
  STORE_FAILED: Code.FailedPrecondition,
  PROVIDER_NOT_ENABLED: Code.FailedPrecondition,
  CONFIGURATION_INVALID: Code.FailedPrecondition,
  CALLBACK_INVALID: Code.Unauthenticated,
  CALLBACK_ISSUER_MISMATCH: Code.Unauthenticated,
  PROVIDER_REFUSED: Code.Unauthenticated,
  RETURN_PATH_INVALID: Code.InvalidArgument,
  POPUP_BLOCKED: Code.FailedPrecondition,
  ANSWER_INVALID: Code.Internal,
  CANCELED: Code.Canceled,
}

/** The failure in an error or its causes; undefined without one. */
export function failureOf(error: unknown): Failure | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (isSignetError(at)) return at
    const failure = at instanceof ConnectError ? refusalIn(at) : undefined
    if (failure !== undefined) return failure
  }
  return undefined
}

function refusalIn(error: ConnectError): Failure | undefined {
  const info = error.findDetails(ErrorInfoSchema).find(({ domain }) => domain === "signet")
  if (info === undefined || !isServiceReason(info)) return undefined
  const { reason, metadata } = info
  return { reason, code: error.code, metadata, retryAfterMs: retryAfterOf(error) }
}

// The list is open: a later service may send reasons that this client does not know.
const isServiceReason = (info: ErrorInfo): info is ErrorInfo & { reason: ServiceReason } =>
  /^[A-Z][A-Z0-9_]*$/.test(info.reason)

/** Retry-After or google.rpc.RetryInfo, in milliseconds. */
export function retryAfterOf(error: ConnectError): number | undefined {
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay
  if (delay !== undefined) return Number(delay.seconds) * 1_000 + Math.ceil(delay.nanos / 1_000_000)
  const text = error.metadata.get("retry-after")
  if (text === null || !/^\d{1,6}$/.test(text)) return undefined
  return Number(text) * 1_000
}

/** True if the call failed for one of these reasons or, without reasons, for any known one. */
export function isFailure(error: unknown, ...reasons: readonly FailureReason[]): boolean {
  const failure = failureOf(error)
  return failure !== undefined && (reasons.length === 0 || reasons.includes(failure.reason))
}

/** By name, because separately built packages have a class each. */
export const isSignetError = (error: unknown, ...reasons: readonly FailureReason[]): error is SignetError =>
  error instanceof Error &&
  error.name === "SignetError" &&
  "reason" in error &&
  (reasons.length === 0 || reasons.some((reason) => reason === error.reason))

/** True if a sign-in would help. */
export const needsSignIn = (error: unknown): boolean =>
  isFailure(error, "NOT_SIGNED_IN", "STEP_UP_REQUIRED") || isFailure(error, ...endingReasons)

/** Reasons for which another token of the same session helps. */
export const staleTokenReasons = [
  "TOKEN_EXPIRED",
  "TOKEN_REVOKED",
  "TOKEN_NOT_YET_VALID",
  "PERMISSIONS_STALE",
  "SIGNATURE_INVALID",
  "KEY_UNKNOWN",
] as const satisfies readonly FailureReason[]

/** The service's reasons for which a session cannot be refreshed. No other reason ends a session. */
export const endingReasons = [
  "REFRESH_TOKEN_INVALID",
  "REFRESH_TOKEN_REUSED",
  "SESSION_REVOKED",
  "SESSION_EXPIRED",
  "PRINCIPAL_INACTIVE",
  "IDENTITY_INACTIVE",
  "IDENTITY_DELETION_PENDING",
  "MEMBERSHIP_INACTIVE",
  "TENANT_SUSPENDED",
] as const satisfies readonly ServiceReason[]
