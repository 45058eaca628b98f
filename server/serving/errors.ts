// Turns thrown values into the errors that callers get: refusals with all their details, faults as INTERNAL without
// any.
import type { MessageInitShape } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { connectErrorOf } from "@signet/guard/errors"
import { type Reason, Refused, refusals } from "@signet/kernel/errors"
import {
  type BadRequest_FieldViolationSchema,
  BadRequestSchema,
  type ErrorInfo,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "@signet/proto/google/rpc/error_details"
import { detailsOf } from "./call/detailed.ts"

type FieldViolation = MessageInitShape<typeof BadRequest_FieldViolationSchema>

/** The reasons for Connect's own refusals, by code. Its other errors are faults of the service. */
const reasonOfCode: Partial<Record<Code, Reason>> = {
  [Code.Canceled]: "CANCELED",
  [Code.Aborted]: "CANCELED",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.Unimplemented]: "METHOD_UNKNOWN",
  [Code.Unavailable]: "UNAVAILABLE",
}

/**
 * A refusal as an error: the guard's error with the refusal's details, with google.rpc.BadRequest where it names a
 * field, and with RetryInfo where it has `retry_after` (seconds).
 */
export function refusalError(refused: Refused, violations: readonly FieldViolation[] = fieldOf(refused)): ConnectError {
  const error = connectErrorOf(refused)
  error.details.push(...detailsOf(refused))
  if (violations.length > 0) {
    error.details.push({ desc: BadRequestSchema, value: { fieldViolations: [...violations] } })
  }
  const seconds = Number(refused.metadata.retry_after ?? Number.NaN)
  if (Number.isFinite(seconds)) {
    error.metadata.set("retry-after", String(Math.ceil(seconds)))
    error.details.push({ desc: RetryInfoSchema, value: { retryDelay: { seconds: BigInt(Math.ceil(seconds)) } } })
  }
  return error
}

const fieldOf = ({ metadata, message }: Refused): FieldViolation[] =>
  metadata.field === undefined ? [] : [{ field: metadata.field, description: message }]

/**
 * Converts any thrown value into the caller's error.
 *
 * @param onFault Called with a value that is no refusal; the caller gets a bare INTERNAL.
 */
export function toConnectError(thrown: unknown, onFault: (fault: unknown) => void): ConnectError {
  if (thrown instanceof Refused) {
    const isFault = thrown.reason === "INTERNAL" || (thrown.reason === "UNAVAILABLE" && thrown.cause !== undefined)
    if (isFault) onFault(thrown.cause ?? thrown)
    return refusalError(thrown)
  }
  if (thrown instanceof ConnectError) {
    if (errorInfo(thrown) !== undefined) return thrown
    const reason = reasonOfCode[thrown.code]
    if (reason !== undefined) return refusalError(new Refused(reason, { cause: thrown }))
  }
  onFault(thrown)
  return refusalError(new Refused("INTERNAL"))
}

/** The ErrorInfo of an error of this service, or undefined. */
export function errorInfo(error: ConnectError): ErrorInfo | undefined {
  return error.findDetails(ErrorInfoSchema).find((info) => info.domain === "signet")
}

/** The reason of an error of this service. */
export function reasonOf(error: ConnectError): Reason | undefined {
  const reason = errorInfo(error)?.reason
  return reason !== undefined && isReason(reason) ? reason : undefined
}

const isReason = (text: string): text is Reason => Object.hasOwn(refusals, text)
