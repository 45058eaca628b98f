// Random apps with tenants, contexts and resources, and a principal's grants in them.
import type { Place } from "@signet/kernel/administration/ports"
import type { PermissionSnapshot, SnapshotRole } from "@signet/kernel/authz/effective"
import type { HeldGrant, ResourceRef } from "@signet/kernel/authz/grants"
import type { AppId, ContextId, TenantId } from "@signet/kernel/ids"
import fc from "fast-check"

export interface GrantModel {
  readonly nowMs: number
  readonly snapshot: PermissionSnapshot
  /** Scopes and place of the token. */
  readonly scopes: ReadonlySet<string>
  readonly place: Place
  /** Apps, tenants and contexts: the places of resources. */
  readonly places: readonly Place[]
  readonly resources: readonly ResourceRef[]
  readonly permission: string
  /** The resource of the question, one of `resources`. */
  readonly resource: ResourceRef
}

const nowMs = 1_700_000_000_000
const permissions = ["note.read", "note.edit", "note.share"] as const
const roleIds = ["reader", "editor", "owner", "gone"] as const
const scopes = ["read", "write"] as const

const place = (app: string, tenant: string | null, context: string | null): Place => ({
  appId: app as AppId,
  tenantId: tenant as TenantId | null,
  contextId: context as ContextId | null,
})

// Ids of tenants and contexts are globally unique, like ours. Owners choose the ids of resources.
const places: fc.Arbitrary<readonly Place[]> = fc
  .record({ apps: fc.integer({ min: 1, max: 2 }), tenants: fc.nat(2), contexts: fc.nat(2), ofApp: fc.nat(1) })
  .map(({ apps, tenants, contexts, ofApp }) =>
    counted(apps, "app").flatMap((app) => [
      place(app, null, null),
      ...counted(ofApp, `${app}-own`).map((context) => place(app, null, context)),
      ...counted(tenants, `${app}-tenant`).flatMap((tenant) => [
        place(app, tenant, null),
        ...counted(contexts, `${tenant}-context`).map((context) => place(app, tenant, context)),
      ]),
    ]),
  )

const counted = (count: number, name: string) => Array.from({ length: count }, (_, i) => `${name}${i}`)

const role = (key: string): fc.Arbitrary<SnapshotRole> =>
  fc.record({
    key: fc.constant(key),
    permissions: fc.subarray([...permissions], { minLength: 1 }).map((some) => new Set(some)),
    inheritable: fc.boolean(),
  })

/** Any of these; the first two more often, so that both decisions are about equally frequent. */
const anyOf = <Value>(values: readonly Value[]): fc.Arbitrary<Value> =>
  fc.oneof(fc.constantFrom(...values.slice(0, 2)), fc.constantFrom(...values))

const expiry = fc.constantFrom(null, null, null, nowMs + 1, nowMs, nowMs - 1)

export const grantModels: fc.Arbitrary<GrantModel> = places.chain((all) => {
  const resource = fc.record({
    type: fc.constantFrom("note", "folder"),
    id: fc.constantFrom("1", "2"),
    in: fc.constantFrom(...all),
  })
  return fc.array(resource, { minLength: 1, maxLength: 4 }).chain((some) => {
    const resources: readonly ResourceRef[] = some.map(({ in: of, ...rest }) => ({ ...rest, ...of }))
    const node: fc.Arbitrary<Pick<HeldGrant, "appId" | "tenantId" | "contextId" | "resource">> = fc.oneof(
      anyOf(resources).map(({ type, id, appId, tenantId, contextId }) => ({
        appId,
        tenantId,
        contextId,
        resource: { type, id },
      })),
      anyOf([...around(resources[0]), ...all]).map((of) => ({ ...of, resource: null })),
      // The same id in another place is another resource.
      fc.constantFrom(...all).map((of) => ({ ...of, resource: nameOf(resources[0]) })),
    )
    const grant = fc
      .tuple(node, anyOf(roleIds), expiry)
      .map(([at, roleId, expiresAtMs]): HeldGrant => ({ ...at, roleId, expiresAtMs }))
    const held = fc.subarray([...scopes], { minLength: 1 })
    return fc.record({
      nowMs: fc.constant(nowMs),
      snapshot: fc.record({
        // An archived role is in no snapshot.
        roles: fc.tuple(role("reader"), role("editor"), role("owner")).map((roles) => byKey(roles)),
        scopes: fc
          .tuple(...scopes.map(() => fc.subarray([...permissions], { minLength: 1 })))
          .map((lets) => new Map(scopes.map((scope, i) => [scope, new Set<string>(lets[i])]))),
        grants: fc.array(grant, { maxLength: 6 }),
      }),
      scopes: held.map((some) => new Set<string>(some)),
      place: fc.oneof(fc.constant(placeOf(resources[0])), fc.constantFrom(...all)),
      places: fc.constant(all),
      resources: fc.constant(resources),
      permission: anyOf(permissions),
      resource: anyOf(resources),
    })
  })
})

const nameOf = (resource: ResourceRef | undefined) => ({ type: resource?.type ?? "note", id: resource?.id ?? "1" })

/** The app and the tenant of a resource, or the app twice. */
function around(resource: ResourceRef | undefined): readonly Place[] {
  const { appId, tenantId } = placeOf(resource)
  return [place(appId, null, null), place(appId, tenantId, null)]
}

const byKey = (roles: readonly SnapshotRole[]) => new Map(roles.map((one) => [one.key, one]))

function placeOf(resource: ResourceRef | undefined): Place {
  if (resource === undefined) throw new Error("no resource")
  const { appId, tenantId, contextId } = resource
  return { appId, tenantId, contextId }
}
