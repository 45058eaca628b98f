// Rules for a user's own memberships: accept and decline invitations, request to join, leave.

import { isLiveMembership, type Move, type Step, step } from "../administration/moves.ts"
import type { PlaceFacts } from "../administration/ports.ts"
import type { Invitation } from "../administration/records.ts"
import { isOpen } from "../authz/liveness.ts"
import type { Reason } from "../errors.ts"
import type { AppId, PrincipalId } from "../ids.ts"
import type { Membership } from "../records.ts"
import { isGood } from "./first-login.ts"

/** A user's answer to an invitation. */
export interface Answering {
  readonly invitation: Invitation | undefined
  readonly appId: AppId
  readonly principalId: PrincipalId
  /** Membership at the invitation's place. */
  readonly membership: Membership | undefined
  /** Membership of the place's tenant; undefined if there is none. */
  readonly tenantMembership?: Membership | undefined
  readonly nowMs: number
}

/**
 * Returns why the invitation cannot be accepted; undefined if it can. It lifts no suspension and adds nothing to an
 * active membership.
 */
export function acceptanceProblem(answering: Answering, place: PlaceFacts): Reason | undefined {
  const { invitation, membership, tenantMembership } = answering
  if (!isGood(invitation, factsOf(answering))) return "INVITATION_INVALID"
  if (!isOpen(place)) return "TENANT_SUSPENDED"
  if (membership?.status === "SUSPENDED" || tenantMembership?.status === "SUSPENDED") return "MEMBERSHIP_INACTIVE"
  return membership?.status === "ACTIVE" ? "ALREADY_EXISTS" : undefined
}

/**
 * Returns why the invitation cannot be declined; undefined if it can. Only the principal that it names can decline it.
 */
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
 * Returns why the user cannot request a membership; undefined if they can. A closed place is reported as if it did not
 * exist.
 *
 * @param membership At that place; an ended one does not matter.
 */
export function membershipRequestProblem(place: PlaceFacts, membership: Membership | undefined): Reason | undefined {
  if (!isOpen(place)) return "RESOURCE_UNRESOLVED"
  return membership !== undefined && isLiveMembership(membership) ? "ALREADY_EXISTS" : undefined
}

const leaving: Move<Membership["status"]> = { from: ["INVITED", "REQUESTED", "ACTIVE"], to: "REMOVED" }

/** A suspended member cannot leave, because joining again would lift the suspension. An ended membership stays. */
export function planLeave(membership: Membership): Step {
  return isLiveMembership(membership) ? step(membership.status, leaving) : "stay"
}
