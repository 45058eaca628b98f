// Errors for people, scripts and programs: a sentence, an exit code, a problem (RFC 9457).
import { Code, ConnectError } from "@connectrpc/connect"
import { failureOf, isSecretBoxError, type SecretBoxError, type SecretBoxReason } from "@signet/client"
import { type GuardProblem, problemOf } from "@signet/guard/problem"
import { exitCodeOf } from "@signet/guard/tool"
import { type Reason, Refused, refusals } from "@signet/kernel/errors"
import { BadRequestSchema } from "@signet/proto/google/rpc/error_details"

/** The exit codes of all commands. */
export const exitCodes = {
  ok: 0,
  fault: 1,
  usage: 2,
  unauthenticated: 3,
  denied: 4,
  notFound: 5,
  conflict: 6,
  rateLimited: 7,
  unavailable: 10,
} as const

/** Ends a command with a sentence. */
export class CommandError extends Error {
  override readonly name = "CommandError"
  readonly reason: string
  readonly exitCode: number
  /** The remedy. */
  readonly hint: string | undefined

  constructor(reason: string, exitCode: number, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.reason = reason
    this.exitCode = exitCode
    this.hint = options.hint
  }
}

export const usage = (message: string, hint?: string): CommandError =>
  new CommandError("USAGE", exitCodes.usage, message, hint === undefined ? {} : { hint })

export interface ErrorReport {
  readonly exitCode: number
  readonly sentence: string
  readonly hint: string | undefined
  readonly problem: Omit<GuardProblem, "reason" | "status"> & {
    readonly reason: string
    readonly status?: number
    readonly errors?: readonly Violation[]
  }
}

/** A field of the request, by its path in the contract, and the broken rule. */
interface Violation {
  readonly field: string
  readonly detail: string
}

/** The fields that the service refuses, each with its rule. */
function violationsOf(error: unknown): readonly Violation[] {
  if (!(error instanceof ConnectError)) return []
  return error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) => fieldViolations.map(({ field, description }) => ({ field, detail: description })))
}

/** The printed form of an error. An unexpected fault prints its message, never its stack. */
export function reportOf(error: unknown): ErrorReport {
  if (error instanceof CommandError) return newReport(error.reason, error.exitCode, error.message, error.hint)
  const box = boxErrorIn(error)
  if (box !== undefined) return newReport(box.reason, boxExitCode(box.reason), box.message, boxHints[box.reason])
  const refused = error instanceof Refused ? error : refusedOf(error)
  if (refused !== undefined) {
    const errors = violationsOf(error)
    const rules = errors.map(({ field, detail }) => `  ${field}: ${detail}`)
    return {
      exitCode: exitCodeOf(refused),
      sentence: [`${refused.message} (${refused.reason})`, ...rules].join("\n"),
      hint: hintOf(refused.reason, refused.metadata),
      problem: { ...problemOf(refused), ...(errors.length > 0 && { errors }) },
    }
  }
  const failure = failureOf(error)
  if (failure !== undefined) {
    const message = error instanceof Error ? error.message : failure.reason
    const exitCode = failure.reason === "STORE_FAILED" ? exitCodes.unauthenticated : codeExit(failure.code)
    return newReport(failure.reason, exitCode, message, clientHints[failure.reason])
  }
  if (error instanceof ConnectError) {
    const reason = unreachable(error)
    return newReport(reason, codeExit(error.code), error.rawMessage, clientHints[reason])
  }
  return newReport(
    "FAULT",
    exitCodes.fault,
    error instanceof Error && error.message !== "" ? error.message : "it failed",
    undefined,
  )
}

/** The store's error in the chain of causes. */
function boxErrorIn(error: unknown): SecretBoxError | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (isSecretBoxError(at)) return at
  }
  return undefined
}

/** A service's refusal as the guard's type; undefined without one. */
export function refusedOf(error: unknown): Refused | undefined {
  const failure = failureOf(error)
  if (failure === undefined || !isReason(failure.reason)) return undefined
  const message = error instanceof ConnectError && error.rawMessage !== "" ? { message: error.rawMessage } : {}
  return new Refused(failure.reason, { ...message, metadata: { ...failure.metadata }, cause: error })
}

/** The remedy for a refusal. */
export function hintOf(reason: string, metadata: Readonly<Record<string, string>> = {}): string | undefined {
  const { scope } = metadata
  if (reason === "MISSING_SCOPE" && scope) return `The call requires the scope ${scope}. See your scopes: signet whoami`
  return serviceHints[reason] ?? clientHints[reason]
}

const isReason = (reason: string): reason is Reason => Object.hasOwn(refusals, reason)

function newReport(reason: string, exitCode: number, message: string, hint: string | undefined): ErrorReport {
  const problem = {
    type: `urn:signet:reason:${reason}`,
    title: message,
    detail: message,
    reason,
    domain: "signet",
    metadata: {},
  } as const
  return { exitCode, sentence: reason === "USAGE" ? message : `${message} (${reason})`, hint, problem }
}

const unreachable = ({ code }: ConnectError): string =>
  code === Code.Unavailable ? "UNREACHABLE" : Code[code].toUpperCase()

function codeExit(code: Code): number {
  switch (code) {
    case Code.Unauthenticated:
      return exitCodes.unauthenticated
    case Code.PermissionDenied:
      return exitCodes.denied
    case Code.NotFound:
      return exitCodes.notFound
    case Code.AlreadyExists:
    case Code.Aborted:
      return exitCodes.conflict
    case Code.ResourceExhausted:
      return exitCodes.rateLimited
    case Code.Unavailable:
    case Code.DeadlineExceeded:
    case Code.Canceled:
      return exitCodes.unavailable
    case Code.InvalidArgument:
    case Code.FailedPrecondition:
    case Code.OutOfRange:
      return exitCodes.usage
    default:
      return exitCodes.fault
  }
}

const boxExitCode = (reason: SecretBoxReason): number =>
  reason === "SECURE_STORE_UNAVAILABLE" || reason === "LOCKED" ? exitCodes.unavailable : exitCodes.unauthenticated

const boxHints: Partial<Record<SecretBoxReason, string>> = {
  SECURE_STORE_UNAVAILABLE:
    "Without a desktop's keyring, seal under a passphrase: signet login --store passphrase (or SIGNET_STORE=passphrase)",
  LOCKED: "Unlock your desktop's keyring and try again.",
  SECURE_STORE_CHANGED: "Sign in again: signet login",
  WRONG_USER: "Sign in again: signet login",
  KEY_MISSING: "Sign in again: signet login",
  STATE_TAMPERED: "Sign in again: signet login",
  WRONG_PASSPHRASE: "Try again with the passphrase that you chose at signet login --store passphrase.",
}

const clientHints: Readonly<Record<string, string | undefined>> = {
  NOT_SIGNED_IN: "Sign in: signet login",
  STORE_FAILED: "The stored credentials cannot be opened. Sign in again: signet login",
  UNREACHABLE: "Is the server running, and is it the right one? signet profile list",
}

const serviceHints: Readonly<Record<string, string | undefined>> = {
  NO_CREDENTIAL: "Sign in: signet login",
  PAT_INVALID: "The personal access token is expired or revoked. Sign in with another: signet login --pat",
  STEP_UP_REQUIRED: "This requires a recent sign-in: signet login",
  SESSION_REVOKED: "Sign in again: signet login",
  SESSION_EXPIRED: "Sign in again: signet login",
  REFRESH_TOKEN_INVALID: "Sign in again: signet login",
  REFRESH_TOKEN_REUSED: "Sign in again: signet login",
  RESOURCE_UNRESOLVED: "It does not exist, or is outside your scope: signet whoami",
  MISSING_SCOPE: "See your scopes: signet whoami",
  PRINCIPAL_KIND_NOT_ALLOWED: "This requires a user session, not a personal access token: signet login",
}
