// The roles, scopes, resources and callers of a policy file.
import type { Place } from "@signet/kernel/administration/ports"
import { type AuthContext, contextOf } from "@signet/kernel/authz/context"
import type { PermissionSnapshot, SnapshotRole } from "@signet/kernel/authz/effective"
import type { HeldGrant, ResourceRef } from "@signet/kernel/authz/grants"
import type { Liveness } from "@signet/kernel/authz/liveness"
import type { LivenessFacts } from "@signet/kernel/authz/liveness-ports"
import { noVersions } from "@signet/kernel/authz/versions"
import type { AccessTokenClaims } from "@signet/kernel/token/claims"
import type { Value } from "./yaml-reader.ts"

export interface World {
  readonly nowMs: number
  /** The default app. */
  readonly app: string
  readonly roles: ReadonlyMap<string, SnapshotRole>
  readonly scopes: ReadonlyMap<string, ReadonlySet<string>>
  readonly resources: ReadonlyMap<string, ResourceRef>
}

export interface Caller {
  readonly context: AuthContext
  readonly liveness: Liveness
  readonly snapshot: PermissionSnapshot
}

/** Issuer and audience of every token. */
export const expected = { issuer: "https://issuer.test", audience: "svc-test" }

export function readWorld(file: ReadonlyMap<string, Value>): World {
  const app = file.get("app")?.text() ?? "app"
  return {
    nowMs: timeOf(file.get("now")) ?? Date.UTC(2026, 0, 1),
    app,
    roles: mapped(file.get("roles"), roleOf),
    scopes: mapped(file.get("scopes"), (value) => textsOf(value)),
    resources: mapped(file.get("resources"), (value, id) => resourceOf(value, id, app)),
  }
}

const callerNames = [
  "kind",
  "app",
  "tenant",
  "context",
  "scopes",
  "grants",
  "actor",
  "job",
  "device",
  "signed_in_seconds_ago",
  "issued_seconds_ago",
  "known_seconds_ago",
  "status",
]

export function readCaller(value: Value, name: string, world: World): Caller {
  const of = value.map(callerNames)
  const kind = of.get("kind")?.word(["USER", "SERVICE"]) ?? "USER"
  const claims = claimsOf(of, name, kind === "USER", world)
  const context = contextOf(claims)
  const grants = of.get("grants")?.list() ?? []
  const knownMs = secondsOf(of.get("known_seconds_ago")) * 1_000
  return {
    context,
    liveness: { facts: factsOf(of.get("status"), context), asOfMs: world.nowMs - knownMs },
    snapshot: { roles: world.roles, scopes: world.scopes, grants: grants.map((grant) => grantOf(grant, world)) },
  }
}

/** Uses a name of the file as an id: nothing is issued or verified here. */
const idOf = <Id extends string>(name: string): Id => name as Id

function claimsOf(of: ReadonlyMap<string, Value>, sub: string, isUser: boolean, world: World): AccessTokenClaims {
  const text = (name: string) => of.get(name)?.text()
  const nowSeconds = Math.floor(world.nowMs / 1_000)
  const iat = nowSeconds - secondsOf(of.get("issued_seconds_ago"))
  const actor = text("actor")
  const isDelegated = actor !== undefined
  const [tenant, context, device] = [of.get("tenant"), of.get("context"), of.get("device")]
  return {
    iss: expected.issuer,
    aud: expected.audience,
    sub: idOf(sub),
    jti: "token",
    principal_type: isUser ? "user" : "service",
    ...(isUser && { identity_id: idOf(sub), auth_time: nowSeconds - secondsOf(of.get("signed_in_seconds_ago")) }),
    ...(isUser && !isDelegated && { sid: idOf("session") }),
    app_id: idOf(text("app") ?? world.app),
    ...(tenant && { tenant_id: idOf(tenant.text()) }),
    ...(context && { context_id: idOf(context.text()) }),
    scp: [...textsOf(of.get("scopes"))],
    perm_ver: 0,
    amr: [],
    iat,
    nbf: iat,
    exp: iat + 600,
    client_id: actor ?? sub,
    gty: isDelegated ? "on_behalf_of" : isUser ? "session" : "client_credentials",
    ...(device && { did: idOf(device.text()) }),
    ...(isDelegated && {
      act: { sub: idOf(actor), principal_type: "service", client_id: actor },
      osid: idOf("session"),
      job_id: text("job") ?? "job",
    }),
  }
}

const statusNames = ["principal", "actor", "identity", "session", "membership", "app", "tenant", "context"] as const

function factsOf(value: Value | undefined, context: AuthContext): LivenessFacts {
  const statuses = value?.map(statusNames) ?? new Map<string, Value>()
  const statusOf = (name: (typeof statusNames)[number]) => statuses.get(name)?.text() ?? "ACTIVE"
  return {
    principal: statusOf("principal"),
    actor: statusOf("actor"),
    identity: statusOf("identity"),
    session: { status: statusOf("session"), idleExpiresAtMs: Infinity, absoluteExpiresAtMs: Infinity },
    membership: statusOf("membership"),
    app: statusOf("app"),
    tenant: context.tenantId === null ? null : statusOf("tenant"),
    context: context.contextId === null ? null : statusOf("context"),
    revoked: [],
    minimum: noVersions,
    current: null,
  } as LivenessFacts
}

function roleOf(value: Value, key: string): SnapshotRole {
  const of = value.map(["permissions", "inheritable"])
  return { key, permissions: textsOf(of.get("permissions")), inheritable: of.get("inheritable")?.flag() ?? false }
}

const placeNames = ["app", "tenant", "context"]

function placeOf(of: ReadonlyMap<string, Value>, app: string): Place {
  const [tenant, context] = [of.get("tenant"), of.get("context")]
  return {
    appId: idOf(of.get("app")?.text() ?? app),
    tenantId: tenant === undefined ? null : idOf(tenant.text()),
    contextId: context === undefined ? null : idOf(context.text()),
  }
}

function resourceOf(value: Value, id: string, app: string): ResourceRef {
  const of = value.map(["type", ...placeNames])
  return { type: of.get("type")?.text() ?? value.fail("a resource must have a type"), id, ...placeOf(of, app) }
}

function grantOf(value: Value, { roles, resources, app }: World): HeldGrant {
  const of = value.map(["role", "resource", "until", ...placeNames])
  const role = of.get("role") ?? value.fail("a grant must name a role")
  if (!roles.has(role.text())) role.fail(`unknown role "${role.text()}"`)
  const named = of.get("resource")
  const resource = named && (resources.get(named.text()) ?? named.fail(`unknown resource "${named.text()}"`))
  if (resource !== undefined && placeNames.some((name) => of.has(name))) {
    value.fail("a grant on a resource must be in the resource's tenant and context")
  }
  const { appId, tenantId, contextId } = resource ?? placeOf(of, app)
  return {
    roleId: role.text(),
    appId,
    tenantId,
    contextId,
    resource: resource === undefined ? null : { type: resource.type, id: resource.id },
    expiresAtMs: timeOf(of.get("until")) ?? null,
  }
}

function timeOf(value: Value | undefined): number | undefined {
  if (value === undefined) return undefined
  const text = value.text()
  const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? value.fail("this must be a time such as 2026-01-01T00:00:00Z") : ms
}

const secondsOf = (value: Value | undefined): number => value?.number() ?? 0

const textsOf = (value: Value | undefined): ReadonlySet<string> => new Set(value?.list().map((one) => one.text()) ?? [])

export function mapped<To>(value: Value | undefined, of: (value: Value, name: string) => To): ReadonlyMap<string, To> {
  return new Map([...(value?.map() ?? [])].map(([name, inner]) => [name, of(inner, name)]))
}
