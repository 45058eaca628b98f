// Maps the errors of canonical bytes in an append to reasons of the API. Metadata `code` names the exact rule.
import { type CanonicalCode, CanonicalError } from "@signet/canonical/errors"
import type { Reason } from "@signet/kernel/errors"
import { refusedFor } from "../../refusing.ts"

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
