import { create } from "@bufbuild/protobuf"
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import { appProblem } from "@signet/kernel/administration/app"
import { type Move, placeMoves } from "@signet/kernel/administration/moves"
import type { PlaceStatus } from "@signet/kernel/administration/records"
import { scopePermissionsProblem } from "@signet/kernel/administration/scopes"
import type { AuditKind } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import type { App } from "@signet/kernel/records"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { AppSchema } from "@signet/proto/auth/v1/apps"
import type { Deps } from "../deps.ts"
import { refuseClosed } from "../field-behavior.ts"
import { changed } from "../field-mask.ts"
import { pageAsked, pageFound } from "../page.ts"
import { type AdminTransaction, administer, requireInstallation } from "./administer.ts"
import { appShape, appValues } from "./app-shape.ts"
import { refuseStale } from "./etag.ts"
import { foundApp, wholeApp } from "./found.ts"
import { given, isSame, moved, refuse } from "./outcome.ts"

type Methods = "createApp" | "getApp" | "listApps" | "updateApp" | "suspendApp" | "resumeApp" | "archiveApp"

export function apps(deps: Deps): Pick<ServiceImpl<typeof AppAuthService>, Methods> {
  return {
    createApp: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        if (!admin.isInstallation) throw new Refused("APP_MISMATCH")
        const asked = given(request.app, "app")
        refuseClosed(AppSchema, asked, "create", "app")
        const values = appValues(asked)
        refuse(appProblem(values, { ...groundsOf(admin), before: null }))
        // A new app has no permissions yet.
        refuse(scopePermissionsProblem(values.scopes, new Set()))
        const { nowMs } = admin
        const made = { status: "ACTIVE", isInstallation: false, createdAtMs: nowMs, updatedAtMs: nowMs } as const
        const app: App = { ...values, ...made, id: admin.newId("app") }
        if (!(await admin.tx.administration.insertApp(app))) throw new Error("an app's id came twice")
        await record(admin, "app.created", app)
        return { app: appShape(app) }
      }),

    getApp: (request, context) =>
      administer(deps, context, "read", async (admin) => ({ app: appShape(await foundApp(admin, request.appId)) })),

    listApps: (request, context) =>
      administer(deps, context, "read", async (admin) => {
        const filter = ["apps", admin.isInstallation ? "" : admin.caller.appId]
        const asked = pageAsked(deps.secrets, "app", filter, request)
        const found = admin.isInstallation
          ? await admin.tx.administration.listApps(asked)
          : [await foundApp(admin, admin.caller.appId)]
        const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
        return { apps: page.map(appShape), nextPageToken }
      }),

    updateApp: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const app = await foundApp(admin, request.appId, "lock")
        const current = create(AppSchema, appShape(app))
        const change = { desc: AppSchema, values: given(request.app, "app"), mask: request.updateMask, path: "app" }
        const values = appValues(changed(current, change).message)
        if (app.status === "ARCHIVED") throw new Refused("STATE_CONFLICT")
        refuse(appProblem(values, { ...groundsOf(admin), before: app }))
        refuse(scopePermissionsProblem(values.scopes, await permissionsNamed(admin, app, values.scopes)))
        if (isSame(values, appValues(current))) return { app: current }
        refuseStale(AppSchema, current, change.values)
        const updated = { ...app, ...values, updatedAtMs: admin.nowMs }
        await admin.tx.apps.putApp(updated)
        await record(admin, "app.updated", updated)
        return { app: appShape(updated) }
      }),

    suspendApp: (request, context) => move(deps, context, request.appId, "app.suspended", placeMoves.suspend),
    resumeApp: (request, context) => move(deps, context, request.appId, "app.resumed", placeMoves.resume),
    archiveApp: (request, context) => move(deps, context, request.appId, "app.archived", placeMoves.archive),
  }
}

/** The existing keys among the permissions that the scopes name. Their rows are locked until the scopes are stored. */
async function permissionsNamed(
  { tx }: AdminTransaction,
  { id }: App,
  scopes: App["scopes"],
): Promise<ReadonlySet<string>> {
  const named = scopes.flatMap(({ permissions = [] }) => permissions)
  return new Set((await tx.roles.findPermissions(id, named)).map(({ key }) => key))
}

function move(deps: Deps, context: HandlerContext, id: string, kind: AuditKind, to: Move<PlaceStatus>) {
  return administer(deps, context, "write", async (admin) => {
    requireInstallation(admin)
    const app = await foundApp(admin, id, "lock")
    // Nobody could resume the installation's app: its administrators would be locked out with it.
    if (app.isInstallation && to.to !== "ACTIVE")
      throw new Refused("IN_USE", { message: "the installation's own app must stay active" })
    const next = moved(app, to)
    if (next === undefined) return { app: appShape(app) }
    const updated = { ...next, updatedAtMs: admin.nowMs }
    await admin.tx.apps.putApp(updated)
    if (to.to !== "ACTIVE") await admin.tx.endings.endByPlace(wholeApp(app.id), kind, admin.nowMs)
    else await admin.tx.endings.reopenPlace(wholeApp(app.id), admin.nowMs)
    await record(admin, kind, updated)
    return { app: appShape(updated) }
  })
}

const record = (admin: AdminTransaction, kind: AuditKind, { id }: App): Promise<void> =>
  admin.record(kind, { place: wholeApp(id), target: { type: "app", id } })

const groundsOf = ({ deps, isInstallation }: AdminTransaction) => ({
  authAudience: deps.authAudience,
  isLoopbackAllowed: deps.isLoopbackAllowed,
  isInstallationAdmin: isInstallation,
})
