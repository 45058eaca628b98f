// Converts an HTTP refusal to the error of the other protocols: RFC 9457, or RFC 6749 from the token endpoint.
import { base64Decode } from "@bufbuild/protobuf/wire"
import { Code, ConnectError } from "@connectrpc/connect"
import { BadRequestSchema, ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { isText, objectOf } from "./record.ts"

const codes: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  405: Code.Unimplemented,
  409: Code.Aborted,
  412: Code.FailedPrecondition,
  413: Code.ResourceExhausted,
  415: Code.InvalidArgument,
  429: Code.ResourceExhausted,
  499: Code.Canceled,
  500: Code.Internal,
  503: Code.Unavailable,
  504: Code.DeadlineExceeded,
}

/** Without a reason the answer is not the service's: only the status is known then. */
export function restFailure(response: Response, body: unknown): ConnectError {
  const { reason, domain = "signet", detail, error_description, metadata, errors, details } = objectOf(body)
  const code = codes[response.status] ?? (response.status < 500 ? Code.Unknown : Code.Unavailable)
  const message = [detail, error_description].find(isText) ?? `HTTP status ${response.status}`
  const error = new ConnectError(message, code, response.headers)
  if (!isText(reason) || !isText(domain)) return error
  const entries = Object.entries(objectOf(metadata)).map(([name, value]) => [name, String(value)])
  error.details.push({ desc: ErrorInfoSchema, value: { reason, domain, metadata: Object.fromEntries(entries) } })
  const fieldViolations = listOf(errors).map(({ field, detail: what }) => ({
    field: String(field),
    description: String(what),
  }))
  if (fieldViolations.length > 0) error.details.push({ desc: BadRequestSchema, value: { fieldViolations } })
  for (const { type, value } of listOf(details)) {
    if (isText(type) && isText(value)) error.details.push({ type, value: base64Decode(value) })
  }
  return error
}

const listOf = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.map(objectOf) : [])
