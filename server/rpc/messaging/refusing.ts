// Maps the errors of the canonical and framing modules to reasons of the API. Metadata `code` names the exact rule.
import { CanonicalError } from "@signet/canonical/errors"
import { type Reason, Refused } from "@signet/kernel/errors"
import { LimitExceededSchema } from "@signet/proto/messaging/v1/conflict"
import { FramingOversized, FramingRefused } from "../../framing/refusal.ts"
import { detail, detailed } from "../../serving/call/detailed.ts"

/** Runs a check of canonical bytes. @throws Refused with `reason` in place of a CanonicalError. */
export function rethrowAs<T>(reason: Reason, check: () => T): T {
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

/**
 * Runs a parser of MLS bytes.
 *
 * @param limit The field of Limits that bounds the bytes, and its value.
 * @throws Refused LIMIT_EXCEEDED for more bytes than the limit. MLS_* for everything else, which includes too many
 * elements; metadata has the code and the field.
 */
export function readMls<T>([limit, max]: readonly [limit: string, max: number], parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    if (error instanceof FramingOversized) throw limitExceeded(limit, max)
    if (!(error instanceof FramingRefused)) throw error
    const { code, what } = error
    throw new Refused(reasonOf[code], { metadata: { code, field: what }, cause: error })
  }
}

const reasonOf: Record<FramingRefused["code"], Reason> = {
  MLS_MALFORMED: "MLS_MALFORMED",
  MLS_NON_CANONICAL: "MLS_NON_CANONICAL",
  MLS_WRONG_WIRE_FORMAT: "MLS_WRONG_WIRE_FORMAT",
  MLS_UNSUPPORTED: "MLS_MALFORMED",
  MLS_TOO_LARGE: "MLS_MALFORMED",
}
