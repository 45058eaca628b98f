import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import type { ServiceImpl } from "@connectrpc/connect"
import type { Grant } from "@signet/kernel/administration/records"
import { grantProblem, grantState, maxGrants } from "@signet/kernel/administration/role"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { Grant_Status, type GrantSchema } from "@signet/proto/auth/v1/grants"
import type { Deps } from "../deps.ts"
import { pageAsked, pageFound } from "../page.ts"
import { administer, type Desk } from "./administer.ts"
import { foundIn, foundListPlace, foundMember, foundPlace, placeOf, requireActive, type Take } from "./found.ts"
import { refuse } from "./outcome.ts"
import { foundUsableRole } from "./roles.ts"

type Methods = "createGrant" | "getGrant" | "listGrants" | "revokeGrant"

export function grants(deps: Deps): Pick<ServiceImpl<typeof AppAuthService>, Methods> {
  return {
    createGrant: (request, context) =>
      administer(deps, context, "write", async (desk) => {
        const { nowMs } = desk
        const { place } = await foundPlace(desk, request)
        const role = await foundUsableRole(desk, request, "lock")
        const member = await foundMember(desk, place.appId, request.principalId)
        const { resource, expiresAt } = request
        const node = { ...place, resource: resource ? { type: resource.type, id: resource.id } : null }
        const expiresAtMs = expiresAt ? timestampMs(expiresAt) : null
        refuse(grantProblem(role, node, expiresAtMs, nowMs))
        await requireActive(desk, place)
        if (!member.memberships.some(({ status }) => status === "ACTIVE")) {
          throw new Refused("STATE_CONFLICT", { message: "the principal is not an active member" })
        }
        const grant: Grant = {
          ...node,
          id: desk.newId("grt"),
          principalId: member.id,
          roleId: role.id,
          expiresAtMs,
          grantedBy: desk.caller.principal.id,
          reason: request.reason,
          status: "ACTIVE",
          createdAtMs: nowMs,
          revokedAtMs: null,
        }
        // The principal is locked, so no concurrent call counts its grants.
        const live = await desk.tx.grants.listOfPrincipal(member.id, place.appId)
        if (live.filter((one) => grantState(one, nowMs) === "ACTIVE").length >= maxGrants)
          throw new Refused("GRANT_LIMIT")
        if (!(await desk.tx.grants.insert(grant))) throw new Refused("ALREADY_EXISTS")
        await record(desk, "grant.created", grant)
        return { grant: grantShape(grant, nowMs) }
      }),

    getGrant: (request, context) =>
      administer(deps, context, "read", async (desk) => ({
        grant: grantShape(await foundGrant(desk, request, "find"), desk.nowMs),
      })),

    listGrants: (request, context) =>
      administer(deps, context, "read", async (desk) => {
        const { appId, tenantId, contextId } = await foundListPlace(desk, request)
        const principalId = parseId("prn", request.principalId) ?? null
        const roleId = parseId("rol", request.roleId) ?? null
        const filter = ["grants", appId, tenantId ?? "", contextId ?? "", principalId ?? "", roleId ?? ""]
        const asked = pageAsked(deps.secrets, "grt", filter, request)
        const found = await desk.tx.grants.list(appId, { tenantId, contextId, principalId, roleId }, asked)
        const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
        return { grants: page.map((one) => grantShape(one, desk.nowMs)), nextPageToken }
      }),

    revokeGrant: (request, context) =>
      administer(deps, context, "write", async (desk) => {
        const { nowMs } = desk
        const grant = await foundGrant(desk, request, "lock")
        if (grantState(grant, nowMs) !== "ACTIVE") return { grant: grantShape(grant, nowMs) }
        await desk.tx.grants.revoke(grant.id, nowMs)
        const updated: Grant = { ...grant, status: "REVOKED", revokedAtMs: nowMs }
        await record(desk, "grant.revoked", updated)
        return { grant: grantShape(updated, nowMs) }
      }),
  }
}

async function foundGrant(desk: Desk, of: { appId: string; grantId: string }, take: Take): Promise<Grant> {
  const id = parseId("grt", of.grantId)
  const grant = foundIn(of.appId, id && (await desk.tx.grants.find(id)))
  desk.reach(grant)
  if (take === "find") return grant
  // The lock order of a removal, which revokes the member's grants.
  await desk.tx.principals.lock(grant.principalId)
  return foundIn(of.appId, await desk.tx.grants.lock(grant.id))
}

const record = (desk: Desk, kind: "grant.created" | "grant.revoked", grant: Grant): Promise<void> =>
  desk.record(kind, { place: placeOf(grant), target: { type: "grant", id: grant.id }, subject: grant.principalId })

export const grantShape = (of: Grant, nowMs: number): MessageInitShape<typeof GrantSchema> => ({
  id: of.id,
  appId: of.appId,
  principalId: of.principalId,
  tenantId: of.tenantId ?? "",
  contextId: of.contextId ?? "",
  ...(of.resource === null ? {} : { resource: of.resource }),
  roleId: of.roleId,
  ...(of.expiresAtMs === null ? {} : { expiresAt: timestampFromMs(of.expiresAtMs) }),
  grantedBy: of.grantedBy,
  reason: of.reason,
  status: Grant_Status[grantState(of, nowMs)],
  createdAt: timestampFromMs(of.createdAtMs),
  ...(of.revokedAtMs === null ? {} : { revokedAt: timestampFromMs(of.revokedAtMs) }),
})
