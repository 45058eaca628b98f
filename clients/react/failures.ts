// What a failure means for a person, and what to do next: by its typed reason, never by its message.
import { ConnectError } from "@connectrpc/connect"
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
  const text = (failure && texts[failure.reason]) ?? texts.other
  return {
    ...text,
    reason: failure?.reason ?? "UNKNOWN",
    fields: fieldsOf(error),
    facts: Object.entries(failure?.metadata ?? {})
      .filter(([, value]) => value !== "")
      .map(([name, value]) => `${name}: ${value}`),
    retryAfterMs: failure?.retryAfterMs,
  }
}

/** The violations of google.rpc.BadRequest. */
function fieldsOf(error: unknown): Explained["fields"] {
  if (!(error instanceof ConnectError)) return []
  return error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) => fieldViolations)
    .map(({ field, description }) => ({ field, rule: description }))
}
