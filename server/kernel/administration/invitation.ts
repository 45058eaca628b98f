import type { Invitation } from "./records.ts"

const hourMs = 3_600_000

/** Lifetime of an invitation, in hours. */
const invitationHours = { default: 168, max: 720 } as const

/** @param hours 0 means the default lifetime. */
export function invitationExpiryMs(hours: number, nowMs: number): number {
  return nowMs + (hours || invitationHours.default) * hourMs
}

/** The state that the API reports. EXPIRED is computed, never stored. */
export function invitationState(
  { status, expiresAtMs }: Pick<Invitation, "status" | "expiresAtMs">,
  nowMs: number,
): Invitation["status"] | "EXPIRED" {
  return status === "PENDING" && expiresAtMs <= nowMs ? "EXPIRED" : status
}
