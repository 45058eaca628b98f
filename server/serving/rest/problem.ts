import { create, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf"
import { base64Encode } from "@bufbuild/protobuf/wire"
import type { ConnectError } from "@connectrpc/connect"
import { refusals } from "@signet/kernel/errors"
import { BadRequestSchema } from "@signet/proto/google/rpc/error_details"
import { errorInfo, reasonOf } from "../errors.ts"

/** RFC 9457, with the reason, domain and metadata of google.rpc.ErrorInfo. */
export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  /** The request's id, which is also in the log. */
  instance: string
  reason: string
  domain: string
  metadata: Record<string, string>
  /** One entry per broken rule, by the field's proto path. */
  errors?: { field: string; detail: string }[]
  /** Details for clients to act on, in the form of Connect's errors: binary in base64 without padding, and as JSON. */
  details?: { type: string; value: string; debug: JsonValue }[]
}

/** Converts an error of `toConnectError` to a problem; any other error is INTERNAL. */
export function problemOf(error: ConnectError, requestId: string): Problem {
  const reason = reasonOf(error) ?? "INTERNAL"
  const refusal = refusals[reason]
  const errors = error
    .findDetails(BadRequestSchema)
    .flatMap((details) => details.fieldViolations)
    .map(({ field, description }) => ({ field, detail: description }))
  const details = detailsIn(error)
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
    ...(details.length > 0 ? { details } : {}),
  }
}

/** True for details that other members of the problem contain: those of google.rpc and of authorization. */
const isRedundant = (type: string): boolean => /^(google\.rpc|signet\.authz)\./.test(type)

const detailsIn = ({ details }: ConnectError) =>
  details.flatMap((detail) => {
    if (!("desc" in detail) || isRedundant(detail.desc.typeName)) return []
    const message = create(detail.desc, detail.value)
    const value = base64Encode(toBinary(detail.desc, message), "std_raw")
    return [{ type: detail.desc.typeName, value, debug: toJson(detail.desc, message) }]
  })
