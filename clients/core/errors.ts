// One error type for what the client does itself, and one way to read whatever a call was refused with.
import { Code, ConnectError } from "@connectrpc/connect"
import type { Reason as WireReason } from "@signet/proto/authz/v1/reason"
import { type ErrorInfo, ErrorInfoSchema, RetryInfoSchema } from "@signet/proto/google/rpc/error_details"

/** Why a service refused: docs/reference/errors.md has each. */
export type ServiceReason = Exclude<keyof typeof WireReason, "UNSPECIFIED">

export const clientReasons = [
  /** Nobody is signed in. */
  "NOT_SIGNED_IN",
  /** No answer, or none that is the service's: offline, a proxy, a captive portal. The session stands. */
  "UNREACHABLE",
  /** Something else holds the lock for too long. */
  "LOCK_BUSY",
  /** What was kept could not be read or written. */
  "STORE_FAILED",
  /** The configuration names no such way of signing in. */
  "PROVIDER_NOT_ENABLED",
  "CONFIGURATION_INVALID",
  /** A provider's answer that this client did not ask for, had before, or that came too late: nobody was signed in. */
  "CALLBACK_INVALID",
  /** The answer is another issuer's than the one that was asked (RFC 9207): nobody was signed in. */
  "CALLBACK_ISSUER_MISMATCH",
  /** The provider did not sign the person in; metadata `error` is its code, such as `access_denied`. */
  "PROVIDER_REFUSED",
  /** The address to go on at is no path of the app's own origin. */
  "RETURN_PATH_INVALID",
  /** The browser opened no window: call from a click. */
  "POPUP_BLOCKED",
  /** The service answered what the contract does not say. */
  "ANSWER_INVALID",
  "CANCELED",
] as const

export type ClientReason = (typeof clientReasons)[number]
export type FailureReason = ServiceReason | ClientReason

/** Why a session ended: what the service said, or one of these. */
export type LoggedOutReason =
  | ServiceReason
  /** Nobody was signed in when the client started. */
  | "NOT_SIGNED_IN"
  | "LOGGED_OUT"
  /** Another tab or process of this client has logged out. */
  | "LOGGED_OUT_ELSEWHERE"
  /** What was kept does not open. It is still there: signing in replaces it. */
  | "STORE_FAILED"

/** What is known of a failure, wherever it came from. */
export interface Failure {
  readonly reason: FailureReason
  readonly code: Code
  /** Names and numbers of the request. */
  readonly metadata: Readonly<Record<string, string>>
  /** How long the service asks to wait. */
  readonly retryAfterMs: number | undefined
}

/** Thrown by what the client does itself. Never holds a token. */
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

/** The failure that an error is or was caused by; undefined when nothing of ours refused. */
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

// The list is open: a later service has reasons that this client does not know by name.
const isServiceReason = (info: ErrorInfo): info is ErrorInfo & { reason: ServiceReason } =>
  /^[A-Z][A-Z0-9_]*$/.test(info.reason)

/** What Retry-After or google.rpc.RetryInfo say, in milliseconds. */
export function retryAfterOf(error: ConnectError): number | undefined {
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay
  if (delay !== undefined) return Number(delay.seconds) * 1_000 + Math.ceil(delay.nanos / 1_000_000)
  const text = error.metadata.get("retry-after")
  if (text === null || !/^\d{1,6}$/.test(text)) return undefined
  return Number(text) * 1_000
}

/** Whether a call failed for one of these reasons, or, with none named, for any that is known. */
export function isFailure(error: unknown, ...reasons: readonly FailureReason[]): boolean {
  const failure = failureOf(error)
  return failure !== undefined && (reasons.length === 0 || reasons.includes(failure.reason))
}

/** By name, because packages that were built apart have a class each. */
export const isSignetError = (error: unknown, ...reasons: readonly FailureReason[]): error is SignetError =>
  error instanceof Error &&
  error.name === "SignetError" &&
  "reason" in error &&
  (reasons.length === 0 || reasons.some((reason) => reason === error.reason))

/** Whether it would help to sign in, or to sign in again. */
export const needsSignIn = (error: unknown): boolean =>
  isFailure(error, "NOT_SIGNED_IN", "STEP_UP_REQUIRED") || isFailure(error, ...endingReasons)

/** The service's word that this session will not be refreshed again. Nothing else ends a session. */
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
