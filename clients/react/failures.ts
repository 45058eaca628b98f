// What a failure means for a person, and what to do next: by its typed reason, never by its message.
import { Code, ConnectError } from "@connectrpc/connect"
import { type FailureReason, failureOf } from "@signet/client-web"
import { BadRequestSchema } from "@signet/proto/google/rpc/error_details"

export interface FailureText {
  readonly what: string
  readonly next: string
}

export interface Explained extends FailureText {
  /** The typed reason; `UNKNOWN` for an error without one. */
  readonly reason: FailureReason | "UNKNOWN"
  /** Fields that the service rejected, with the rule that each violates. */
  readonly fields: readonly { readonly field: string; readonly rule: string }[]
  /** The scope, status or other fact that the service named. */
  readonly facts: readonly string[]
  readonly retryAfterMs: number | undefined
}

/** Texts by reason. A reason without a text is explained by `other`. */
export type FailureTexts = Readonly<Partial<Record<FailureReason, FailureText>>> & { readonly other: FailureText }

export function explainFailure(error: unknown, texts: FailureTexts): Explained {
  const failure = failureOf(error)
  const reason = failure?.reason ?? reasonWithoutAnswer(error)
  const text = (reason && texts[reason]) ?? texts.other
  return {
    ...text,
    reason: reason ?? "UNKNOWN",
    fields: fieldsOf(error),
    facts: Object.entries(failure?.metadata ?? {})
      .filter(([, value]) => value !== "")
      .map(([name, value]) => `${name}: ${value}`),
    retryAfterMs: failure?.retryAfterMs,
  }
}

/** The reason of an error in which no service names one: the call was aborted, or nothing answered. */
function reasonWithoutAnswer(error: unknown): FailureReason | undefined {
  if (error instanceof DOMException && error.name === "AbortError") return "CANCELED"
  // A browser throws a TypeError for a fetch that got no answer.
  if (error instanceof TypeError) return "UNREACHABLE"
  if (!(error instanceof ConnectError)) return undefined
  if (error.cause instanceof TypeError) return "UNREACHABLE"
  return withoutAnswer[error.code]
}

const withoutAnswer: Readonly<Partial<Record<Code, FailureReason>>> = {
  [Code.Canceled]: "CANCELED",
  [Code.Unavailable]: "UNREACHABLE",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
}

/** The violations of google.rpc.BadRequest. */
function fieldsOf(error: unknown): Explained["fields"] {
  if (!(error instanceof ConnectError)) return []
  return error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) => fieldViolations)
    .map(({ field, description }) => ({ field, rule: description }))
}
