// The meaning of a principal's status for its own calls, and the limits of a lock.
import type { Reason } from "../errors.ts"
import type { Principal } from "../records.ts"

/** Returns why a principal can neither sign in nor call; undefined if it can. A missing principal cannot. */
export function principalInactivity(
  status: Principal["status"] | undefined,
): Extract<Reason, "PRINCIPAL_INACTIVE" | "PRINCIPAL_LOCKED"> | undefined {
  if (status === "ACTIVE") return undefined
  return status === "LOCKED" ? "PRINCIPAL_LOCKED" : "PRINCIPAL_INACTIVE"
}

/** The longest lock, in milliseconds. A longer exclusion is a suspension. */
export const longestLockMs = 30 * 86_400_000

/** True if a lock may expire at this time. */
export const isLockTime = (expiresAtMs: number, nowMs: number): boolean =>
  expiresAtMs > nowMs && expiresAtMs <= nowMs + longestLockMs

/** True if the principal's lock has expired. */
export const isLockOver = ({ status, lock }: Pick<Principal, "status" | "lock">, nowMs: number): boolean =>
  status === "LOCKED" && (lock === undefined || lock.expiresAtMs <= nowMs)
