import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { ServiceImpl } from "@connectrpc/connect"
import type { Context } from "@signet/kernel/administration/records"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { PlaceStatus as Status } from "@signet/proto/auth/v1/apps"
import { ContextSchema } from "@signet/proto/auth/v1/contexts"
import type { Deps } from "../deps.ts"
import { pageAsked, pageFound, wanted } from "../page.ts"
import { administer } from "./administer.ts"
import { withEtag } from "./etag.ts"
import { foundContext, foundListPlace, foundPlace, placeOfContext, requireActive } from "./found.ts"
import { refuseBlank } from "./outcome.ts"
import { placeResource } from "./place-resource.ts"

type Methods =
  | "createContext"
  | "getContext"
  | "listContexts"
  | "updateContext"
  | "suspendContext"
  | "resumeContext"
  | "archiveContext"

export function contexts(deps: Deps): Pick<ServiceImpl<typeof AppAuthService>, Methods> {
  const resource = placeResource(deps, {
    type: "context",
    schema: ContextSchema,
    found: foundContext,
    store: ({ tx }) => tx.contexts,
    placeOf: placeOfContext,
    shape,
  })
  return {
    createContext: (request, call) =>
      administer(deps, call, "write", async (admin) => {
        const { tenantId, type, name } = resource.asked(request.context)
        refuseBlank(type, "context.type")
        refuseBlank(name, "context.name")
        const { place } = await foundPlace(admin, { appId: request.appId, tenantId, contextId: "" })
        await requireActive(admin, place)
        const { nowMs } = admin
        const made = { status: "ACTIVE", createdAtMs: nowMs, updatedAtMs: nowMs } as const
        const context: Context = { ...place, id: admin.newId("ctx"), type, name, ...made }
        await admin.tx.contexts.insert(context)
        await resource.record(admin, "context.created", context)
        return { context: shape(context) }
      }),

    getContext: async (request, call) => ({ context: await resource.get(request, call) }),

    listContexts: (request, call) =>
      administer(deps, call, "read", async (admin) => {
        const { appId, tenantId, contextIds: ids } = request
        const place = await foundListPlace(admin, { appId, tenantId, contextId: "" })
        const filter = ["contexts", place.appId, place.tenantId ?? "", place.contextId ?? "", ...ids]
        const asked = pageAsked(deps.secrets, "ctx", filter, request)
        const found =
          place.contextId === null
            ? await admin.tx.contexts.list(place.appId, { tenantId: place.tenantId, ids }, asked)
            : wanted(ids, await foundContext(admin, { appId, contextId: place.contextId }, "find"))
        const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
        return { contexts: page.map(shape), nextPageToken }
      }),

    updateContext: async (request, call) => ({
      context: await resource.rename(request, call, { values: request.context, mask: request.updateMask }),
    }),

    suspendContext: async (request, call) => ({ context: await resource.suspend(request, call) }),
    resumeContext: async (request, call) => ({ context: await resource.resume(request, call) }),
    archiveContext: async (request, call) => ({ context: await resource.archive(request, call) }),
  }
}

const shape = (of: Context): MessageInitShape<typeof ContextSchema> =>
  withEtag(ContextSchema, {
    id: of.id,
    appId: of.appId,
    tenantId: of.tenantId ?? "",
    type: of.type,
    name: of.name,
    status: Status[of.status],
    createdAt: timestampFromMs(of.createdAtMs),
    updatedAt: timestampFromMs(of.updatedAtMs),
  })
