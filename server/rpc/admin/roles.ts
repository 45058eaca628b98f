import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { ServiceImpl } from "@connectrpc/connect"
import { roleMoves } from "@signet/kernel/administration/moves"
import type { Place } from "@signet/kernel/administration/ports"
import type { Role } from "@signet/kernel/administration/records"
import { roleProblem } from "@signet/kernel/administration/role"
import type { AuditKind } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { type Role as Asked, GrantLevel, Role_Status, RoleSchema } from "@signet/proto/auth/v1/roles"
import type { Deps } from "../deps.ts"
import { refuseClosed } from "../field-behavior.ts"
import { changed } from "../field-mask.ts"
import { pageAsked, pageFound } from "../page.ts"
import { grantLevelOf } from "../parse.ts"
import { type AdminTransaction, administer } from "./administer.ts"
import { refuseStale, withEtag } from "./etag.ts"
import { foundIn, foundListPlace, foundOwnApp, foundPlace, requireActive, type Take } from "./found.ts"
import { given, isSame, moved, refuse } from "./outcome.ts"

type Methods = "createRole" | "getRole" | "listRoles" | "updateRole" | "archiveRole"

const schema = RoleSchema

export function roles(deps: Deps): Pick<ServiceImpl<typeof AppAuthService>, Methods> {
  return {
    createRole: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const asked = given(request.role, "role")
        refuseClosed(schema, asked, "create", "role")
        const { place } = await foundPlace(admin, { appId: request.appId, tenantId: asked.tenantId, contextId: "" })
        const { appId, tenantId } = place
        const { nowMs } = admin
        const made = { status: "ACTIVE", createdAtMs: nowMs, updatedAtMs: nowMs } as const
        const role: Role = { ...valuesOf(asked), ...made, id: admin.newId("rol"), appId, tenantId, key: asked.key }
        await refuseProblem(admin, role)
        await requireActive(admin, place)
        if (!(await admin.tx.roles.insert(role))) throw new Refused("ALREADY_EXISTS")
        await record(admin, "role.created", role)
        return { role: shape(role) }
      }),

    getRole: (request, context) =>
      administer(deps, context, "read", async (admin) => ({
        role: shape(await foundUsableRole(admin, request, "find")),
      })),

    listRoles: (request, context) =>
      administer(deps, context, "read", async (admin) => {
        const { appId, tenantId } = await foundListPlace(admin, { ...request, contextId: "" })
        const { keyPrefix } = request
        const filter = ["roles", appId, tenantId ?? "", keyPrefix]
        const asked = pageAsked(deps.secrets, "rol", filter, request)
        const found = await admin.tx.roles.list(appId, { tenantId, keyPrefix }, asked)
        const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
        return { roles: page.map(shape), nextPageToken }
      }),

    updateRole: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const role = await foundRole(admin, request)
        const current = create(schema, shape(role))
        const change = { desc: schema, values: given(request.role, "role"), mask: request.updateMask, path: "role" }
        const values = valuesOf(changed(current, change).message)
        if (role.status === "ARCHIVED") throw new Refused("STATE_CONFLICT")
        const updated = { ...role, ...values, updatedAtMs: admin.nowMs }
        await refuseProblem(admin, updated)
        if (isSame(values, valuesOf(current))) return { role: current }
        refuseStale(schema, current, change.values)
        await admin.tx.roles.update(updated)
        await record(admin, "role.updated", updated)
        return { role: shape(updated) }
      }),

    archiveRole: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const { tx, nowMs } = admin
        const role = await foundRole(admin, request)
        const next = moved<Role["status"], Role>(role, roleMoves.archive)
        if (next === undefined) return { role: shape(role) }
        const updated = { ...next, updatedAtMs: nowMs }
        await tx.roles.update(updated)
        await tx.grants.revokeOfRole(role.id, nowMs)
        await record(admin, "role.archived", updated)
        return { role: shape(updated) }
      }),
  }
}

interface Named {
  readonly appId: string
  readonly roleId: string
}

/** A role to change: the caller must administer its app or tenant. */
async function foundRole(admin: AdminTransaction, { appId, roleId }: Named): Promise<Role> {
  const id = parseId("rol", roleId)
  const role = foundIn(appId, id && (await admin.tx.roles.lock(id)))
  admin.reach(placeOfRole(role))
  return role
}

/** A role to grant: of the app, or of the caller's tenant. */
export async function foundUsableRole(admin: AdminTransaction, { appId, roleId }: Named, take: Take): Promise<Role> {
  const app = await foundOwnApp(admin, appId)
  const id = parseId("rol", roleId)
  const role = foundIn(app.id, id && (await admin.tx.roles[take](id)))
  if (role.tenantId !== null) admin.reach({ ...placeOfRole(role), contextId: admin.caller.contextId })
  return role
}

const placeOfRole = ({ appId, tenantId }: Role): Place => ({ appId, tenantId, contextId: null })

async function refuseProblem({ tx }: AdminTransaction, role: Role): Promise<void> {
  const known = await tx.roles.findPermissions(role.appId, role.permissions)
  refuse(roleProblem(role, new Set(known.map(({ key }) => key))))
}

const record = (admin: AdminTransaction, kind: AuditKind, role: Role): Promise<void> =>
  admin.record(kind, { place: placeOfRole(role), target: { type: "role", id: role.id } })

const valuesOf = (of: Asked): Pick<Role, "description" | "permissions" | "inheritable" | "assignableAt"> => ({
  description: of.description,
  permissions: of.permissions,
  inheritable: of.inheritable,
  assignableAt: of.assignableAt.map(grantLevelOf),
})

const shape = (of: Role): MessageInitShape<typeof RoleSchema> =>
  withEtag(schema, {
    id: of.id,
    appId: of.appId,
    tenantId: of.tenantId ?? "",
    key: of.key,
    description: of.description,
    permissions: [...of.permissions],
    inheritable: of.inheritable,
    assignableAt: of.assignableAt.map((level) => GrantLevel[level]),
    status: Role_Status[of.status],
    createdAt: timestampFromMs(of.createdAtMs),
    updatedAt: timestampFromMs(of.updatedAtMs),
  })
