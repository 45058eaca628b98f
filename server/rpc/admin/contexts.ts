import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import { type Move, placeMoves } from "@signet/kernel/administration/moves"
import type { Context, PlaceStatus } from "@signet/kernel/administration/records"
import type { AuditKind } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { PlaceStatus as Status } from "@signet/proto/auth/v1/apps"
import { type Context as Asked, ContextSchema } from "@signet/proto/auth/v1/contexts"
import type { Deps } from "../deps.ts"
import { refuseClosed } from "../field-behavior.ts"
import { changed } from "../field-mask.ts"
import { pageAsked, pageFound } from "../page.ts"
import { administer, type Desk } from "./administer.ts"
import { foundContext, foundListPlace, foundPlace, placeOfContext, requireActive } from "./found.ts"
import { given, moved, refuseBlank } from "./outcome.ts"

type Methods =
  | "createContext"
  | "getContext"
  | "listContexts"
  | "updateContext"
  | "suspendContext"
  | "resumeContext"
  | "archiveContext"

const schema = ContextSchema

export function contexts(deps: Deps): Pick<ServiceImpl<typeof AppAuthService>, Methods> {
  return {
    createContext: (request, call) =>
      administer(deps, call, "write", async (desk) => {
        const { tenantId, type, name } = opened(request.context)
        const { place } = await foundPlace(desk, { appId: request.appId, tenantId, contextId: "" })
        await requireActive(desk, place)
        const { nowMs } = desk
        const made = { status: "ACTIVE", createdAtMs: nowMs, updatedAtMs: nowMs } as const
        const context: Context = { ...place, id: desk.newId("ctx"), type, name, ...made }
        await desk.tx.contexts.insert(context)
        await record(desk, "context.created", context)
        return { context: shape(context) }
      }),

    getContext: (request, call) =>
      administer(deps, call, "read", async (desk) => ({ context: shape(await foundContext(desk, request, "find")) })),

    listContexts: (request, call) =>
      administer(deps, call, "read", async (desk) => {
        const { appId, tenantId } = request
        const place = await foundListPlace(desk, { appId, tenantId, contextId: "" })
        const filter = ["contexts", place.appId, place.tenantId ?? "", place.contextId ?? ""]
        const asked = pageAsked(deps.secrets, "ctx", filter, request)
        const found =
          place.contextId === null
            ? await desk.tx.contexts.list(place.appId, place.tenantId, asked)
            : [await foundContext(desk, { appId, contextId: place.contextId }, "find")]
        const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
        return { contexts: page.map(shape), nextPageToken }
      }),

    updateContext: (request, call) =>
      administer(deps, call, "write", async (desk) => {
        const context = await foundContext(desk, request, "lock")
        const values = given(request.context, "context")
        const current = create(schema, shape(context))
        const { name } = changed(current, { desc: schema, values, mask: request.updateMask, path: "context" }).message
        refuseBlank(name, "context.name")
        if (context.status === "ARCHIVED") throw new Refused("STATE_CONFLICT")
        if (name === context.name) return { context: current }
        const updated = { ...context, name, updatedAtMs: desk.nowMs }
        await desk.tx.contexts.update(updated)
        await record(desk, "context.updated", updated)
        return { context: shape(updated) }
      }),

    suspendContext: (request, call) => move(deps, call, request, "context.suspended", placeMoves.suspend),
    resumeContext: (request, call) => move(deps, call, request, "context.resumed", placeMoves.resume),
    archiveContext: (request, call) => move(deps, call, request, "context.archived", placeMoves.archive),
  }
}

function opened(asked: Asked | undefined): Asked {
  const context = given(asked, "context")
  refuseClosed(schema, context, "create", "context")
  refuseBlank(context.type, "context.type")
  refuseBlank(context.name, "context.name")
  return context
}

function move(
  deps: Deps,
  call: HandlerContext,
  of: { appId: string; contextId: string },
  kind: AuditKind,
  to: Move<PlaceStatus>,
) {
  return administer(deps, call, "write", async (desk) => {
    const context = await foundContext(desk, of, "lock")
    const next = moved(context, to)
    if (next === undefined) return { context: shape(context) }
    const updated = { ...next, updatedAtMs: desk.nowMs }
    await desk.tx.contexts.update(updated)
    if (to.to !== "ACTIVE") await desk.tx.endings.endByPlace(placeOfContext(context), kind, desk.nowMs)
    else await desk.tx.endings.reopenPlace(placeOfContext(context), desk.nowMs)
    await record(desk, kind, updated)
    return { context: shape(updated) }
  })
}

const record = (desk: Desk, kind: AuditKind, context: Context): Promise<void> =>
  desk.record(kind, { place: placeOfContext(context), target: { type: "context", id: context.id } })

const shape = (of: Context): MessageInitShape<typeof ContextSchema> => ({
  id: of.id,
  appId: of.appId,
  tenantId: of.tenantId ?? "",
  type: of.type,
  name: of.name,
  status: Status[of.status],
  createdAt: timestampFromMs(of.createdAtMs),
  updatedAt: timestampFromMs(of.updatedAtMs),
})
