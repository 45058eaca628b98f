// What a principal's status means for its own calls, and how long a lock may last.
import type { Reason } from "../errors.ts"
import type { Principal } from "../records.ts"

/** Why a principal may neither sign in nor call; undefined when it may. A principal that is missing may not. */
export function principalInactivity(
  status: Principal["status"] | undefined,
): Extract<Reason, "PRINCIPAL_INACTIVE" | "PRINCIPAL_LOCKED"> | undefined {
  if (status === "ACTIVE") return undefined
  return status === "LOCKED" ? "PRINCIPAL_LOCKED" : "PRINCIPAL_INACTIVE"
}

/** The longest lock: what has to last longer is a suspension. */
export const longestLockMs = 30 * 86_400_000

/** Whether a lock may end then. */
export const isLockTime = (expiresAtMs: number, nowMs: number): boolean =>
  expiresAtMs > nowMs && expiresAtMs <= nowMs + longestLockMs

/** Whether a principal's lock has had its time. */
export const isLockOver = ({ status, lock }: Pick<Principal, "status" | "lock">, nowMs: number): boolean =>
  status === "LOCKED" && (lock === undefined || lock.expiresAtMs <= nowMs)
