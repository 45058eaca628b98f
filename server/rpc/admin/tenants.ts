import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { ServiceImpl } from "@connectrpc/connect"
import type { Tenant } from "@signet/kernel/administration/records"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { PlaceStatus as Status } from "@signet/proto/auth/v1/apps"
import { TenantSchema } from "@signet/proto/auth/v1/tenants"
import type { Deps } from "../deps.ts"
import { pageAsked, pageFound, wanted } from "../page.ts"
import { administer } from "./administer.ts"
import { withEtag } from "./etag.ts"
import { foundApp, foundListPlace, foundTenant, placeOfTenant, requireActive, wholeApp } from "./found.ts"
import { refuseBlank } from "./outcome.ts"
import { placeResource } from "./place-resource.ts"

type Methods =
  | "createTenant"
  | "getTenant"
  | "listTenants"
  | "updateTenant"
  | "suspendTenant"
  | "resumeTenant"
  | "archiveTenant"

export function tenants(deps: Deps): Pick<ServiceImpl<typeof AppAuthService>, Methods> {
  const resource = placeResource(deps, {
    type: "tenant",
    schema: TenantSchema,
    found: foundTenant,
    store: ({ tx }) => tx.tenants,
    placeOf: placeOfTenant,
    shape,
  })
  return {
    createTenant: (request, call) =>
      administer(deps, call, "write", async (admin) => {
        const app = await foundApp(admin, request.appId)
        const { name } = resource.asked(request.tenant)
        refuseBlank(name, "tenant.name")
        await requireActive(admin, wholeApp(app.id))
        const { nowMs } = admin
        const made = { status: "ACTIVE", createdAtMs: nowMs, updatedAtMs: nowMs } as const
        const tenant: Tenant = { id: admin.newId("ten"), appId: app.id, name, ...made }
        await admin.tx.tenants.insert(tenant)
        await resource.record(admin, "tenant.created", tenant)
        return { tenant: shape(tenant) }
      }),

    getTenant: async (request, call) => ({ tenant: await resource.get(request, call) }),

    listTenants: (request, call) =>
      administer(deps, call, "read", async (admin) => {
        const { appId, tenantId } = await foundListPlace(admin, { appId: request.appId, tenantId: "", contextId: "" })
        const { tenantIds } = request
        const filter = ["tenants", appId, tenantId ?? "", ...tenantIds]
        const asked = pageAsked(deps.secrets, "ten", filter, request)
        const found =
          tenantId === null
            ? await admin.tx.tenants.list(appId, tenantIds, asked)
            : wanted(tenantIds, await foundTenant(admin, { appId, tenantId }, "find"))
        const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
        return { tenants: page.map(shape), nextPageToken }
      }),

    updateTenant: async (request, call) => ({
      tenant: await resource.rename(request, call, { values: request.tenant, mask: request.updateMask }),
    }),

    suspendTenant: async (request, call) => ({ tenant: await resource.suspend(request, call) }),
    resumeTenant: async (request, call) => ({ tenant: await resource.resume(request, call) }),
    archiveTenant: async (request, call) => ({ tenant: await resource.archive(request, call) }),
  }
}

const shape = (of: Tenant): MessageInitShape<typeof TenantSchema> =>
  withEtag(TenantSchema, {
    id: of.id,
    appId: of.appId,
    name: of.name,
    status: Status[of.status],
    createdAt: timestampFromMs(of.createdAtMs),
    updatedAt: timestampFromMs(of.updatedAtMs),
  })
