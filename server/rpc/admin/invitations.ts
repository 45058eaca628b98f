import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { ServiceImpl } from "@connectrpc/connect"
import { invitationExpiryMs, invitationState } from "@signet/kernel/administration/invitation"
import { invitationMoves } from "@signet/kernel/administration/moves"
import type { Invitation } from "@signet/kernel/administration/records"
import { memberScopesProblem } from "@signet/kernel/administration/scopes"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import type { Membership } from "@signet/kernel/records"
import { buildOpaque } from "@signet/kernel/token/opaque"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { Invitation_Status, type InvitationSchema } from "@signet/proto/auth/v1/memberships"
import type { Deps } from "../deps.ts"
import { pageAsked, pageFound } from "../page.ts"
import { type AdminTransaction, administer } from "./administer.ts"
import { foundIn, foundListPlace, foundMember, foundPlace, placeOf, requireActive } from "./found.ts"
import { newMembership } from "./membership.ts"
import { moved, refuse } from "./outcome.ts"

type Methods = "inviteMember" | "listInvitations" | "revokeInvitation"

export function invitations(deps: Deps): Pick<ServiceImpl<typeof AppAuthService>, Methods> {
  return {
    async inviteMember(request, context) {
      const code = buildOpaque("sginv_", deps.random)
      const invitation = await administer(deps, context, "write", async (admin) => {
        const { tx, nowMs, caller } = admin
        const { app, place } = await foundPlace(admin, request)
        const { scopes, principalId } = request
        const person = principalId === "" ? null : await foundMember(admin, app.id, principalId)
        refuse(memberScopesProblem(app, scopes, { before: [], held: caller.scopes }))
        await requireActive(admin, place)
        const asked = person && newMembership(admin, { ...place, principalId: person.id, status: "INVITED", scopes })
        if (asked !== null) await insertInvited(admin, asked)
        const invitation: Invitation = {
          ...place,
          id: admin.newId("inv"),
          principalId: person?.id ?? null,
          codeHash: deps.secrets.hash("invitation", code),
          scopes,
          invitedBy: caller.principal.id,
          status: "PENDING",
          createdAtMs: nowMs,
          expiresAtMs: invitationExpiryMs(request.expiresInHours, nowMs),
          answeredAtMs: null,
          membershipId: asked?.id ?? null,
        }
        await tx.invitations.insert(invitation)
        await record(admin, "membership.invited", invitation)
        return shape(invitation, nowMs)
      })
      return { invitation, code }
    },

    listInvitations: (request, context) =>
      administer(deps, context, "read", async (admin) => {
        const { appId, tenantId, contextId } = await foundListPlace(admin, { ...request, contextId: "" })
        const filter = ["invitations", appId, tenantId ?? "", contextId ?? ""]
        const asked = pageAsked(deps.secrets, "inv", filter, request)
        const found = await admin.tx.invitations.list(appId, { tenantId, contextId }, asked)
        const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
        return { invitations: page.map((one) => shape(one, admin.nowMs)), nextPageToken }
      }),

    revokeInvitation: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const { tx, nowMs } = admin
        const id = parseId("inv", request.invitationId)
        const invitation = foundIn(request.appId, id && (await tx.invitations.lock(id)))
        admin.reach(invitation)
        const next = moved<Invitation["status"], Invitation>(invitation, invitationMoves.revoke)
        if (next === undefined) return { invitation: shape(invitation, nowMs) }
        const updated = { ...next, answeredAtMs: nowMs }
        await tx.invitations.update(updated)
        const membership = invitation.membershipId && (await tx.members.lock(invitation.membershipId))
        if (membership && membership.status === "INVITED") {
          await tx.members.update({ ...membership, status: "REMOVED", updatedAtMs: nowMs })
        }
        await record(admin, "invitation.revoked", updated)
        return { invitation: shape(updated, nowMs) }
      }),
  }
}

/** Inserts an invited membership. An expired invitation does not block the next one. */
async function insertInvited({ tx, nowMs }: AdminTransaction, asked: Membership): Promise<void> {
  const there = await tx.identities.insertMembership(asked)
  if (there.id === asked.id) return
  const old = there.status === "INVITED" ? await tx.invitations.lockByMembership(there.id) : undefined
  if (old === undefined || invitationState(old, nowMs) !== "EXPIRED") throw new Refused("ALREADY_EXISTS")
  const expired = await tx.members.lock(there.id)
  if (expired?.status === "INVITED") await tx.members.update({ ...expired, status: "EXPIRED", updatedAtMs: nowMs })
  const again = await tx.identities.insertMembership(asked)
  if (again.id !== asked.id) throw new Refused("ALREADY_EXISTS")
}

const record = (
  admin: AdminTransaction,
  kind: "membership.invited" | "invitation.revoked",
  invitation: Invitation,
): Promise<void> =>
  admin.record(kind, {
    place: placeOf(invitation),
    target: { type: "invitation", id: invitation.id },
    subject: invitation.principalId,
  })

/** Without its code: only a keyed hash of it is stored. */
const shape = (of: Invitation, nowMs: number): MessageInitShape<typeof InvitationSchema> => ({
  id: of.id,
  appId: of.appId,
  tenantId: of.tenantId ?? "",
  contextId: of.contextId ?? "",
  principalId: of.principalId ?? "",
  scopes: [...of.scopes],
  status: Invitation_Status[invitationState(of, nowMs)],
  invitedBy: of.invitedBy,
  createdAt: timestampFromMs(of.createdAtMs),
  expiresAt: timestampFromMs(of.expiresAtMs),
  membershipId: of.membershipId ?? "",
})
