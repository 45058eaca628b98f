import { create, type MessageInitShape } from "@bufbuild/protobuf"
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import { isLiveMembership } from "@signet/kernel/administration/moves"
import type { Place } from "@signet/kernel/administration/ports"
import { memberScopesProblem } from "@signet/kernel/administration/scopes"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import type { Membership } from "@signet/kernel/records"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { type Membership as Asked, MembershipSchema } from "@signet/proto/auth/v1/records"
import type { Deps } from "../deps.ts"
import { changed } from "../field-mask.ts"
import { pageAsked, pageFound } from "../page.ts"
import { membershipStatusOf } from "../parse.ts"
import { membershipShape } from "../shape.ts"
import { type AdminTransaction, administer } from "./administer.ts"
import { refuseStale, withEtag } from "./etag.ts"
import { foundListPlace, foundMember, foundOwnApp, foundPlace, requireActive } from "./found.ts"
import { changeMembership, foundMembership, type MoveName, newMembership, recordMembership } from "./membership.ts"
import { given, isSame, refuse } from "./outcome.ts"

type Methods =
  | "createMembership"
  | "getMembership"
  | "listMemberships"
  | "updateMembership"
  | "suspendMembership"
  | "resumeMembership"
  | "removeMembership"
  | "approveMembership"
  | "rejectMembership"

export function memberships(deps: Deps): Pick<ServiceImpl<typeof AppAuthService>, Methods> {
  return {
    createMembership: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const { app, place } = await foundPlace(admin, request)
        const { id, memberships } = await foundMember(admin, app.id, request.principalId)
        const { scopes } = request
        refuse(memberScopesProblem(app, scopes, { before: [], held: admin.caller.scopes }))
        await requireActive(admin, place)
        requireMember(admin, place, memberships)
        const membership = newMembership(admin, { ...place, principalId: id, status: "ACTIVE", scopes })
        const there = await admin.tx.identities.insertMembership(membership)
        if (there.id !== membership.id) throw new Refused("ALREADY_EXISTS")
        await recordMembership(admin, "membership.created", membership)
        return { membership: shape(membership) }
      }),

    getMembership: (request, context) =>
      administer(deps, context, "read", async (admin) => ({
        membership: shape(await foundMembership(admin, request, "find")),
      })),

    listMemberships: (request, context) =>
      administer(deps, context, "read", async (admin) => {
        const { appId, tenantId, contextId } = await foundListPlace(admin, request)
        const status = membershipStatusOf(request.status)
        const principalId = parseId("prn", request.principalId) ?? null
        const { principalIds } = request
        const place = [appId, tenantId ?? "", contextId ?? ""]
        const filter = ["memberships", ...place, status ?? "", principalId ?? "", ...principalIds]
        const asked = pageAsked(deps.secrets, "mem", filter, request)
        const narrowed = { tenantId, contextId, status, principalId, principalIds }
        const found = await admin.tx.members.list(appId, narrowed, asked)
        const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
        return { memberships: page.map(shape), nextPageToken }
      }),

    updateMembership: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const membership = await foundMembership(admin, request, "lock")
        const app = await foundOwnApp(admin, request.appId)
        const current = create(MembershipSchema, shape(membership))
        const values = given(request.membership, "membership")
        const change = { desc: MembershipSchema, values, mask: request.updateMask, path: "membership" }
        const { profile, scopes } = valuesOf(changed(current, change).message)
        if (!isLiveMembership(membership)) throw new Refused("STATE_CONFLICT")
        const grounds = { before: membership.scopes, held: admin.caller.scopes }
        refuse(memberScopesProblem(app, scopes, grounds, "membership.scopes"))
        if (isSame({ profile, scopes }, valuesOf(current))) return { membership: current }
        refuseStale(MembershipSchema, current, values)
        const updated = { ...membership, profile, scopes, updatedAtMs: admin.nowMs }
        await admin.tx.members.update(updated)
        await recordMembership(admin, "membership.updated", updated)
        return { membership: shape(updated) }
      }),

    suspendMembership: (request, context) => move(deps, context, request, "suspend"),
    resumeMembership: (request, context) => move(deps, context, request, "resume"),
    removeMembership: (request, context) => move(deps, context, request, "remove"),
    approveMembership: (request, context) => move(deps, context, request, "approve"),
    rejectMembership: (request, context) => move(deps, context, request, "reject"),
  }
}

/**
 * A principal is added without an invitation only where it is a member of the app, or by an administrator of the
 * installation.
 */
function requireMember(
  { isInstallation }: AdminTransaction,
  { tenantId, contextId }: Place,
  known: readonly Membership[],
): void {
  if (isInstallation && tenantId === null && contextId === null) return
  if (known.some(({ status }) => status === "ACTIVE")) return
  throw new Refused("STATE_CONFLICT", { message: "the principal is not an active member of the app" })
}

function move(deps: Deps, context: HandlerContext, of: { appId: string; membershipId: string }, name: MoveName) {
  return administer(deps, context, "write", async (admin) => {
    const membership = await foundMembership(admin, of, "lock")
    return { membership: shape(await changeMembership(admin, membership, name)) }
  })
}

const shape = (of: Membership): MessageInitShape<typeof MembershipSchema> =>
  withEtag(MembershipSchema, membershipShape(of))

function valuesOf({ profile, scopes }: Asked): Pick<Membership, "profile" | "scopes"> {
  const { name = "", email = "" } = profile ?? {}
  return { profile: { ...(name === "" ? {} : { name }), ...(email === "" ? {} : { email }) }, scopes }
}
