// Look-ups of the records that a request names. A record of another app, or outside the caller's scope, counts as
// missing.
import type { Place } from "@signet/kernel/administration/ports"
import type { Context, Tenant } from "@signet/kernel/administration/records"
import { reachMismatch } from "@signet/kernel/authz/admin-reach"
import { Refused } from "@signet/kernel/errors"
import { type AppId, type PrincipalId, parseId } from "@signet/kernel/ids"
import type { App, Membership } from "@signet/kernel/records"
import { type AdminTransaction, unresolved } from "./administer.ts"

export type Take = "find" | "lock"

/** The app as a whole. A caller inside of a tenant cannot reach it. */
export async function foundApp(admin: AdminTransaction, idText: string, take: Take = "find"): Promise<App> {
  const id = parseId("app", idText)
  const app = id && (await (take === "lock" ? admin.tx.administration.lockApp(id) : admin.tx.apps.findApp(id)))
  if (app === undefined) throw unresolved()
  admin.reach(wholeApp(app.id))
  return app
}

/** The caller's app, whatever the caller's tenant or context: for facts that every member may read. */
export async function foundOwnApp(admin: AdminTransaction, idText: string): Promise<App> {
  const id = parseId("app", idText)
  const app = id && (await admin.tx.apps.findApp(id))
  if (app === undefined) throw unresolved()
  admin.reach(narrowed(admin, wholeApp(app.id)))
  return app
}

export async function foundTenant(
  admin: AdminTransaction,
  of: { appId: string; tenantId: string },
  take: Take,
): Promise<Tenant> {
  const id = parseId("ten", of.tenantId)
  const tenant = foundIn(of.appId, id && (await admin.tx.tenants[take](id)))
  admin.reach(placeOfTenant(tenant))
  return tenant
}

export async function foundContext(
  admin: AdminTransaction,
  of: { appId: string; contextId: string },
  take: Take,
): Promise<Context> {
  const id = parseId("ctx", of.contextId)
  const context = foundIn(of.appId, id && (await admin.tx.contexts[take](id)))
  admin.reach(placeOfContext(context))
  return context
}

/** @throws Refused RESOURCE_UNRESOLVED unless the record exists in the app that the request names. */
export function foundIn<T extends { appId: AppId }>(appIdText: string, record: T | undefined): T {
  if (record === undefined || record.appId !== appIdText) throw unresolved()
  return record
}

export const wholeApp = (appId: AppId): Place => ({ appId, tenantId: null, contextId: null })
export const placeOfTenant = ({ appId, id }: Tenant): Place => ({ appId, tenantId: id, contextId: null })
export const placeOfContext = ({ appId, tenantId, id }: Context): Place => ({ appId, tenantId, contextId: id })
export const placeOf = ({ appId, tenantId, contextId }: Place): Place => ({ appId, tenantId, contextId })

interface Asked {
  readonly appId: string
  /** Empty for none. The tenant of a named context is filled in. */
  readonly tenantId: string
  readonly contextId: string
}

/** The place that a request names, and its app. */
export async function foundPlace(admin: AdminTransaction, asked: Asked): Promise<{ app: App; place: Place }> {
  const { app, place } = await placeNamed(admin, asked)
  admin.reach(place)
  return { app, place }
}

/** As `foundPlace`, for lists: an omitted tenant or context is the caller's own. */
export async function foundListPlace(admin: AdminTransaction, asked: Asked): Promise<Place> {
  const place = narrowed(admin, (await placeNamed(admin, asked)).place)
  admin.reach(place)
  return place
}

/** Does not check the caller's scope: a caller inside of a context may name the context's tenant. */
async function placeNamed(
  admin: AdminTransaction,
  { appId, tenantId, contextId }: Asked,
): Promise<{ app: App; place: Place }> {
  const { tenants, contexts } = admin.tx
  const app = await foundOwnApp(admin, appId)
  const ten = parseId("ten", tenantId)
  const tenant = tenantId === "" ? null : foundIn(app.id, ten && (await tenants.find(ten)))
  if (contextId === "") return { app, place: { ...wholeApp(app.id), tenantId: tenant?.id ?? null } }
  const ctx = parseId("ctx", contextId)
  const context = foundIn(app.id, ctx && (await contexts.find(ctx)))
  if (tenant !== null && context.tenantId !== tenant.id) throw unresolved()
  return { app, place: placeOfContext(context) }
}

/** Fills in the caller's own tenant and context where the request omits them. */
function narrowed({ caller, isInstallation }: AdminTransaction, place: Place): Place {
  if (isInstallation || place.appId !== caller.appId) return place
  const { tenantId, contextId } = place
  return { ...place, tenantId: tenantId ?? caller.tenantId, contextId: contextId ?? caller.contextId }
}

/**
 * Locks a place against a change of its status, before a record is inserted there.
 *
 * @throws Refused STATE_CONFLICT unless app, tenant and context are active.
 */
export async function requireActive({ tx }: AdminTransaction, place: Place): Promise<void> {
  const { app, tenant, context } = await tx.places.lockShared(place)
  const isActive = [app, tenant, context].every((status) => status === null || status === "ACTIVE")
  if (!isActive) throw new Refused("STATE_CONFLICT", { message: "the parent app, tenant or context is not active" })
}

/**
 * A principal that the caller may know. An administrator of the installation knows all principals; others know
 * the active members of the places that they administer. So an id reveals nothing about a principal elsewhere.
 *
 * @param take Locked by default: a concurrent removal comes before, and is seen, or after, and revokes what this call
 *   inserts.
 * @returns The memberships that the caller may see, of any status.
 * @throws Refused RESOURCE_UNRESOLVED
 */
export async function foundMember(
  admin: AdminTransaction,
  appId: AppId,
  idText: string,
  take: Take = "lock",
): Promise<{ id: PrincipalId; memberships: readonly Membership[] }> {
  const { tx, caller, isInstallation } = admin
  const id = parseId("prn", idText)
  const principal = id && (await (take === "lock" ? tx.principals.lock(id) : tx.identities.findPrincipal(id)))
  if (principal === undefined || principal.status === "DELETED") throw unresolved()
  const all = await tx.identities.findMemberships(principal.id, appId)
  const memberships = all.filter((each) => reachMismatch(caller, isInstallation, each) === undefined)
  if (memberships.length === 0 && !isInstallation) throw unresolved()
  return { id: principal.id, memberships }
}
