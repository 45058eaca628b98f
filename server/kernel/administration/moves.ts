// State machines of the records that administrators manage. Administrators change a status only through these moves.

import type { Membership, Principal, ProviderAccount, ProviderClient } from "../records.ts"
import type { Invitation, PlaceStatus, Role } from "./records.ts"

/** A status change and the states that it may start from. */
export interface Move<Status extends string> {
  readonly from: readonly Status[]
  readonly to: Status
}

/** "stay": the record already has the target status, so the call succeeds and changes nothing. */
export type Step = "go" | "stay" | "refuse"

export function step<Status extends string>(status: Status, { from, to }: Move<Status>): Step {
  if (status === to) return "stay"
  return from.includes(status) ? "go" : "refuse"
}

/** Apps, tenants and contexts. ARCHIVED is final. */
export const placeMoves = {
  suspend: { from: ["ACTIVE"], to: "SUSPENDED" },
  resume: { from: ["SUSPENDED"], to: "ACTIVE" },
  archive: { from: ["ACTIVE", "SUSPENDED"], to: "ARCHIVED" },
} as const satisfies Record<string, Move<PlaceStatus>>

export const clientMoves = {
  disable: { from: ["ACTIVE"], to: "DISABLED" },
  enable: { from: ["DISABLED"], to: "ACTIVE" },
} as const satisfies Record<string, Move<ProviderClient["status"]>>

/** REMOVED is final: a removed member joins again with a new membership. */
export const membershipMoves = {
  suspend: { from: ["ACTIVE"], to: "SUSPENDED" },
  resume: { from: ["SUSPENDED"], to: "ACTIVE" },
  approve: { from: ["REQUESTED"], to: "ACTIVE" },
  reject: { from: ["REQUESTED"], to: "REJECTED" },
  remove: { from: ["INVITED", "ACTIVE", "SUSPENDED"], to: "REMOVED" },
} as const satisfies Record<string, Move<Membership["status"]>>

export const invitationMoves = {
  revoke: { from: ["PENDING"], to: "REVOKED" },
} as const satisfies Record<string, Move<Invitation["status"]>>

export const roleMoves = {
  archive: { from: ["ACTIVE"], to: "ARCHIVED" },
} as const satisfies Record<string, Move<Role["status"]>>

/** The store checks the reactivation period: only it knows when the principal was deactivated. */
export const principalMoves = {
  lock: { from: ["ACTIVE"], to: "LOCKED" },
  unlock: { from: ["LOCKED"], to: "ACTIVE" },
  suspend: { from: ["ACTIVE", "LOCKED"], to: "SUSPENDED" },
  resume: { from: ["SUSPENDED"], to: "ACTIVE" },
  deactivate: { from: ["ACTIVE", "LOCKED", "SUSPENDED"], to: "DEACTIVATED" },
  reactivate: { from: ["DEACTIVATED"], to: "ACTIVE" },
} as const satisfies Record<string, Move<Principal["status"]>>

export const accountMoves = {
  block: { from: ["LINKED"], to: "BLOCKED" },
  unblock: { from: ["BLOCKED"], to: "LINKED" },
} as const satisfies Record<string, Move<ProviderAccount["status"]>>

/** Memberships that have not ended. A principal has at most one at each place, and only these change. */
export const liveMembershipStatuses: readonly Membership["status"][] = ["INVITED", "REQUESTED", "ACTIVE", "SUSPENDED"]

export const isLiveMembership = ({ status }: Pick<Membership, "status">): boolean =>
  liveMembershipStatuses.includes(status)
