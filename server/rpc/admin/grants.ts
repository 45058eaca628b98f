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
import { type AdminTransaction, administer } from "./administer.ts"
import { foundIn, foundListPlace, foundMember, foundPlace, placeOf, requireActive, type Take } from "./found.ts"
import { refuse } from "./outcome.ts"
import { foundUsableRole } from "./roles.ts"

type Methods = "createGrant" | "getGrant" | "listGrants" | "revokeGrant"

export function grants(deps: Deps): Pick<ServiceImpl<typeof AppAuthService>, Methods> {
  return {
    createGrant: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const { nowMs } = admin
        const { place } = await foundPlace(admin, request)
        const role = await foundUsableRole(admin, request, "lock")
        const member = await foundMember(admin, place.appId, request.principalId)
        const { resource, expiresAt } = request
        const node = { ...place, resource: resource ? { type: resource.type, id: resource.id } : null }
        const expiresAtMs = expiresAt ? timestampMs(expiresAt) : null
        refuse(grantProblem(role, node, expiresAtMs, nowMs))
        await requireActive(admin, place)
        if (!member.memberships.some(({ status }) => status === "ACTIVE")) {
          throw new Refused("STATE_CONFLICT", { message: "the principal is not an active member" })
        }
        const grant: Grant = {
          ...node,
          id: admin.newId("grt"),
          principalId: member.id,
          roleId: role.id,
          expiresAtMs,
          grantedBy: admin.caller.principal.id,
          reason: request.reason,
          status: "ACTIVE",
          createdAtMs: nowMs,
          revokedAtMs: null,
        }
        // The principal is locked, so no concurrent call counts its grants.
        const live = await admin.tx.grants.listOfPrincipal(member.id, place.appId)
        if (live.filter((one) => grantState(one, nowMs) === "ACTIVE").length >= maxGrants)
          throw new Refused("GRANT_LIMIT")
        if (!(await admin.tx.grants.insert(grant))) throw new Refused("ALREADY_EXISTS")
        await record(admin, "grant.created", grant)
        return { grant: grantShape(grant, role.key, nowMs) }
      }),

    getGrant: (request, context) =>
      administer(deps, context, "read", async (admin) => ({
        grant: await shapeOf(admin, await foundGrant(admin, request, "find")),
      })),

    listGrants: (request, context) =>
      administer(deps, context, "read", async (admin) => {
        const { appId, tenantId, contextId } = await foundListPlace(admin, request)
        const principalId = parseId("prn", request.principalId) ?? null
        const roleId = parseId("rol", request.roleId) ?? null
        const filter = ["grants", appId, tenantId ?? "", contextId ?? "", principalId ?? "", roleId ?? ""]
        const asked = pageAsked(deps.secrets, "grt", filter, request)
        const found = await admin.tx.grants.list(appId, { tenantId, contextId, principalId, roleId }, asked)
        const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
        const keys = await admin.tx.roles.findKeys(page.map((one) => one.roleId))
        return { grants: page.map((one) => grantShape(one, keys.get(one.roleId), admin.nowMs)), nextPageToken }
      }),

    revokeGrant: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const { nowMs } = admin
        const grant = await foundGrant(admin, request, "lock")
        if (grantState(grant, nowMs) !== "ACTIVE") return { grant: await shapeOf(admin, grant) }
        await admin.tx.grants.revoke(grant.id, nowMs)
        const updated: Grant = { ...grant, status: "REVOKED", revokedAtMs: nowMs }
        await record(admin, "grant.revoked", updated)
        return { grant: await shapeOf(admin, updated) }
      }),
  }
}

async function foundGrant(admin: AdminTransaction, of: { appId: string; grantId: string }, take: Take): Promise<Grant> {
  const id = parseId("grt", of.grantId)
  const grant = foundIn(of.appId, id && (await admin.tx.grants.find(id)))
  admin.reach(grant)
  if (take === "find") return grant
  // The lock order of a removal, which revokes the member's grants.
  await admin.tx.principals.lock(grant.principalId)
  return foundIn(of.appId, await admin.tx.grants.lock(grant.id))
}

const record = (admin: AdminTransaction, kind: "grant.created" | "grant.revoked", grant: Grant): Promise<void> =>
  admin.record(kind, { place: placeOf(grant), target: { type: "grant", id: grant.id }, subject: grant.principalId })

async function shapeOf({ tx, nowMs }: AdminTransaction, grant: Grant): Promise<MessageInitShape<typeof GrantSchema>> {
  const keys = await tx.roles.findKeys([grant.roleId])
  return grantShape(grant, keys.get(grant.roleId), nowMs)
}

export const grantShape = (
  of: Grant,
  roleKey: string | undefined,
  nowMs: number,
): MessageInitShape<typeof GrantSchema> => ({
  id: of.id,
  appId: of.appId,
  principalId: of.principalId,
  tenantId: of.tenantId ?? "",
  contextId: of.contextId ?? "",
  ...(of.resource === null ? {} : { resource: of.resource }),
  roleId: of.roleId,
  roleKey: roleKey ?? "",
  ...(of.expiresAtMs === null ? {} : { expiresAt: timestampFromMs(of.expiresAtMs) }),
  grantedBy: of.grantedBy,
  reason: of.reason,
  status: Grant_Status[grantState(of, nowMs)],
  createdAt: timestampFromMs(of.createdAtMs),
  ...(of.revokedAtMs === null ? {} : { revokedAt: timestampFromMs(of.revokedAtMs) }),
})
