import type { Identity } from "../records.ts"

/** Time in which a user can cancel the deletion, in milliseconds: 14 days. */
export const deletionMs = 14 * 86_400_000

/** Maximum time that an unreachable provider can delay an erasure, in milliseconds: one hour. */
export const revocationPatienceMs = 3_600_000

/** True if the identity must be erased now. False if the user cancelled the deletion. */
export function isDue(identity: Pick<Identity, "status" | "deletesAtMs"> | undefined, nowMs: number): boolean {
  return identity?.status === "DELETION_PENDING" && identity.deletesAtMs !== null && identity.deletesAtMs <= nowMs
}
