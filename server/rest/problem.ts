import type { ConnectError } from "@connectrpc/connect"
import { refusals } from "@signet/kernel/errors"
import { BadRequestSchema } from "@signet/proto/google/rpc/error_details"
import { errorInfo, reasonOf } from "../rpc/errors.ts"

/** RFC 9457, with the reason, domain and metadata of google.rpc.ErrorInfo. */
export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  /** The request's id, which the log has too. */
  instance: string
  reason: string
  domain: string
  metadata: Record<string, string>
  /** One entry a broken rule, by the field's proto path. */
  errors?: { field: string; detail: string }[]
}

/** An error as toldError gives it, as a problem; anything else is INTERNAL. */
export function problemOf(error: ConnectError, requestId: string): Problem {
  const reason = reasonOf(error) ?? "INTERNAL"
  const refusal = refusals[reason]
  const errors = error
    .findDetails(BadRequestSchema)
    .flatMap((details) => details.fieldViolations)
    .map(({ field, description }) => ({ field, detail: description }))
  return {
    type: `urn:signet:reason:${reason}`,
    title: refusal.message,
    status: refusal.status,
    detail: reason === "INTERNAL" ? refusal.message : error.rawMessage,
    instance: `urn:request:${requestId}`,
    reason,
    domain: "signet",
    metadata: { ...errorInfo(error)?.metadata },
    ...(errors.length > 0 ? { errors } : {}),
  }
}
