import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { ServiceImpl } from "@connectrpc/connect"
import type { Permission } from "@signet/kernel/administration/records"
import { permissionProblem } from "@signet/kernel/administration/role"
import { Refused } from "@signet/kernel/errors"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { PermissionSchema } from "@signet/proto/auth/v1/roles"
import type { Deps } from "../deps.ts"
import { refuseClosed } from "../field-behavior.ts"
import { changed } from "../field-mask.ts"
import { pageAsked, pageFound } from "../page.ts"
import { type AdminTransaction, administer, unresolved } from "./administer.ts"
import { refuseStale, withEtag } from "./etag.ts"
import { foundApp, foundOwnApp, wholeApp } from "./found.ts"
import { given, refuse } from "./outcome.ts"

type Methods = "createPermission" | "listPermissions" | "updatePermission" | "deletePermission"

const schema = PermissionSchema

/** Only administrators of the whole app change its permissions. Every administrator in the app may list them. */
export function permissions(deps: Deps): Pick<ServiceImpl<typeof AppAuthService>, Methods> {
  return {
    createPermission: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const app = await foundApp(admin, request.appId)
        const asked = given(request.permission, "permission")
        refuseClosed(schema, asked, "create", "permission")
        refuse(permissionProblem(asked))
        if (app.status === "ARCHIVED") throw new Refused("STATE_CONFLICT")
        const { key, description } = asked
        const made = { id: admin.newId("prm"), appId: app.id, createdAtMs: admin.nowMs }
        const permission: Permission = { ...made, key, description }
        if (!(await admin.tx.roles.insertPermission(permission))) throw new Refused("ALREADY_EXISTS")
        await record(admin, "permission.created", permission)
        return { permission: shape(permission) }
      }),

    listPermissions: (request, context) =>
      administer(deps, context, "read", async (admin) => {
        const app = await foundOwnApp(admin, request.appId)
        const filter = ["permissions", app.id]
        const asked = pageAsked(deps.secrets, "prm", filter, request)
        const found = await admin.tx.roles.listPermissions(app.id, asked)
        const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
        return { permissions: page.map(shape), nextPageToken }
      }),

    updatePermission: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const permission = await foundPermission(admin, request)
        const current = create(schema, shape(permission))
        const values = given(request.permission, "permission")
        const change = { desc: schema, values, mask: request.updateMask, path: "permission" }
        const { description } = changed(current, change).message
        if (description === permission.description) return { permission: current }
        refuseStale(schema, current, values)
        const updated = { ...permission, description }
        await admin.tx.roles.updatePermission(updated)
        await record(admin, "permission.updated", updated)
        return { permission: shape(updated) }
      }),

    deletePermission: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const permission = await foundPermission(admin, request)
        if (!(await admin.tx.roles.deletePermission(permission, admin.nowMs))) throw new Refused("IN_USE")
        await record(admin, "permission.deleted", permission)
        return {}
      }),
  }
}

async function foundPermission(
  admin: AdminTransaction,
  of: { appId: string; permissionKey: string },
): Promise<Permission> {
  const app = await foundApp(admin, of.appId)
  const [permission] = await admin.tx.roles.findPermissions(app.id, [of.permissionKey])
  if (permission === undefined) throw unresolved()
  return permission
}

const record = (
  admin: AdminTransaction,
  kind: "permission.created" | "permission.updated" | "permission.deleted",
  { id, appId }: Permission,
): Promise<void> => admin.record(kind, { place: wholeApp(appId), target: { type: "permission", id } })

const shape = (of: Permission): MessageInitShape<typeof PermissionSchema> =>
  withEtag(schema, {
    id: of.id,
    appId: of.appId,
    key: of.key,
    description: of.description,
    createdAt: timestampFromMs(of.createdAtMs),
  })
