import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import { type Move, placeMoves } from "@signet/kernel/administration/moves"
import type { PlaceStatus, Tenant } from "@signet/kernel/administration/records"
import type { AuditKind } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { PlaceStatus as Status } from "@signet/proto/auth/v1/apps"
import { type Tenant as Asked, TenantSchema } from "@signet/proto/auth/v1/tenants"
import type { Deps } from "../deps.ts"
import { refuseClosed } from "../field-behavior.ts"
import { changed } from "../field-mask.ts"
import { pageAsked, pageFound } from "../page.ts"
import { administer, type Desk } from "./administer.ts"
import { foundApp, foundListPlace, foundTenant, placeOfTenant, requireActive, wholeApp } from "./found.ts"
import { given, moved, refuseBlank } from "./outcome.ts"

type Methods =
  | "createTenant"
  | "getTenant"
  | "listTenants"
  | "updateTenant"
  | "suspendTenant"
  | "resumeTenant"
  | "archiveTenant"

const schema = TenantSchema

export function tenants(deps: Deps): Pick<ServiceImpl<typeof AppAuthService>, Methods> {
  return {
    createTenant: (request, context) =>
      administer(deps, context, "write", async (desk) => {
        const app = await foundApp(desk, request.appId)
        const { name } = opened(request.tenant)
        await requireActive(desk, wholeApp(app.id))
        const { nowMs } = desk
        const made = { status: "ACTIVE", createdAtMs: nowMs, updatedAtMs: nowMs } as const
        const tenant: Tenant = { id: desk.newId("ten"), appId: app.id, name, ...made }
        await desk.tx.tenants.insert(tenant)
        await record(desk, "tenant.created", tenant)
        return { tenant: shape(tenant) }
      }),

    getTenant: (request, context) =>
      administer(deps, context, "read", async (desk) => ({ tenant: shape(await foundTenant(desk, request, "find")) })),

    listTenants: (request, context) =>
      administer(deps, context, "read", async (desk) => {
        const { appId, tenantId } = await foundListPlace(desk, { appId: request.appId, tenantId: "", contextId: "" })
        const filter = ["tenants", appId, tenantId ?? ""]
        const asked = pageAsked(deps.secrets, "ten", filter, request)
        const found =
          tenantId === null
            ? await desk.tx.tenants.list(appId, asked)
            : [await foundTenant(desk, { appId, tenantId }, "find")]
        const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
        return { tenants: page.map(shape), nextPageToken }
      }),

    updateTenant: (request, context) =>
      administer(deps, context, "write", async (desk) => {
        const tenant = await foundTenant(desk, request, "lock")
        const values = given(request.tenant, "tenant")
        const current = create(schema, shape(tenant))
        const { name } = changed(current, { desc: schema, values, mask: request.updateMask, path: "tenant" }).message
        refuseBlank(name, "tenant.name")
        if (tenant.status === "ARCHIVED") throw new Refused("STATE_CONFLICT")
        if (name === tenant.name) return { tenant: current }
        const updated = { ...tenant, name, updatedAtMs: desk.nowMs }
        await desk.tx.tenants.update(updated)
        await record(desk, "tenant.updated", updated)
        return { tenant: shape(updated) }
      }),

    suspendTenant: (request, context) => move(deps, context, request, "tenant.suspended", placeMoves.suspend),
    resumeTenant: (request, context) => move(deps, context, request, "tenant.resumed", placeMoves.resume),
    archiveTenant: (request, context) => move(deps, context, request, "tenant.archived", placeMoves.archive),
  }
}

function opened(asked: Asked | undefined): Asked {
  const tenant = given(asked, "tenant")
  refuseClosed(schema, tenant, "create", "tenant")
  refuseBlank(tenant.name, "tenant.name")
  return tenant
}

function move(
  deps: Deps,
  context: HandlerContext,
  of: { appId: string; tenantId: string },
  kind: AuditKind,
  to: Move<PlaceStatus>,
) {
  return administer(deps, context, "write", async (desk) => {
    const tenant = await foundTenant(desk, of, "lock")
    const next = moved(tenant, to)
    if (next === undefined) return { tenant: shape(tenant) }
    const updated = { ...next, updatedAtMs: desk.nowMs }
    await desk.tx.tenants.update(updated)
    if (to.to !== "ACTIVE") await desk.tx.endings.endByPlace(placeOfTenant(tenant), kind, desk.nowMs)
    else await desk.tx.endings.reopenPlace(placeOfTenant(tenant), desk.nowMs)
    await record(desk, kind, updated)
    return { tenant: shape(updated) }
  })
}

const record = (desk: Desk, kind: AuditKind, tenant: Tenant): Promise<void> =>
  desk.record(kind, { place: placeOfTenant(tenant), target: { type: "tenant", id: tenant.id } })

const shape = (of: Tenant): MessageInitShape<typeof TenantSchema> => ({
  id: of.id,
  appId: of.appId,
  name: of.name,
  status: Status[of.status],
  createdAt: timestampFromMs(of.createdAtMs),
  updatedAt: timestampFromMs(of.updatedAtMs),
})
