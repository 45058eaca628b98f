// Maps the errors of canonical and framing to the contract's reasons, with their code in the metadata.
import { CanonicalError } from "@signet/canonical/errors"
import { type Reason, Refused } from "@signet/kernel/errors"
import { LimitExceededSchema } from "@signet/proto/messaging/v1/conflict"
import { FramingRefused } from "../../framing/refusal.ts"
import { detail, detailed } from "../../serving/call/detailed.ts"

/** Runs a check of canonical bytes; its errors are refused with the given reason. */
export function refusingAs<T>(reason: Reason, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (error instanceof CanonicalError) throw refusedFor(reason, error.code, error)
    throw error
  }
}

export const refusedFor = (reason: Reason, code: string, cause?: unknown): Refused =>
  new Refused(reason, { metadata: { code }, ...(cause === undefined ? {} : { cause }) })

/** @param limit The name of a field of Limits in the contract. */
export const limitExceeded = (limit: string, max: number): Refused =>
  detailed(new Refused("LIMIT_EXCEEDED"), detail(LimitExceededSchema, { limit, max: BigInt(max) }))

/** Runs a parser of MLS messages; its errors are refused with the reason of the same name, or the nearest one. */
export function readingMls<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    if (error instanceof FramingRefused) throw refusedFor(reasonOf[error.code], error.code, error)
    throw error
  }
}

const reasonOf: Record<FramingRefused["code"], Reason> = {
  MLS_MALFORMED: "MLS_MALFORMED",
  MLS_NON_CANONICAL: "MLS_NON_CANONICAL",
  MLS_WRONG_WIRE_FORMAT: "MLS_WRONG_WIRE_FORMAT",
  MLS_UNSUPPORTED: "MLS_MALFORMED",
  MLS_TOO_LARGE: "LIMIT_EXCEEDED",
}
