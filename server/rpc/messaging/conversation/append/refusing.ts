// Maps the errors of framing and canonical to the contract's reasons. Metadata `code` names the exact rule.
import { type CanonicalCode, CanonicalError } from "@signet/canonical/errors"
import { type Reason, Refused } from "@signet/kernel/errors"
import { limitExceeded, readingMls, refusedFor } from "../../refusing.ts"

/**
 * Runs a parser of MLS bytes.
 *
 * @param limit The field of Limits that bounds the bytes, and its value.
 * @throws Refused MLS_*, LIMIT_EXCEEDED
 */
export function reading<T>([limit, most]: readonly [limit: string, most: number], read: () => T): T {
  try {
    return readingMls(read)
  } catch (error) {
    const isTooLarge = error instanceof Refused && error.reason === "LIMIT_EXCEEDED"
    throw isTooLarge ? limitExceeded(limit, most) : error
  }
}

const stale: ReadonlySet<CanonicalCode> = new Set<CanonicalCode>(["PROOF_STALE", "PROOF_FORK", "PROOF_EXPIRED"])

function reasonOf(code: CanonicalCode): Reason {
  if (code === "GHOST_MEMBER") return "GHOST_MEMBER"
  if (stale.has(code)) return "PROOF_STALE"
  if (code.startsWith("PROOF_")) return "PROOF_REFUSED"
  if (code.startsWith("CRED_")) return "CREDENTIAL_REFUSED"
  if (code.startsWith("TICKET_")) return "KEY_PACKAGE_NOT_CLAIMED"
  if (code.startsWith("BINDING_")) return "GROUP_INFO_MISMATCH"
  return "ENVELOPE_INVALID"
}

/** Runs a check of canonical bytes. @throws Refused */
export function judging<T>(judge: () => T): T {
  try {
    return judge()
  } catch (error) {
    if (!(error instanceof CanonicalError)) throw error
    throw refusedFor(reasonOf(error.code), error.code, error)
  }
}
