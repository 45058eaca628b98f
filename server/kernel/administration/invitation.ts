import type { Invitation } from "./records.ts"

const hourMs = 3_600_000

/** The life of an invitation, in hours. */
export const invitationHours = { default: 168, max: 720 } as const

/** @param hours 0 for the usual life. */
export function invitationExpiryMs(hours: number, nowMs: number): number {
  return nowMs + (hours || invitationHours.default) * hourMs
}

/** As the contract says it: a pending one whose time is over is EXPIRED, which nobody writes down. */
export function invitationState(
  { status, expiresAtMs }: Pick<Invitation, "status" | "expiresAtMs">,
  nowMs: number,
): Invitation["status"] | "EXPIRED" {
  return status === "PENDING" && expiresAtMs <= nowMs ? "EXPIRED" : status
}
