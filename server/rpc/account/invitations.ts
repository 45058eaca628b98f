// The caller accepts or declines an invitation. An invitation is answered once; a second answer is refused.
import type { HandlerContext } from "@connectrpc/connect"
import type { Invitation } from "@signet/kernel/administration/records"
import { acceptanceProblem, declineProblem } from "@signet/kernel/identity/joining"
import type { Membership } from "@signet/kernel/records"
import { parseOpaque } from "@signet/kernel/token/opaque"
import { withCurrentAuthority } from "../auth/sign-in/inviter.ts"
import { consumeInvitation } from "../auth/sign-in/membership.ts"
import type { Deps } from "../deps.ts"
import { tenantMembershipOf } from "../place.ts"
import { onSelf, type Self } from "./self.ts"

export function acceptInvitation(deps: Deps, context: HandlerContext, codeText: string): Promise<Membership> {
  return onSelf(deps, context, async (self) => {
    const { tx, nowMs, user, principal, refuse } = self
    const invitation = await withCurrentAuthority(deps, tx, await lockInvitation(self, codeText))
    if (invitation === undefined) return refuse("membership.accepted", "INVITATION_INVALID")
    const membership = await membershipAt(self, invitation)
    const tenantMembership = await tenantMembershipOf(tx, principal.id, invitation)
    const problem = acceptanceProblem(
      { invitation, appId: user.appId, principalId: principal.id, membership, tenantMembership, nowMs },
      await tx.places.lockShared(invitation),
    )
    if (problem !== undefined) return refuse("membership.accepted", problem)
    const own = await tx.identities.findMembership(principal.id, user.appId, null, null)
    const request = { appId: user.appId, hints: own?.profile ?? {} }
    return consumeInvitation({ ...self, request, vouched: { name: null } }, principal, invitation)
  })
}

export async function declineInvitation(deps: Deps, context: HandlerContext, codeText: string): Promise<void> {
  await onSelf(deps, context, async (self) => {
    const { tx, nowMs, user, principal, refuse, record } = self
    const invitation = await lockInvitation(self, codeText)
    const answering = { invitation, appId: user.appId, principalId: principal.id, membership: undefined, nowMs }
    const problem = declineProblem(answering)
    if (invitation === undefined || problem !== undefined) {
      return refuse("membership.declined", problem ?? "INVITATION_INVALID")
    }
    await tx.invitations.update({ ...invitation, status: "DECLINED", answeredAtMs: nowMs })
    const membership = invitation.membershipId && (await tx.members.lock(invitation.membershipId))
    if (membership && membership.status === "INVITED") {
      await tx.members.update({ ...membership, status: "DECLINED", updatedAtMs: nowMs })
    }
    await record("membership.declined", { target: { type: "invitation", id: invitation.id } })
    return undefined
  })
}

async function lockInvitation({ deps, tx }: Self, codeText: string): Promise<Invitation | undefined> {
  const code = parseOpaque("sginv_", codeText)
  return code === undefined ? undefined : tx.invitations.lockByCode(deps.secrets.hashes("invitation", code))
}

const membershipAt = ({ tx, principal }: Self, { appId, tenantId, contextId }: Invitation) =>
  tx.identities.findMembership(principal.id, appId, tenantId, contextId)
