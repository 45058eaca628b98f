// What people do about memberships of their own: take and refuse invitations, ask, and leave.

import { isLiveMembership, type Move, type Step, step } from "../administration/moves.ts"
import type { PlaceFacts } from "../administration/ports.ts"
import type { Invitation } from "../administration/records.ts"
import { isOpen } from "../authz/liveness.ts"
import type { Reason } from "../errors.ts"
import type { AppId, PrincipalId } from "../ids.ts"
import type { Membership } from "../records.ts"
import { isGood } from "./first-login.ts"

/** Who answers an invitation, in a session of the app. */
export interface Answering {
  readonly invitation: Invitation | undefined
  readonly appId: AppId
  readonly principalId: PrincipalId
  /** At the place that the invitation is for. */
  readonly membership: Membership | undefined
  /** Of the tenant that the place is in; undefined where it is in none. */
  readonly tenantMembership?: Membership | undefined
  readonly nowMs: number
}

/** Why the invitation is not taken; undefined when it is. It lifts no suspension, and adds nothing to who is there. */
export function acceptanceProblem(answering: Answering, place: PlaceFacts): Reason | undefined {
  const { invitation, membership, tenantMembership } = answering
  if (!isGood(invitation, factsOf(answering))) return "INVITATION_INVALID"
  if (!isOpen(place)) return "TENANT_SUSPENDED"
  if (membership?.status === "SUSPENDED" || tenantMembership?.status === "SUSPENDED") return "MEMBERSHIP_INACTIVE"
  return membership?.status === "ACTIVE" ? "ALREADY_EXISTS" : undefined
}

/** Why the invitation is not refused; undefined when it is. One that names nobody is nobody's to refuse. */
export function declineProblem(answering: Answering): Reason | undefined {
  const isTheirs = answering.invitation?.principalId === answering.principalId
  return isTheirs && isGood(answering.invitation, factsOf(answering)) ? undefined : "INVITATION_INVALID"
}

const factsOf = ({ appId, principalId, nowMs }: Answering) => ({
  app: { id: appId },
  principal: { id: principalId },
  nowMs,
})

/**
 * Why somebody may not ask to be a member there; undefined when they may. A place that is closed is as good as none.
 *
 * @param membership At that place: one that has ended is no obstacle.
 */
export function membershipRequestProblem(place: PlaceFacts, membership: Membership | undefined): Reason | undefined {
  if (!isOpen(place)) return "RESOURCE_UNRESOLVED"
  return membership !== undefined && isLiveMembership(membership) ? "ALREADY_EXISTS" : undefined
}

const leaving: Move<Membership["status"]> = { from: ["INVITED", "REQUESTED", "ACTIVE"], to: "REMOVED" }

/** Whoever is suspended stays so: leaving would be the way around it. What has ended has ended. */
export function planLeave(membership: Membership): Step {
  return isLiveMembership(membership) ? step(membership.status, leaving) : "stay"
}
