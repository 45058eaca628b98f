import type { Identity } from "../records.ts"

/** How long a person may change their mind, in milliseconds: 14 days. */
export const deletionMs = 14 * 86_400_000

/** How long a provider that does not answer keeps an identity from being erased, in milliseconds: an hour. */
export const revocationPatienceMs = 3_600_000

/** True for what is to be erased now. Whoever came back meanwhile is not. */
export function isDue(identity: Pick<Identity, "status" | "deletesAtMs"> | undefined, nowMs: number): boolean {
  return identity?.status === "DELETION_PENDING" && identity.deletesAtMs !== null && identity.deletesAtMs <= nowMs
}
