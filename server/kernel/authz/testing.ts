// Test data: callers, and a question that is allowed, for tests that change one thing.
import { newId } from "../ids.ts"
import type { AccessTokenClaims } from "../token/claims.ts"
import { contextOf } from "./context.ts"
import type { PermissionSnapshot } from "./effective.ts"
import type { HeldGrant, ResourceRef } from "./grants.ts"
import type { LivenessFacts } from "./liveness-ports.ts"
import type { Question } from "./question.ts"
import { noVersions } from "./versions.ts"

const random = new Uint8Array(10)
const seconds = 1_700_000_000
const now = seconds * 1_000

export const userClaims: AccessTokenClaims = {
  iss: "https://auth.example",
  aud: "svc-notes",
  sub: newId("prn", 1, random),
  jti: "jti_1",
  sid: newId("ses", 1, random),
  principal_type: "user",
  identity_id: newId("idn", 1, random),
  app_id: newId("app", 1, random),
  tenant_id: newId("ten", 1, random),
  scp: ["notes.read"],
  perm_ver: 1,
  amr: ["IDP_A"],
  iat: seconds,
  nbf: seconds,
  exp: seconds + 600,
  client_id: "notes-web",
  gty: "session",
  auth_time: seconds - 10,
}

const { sid, identity_id, auth_time, ...common } = userClaims
const servicePrincipal = newId("prn", 2, random)

export const serviceClaims: AccessTokenClaims = {
  ...common,
  sub: servicePrincipal,
  principal_type: "service",
  gty: "client_credentials",
  client_id: "svc-mail",
}

export const delegatedClaims: AccessTokenClaims = {
  ...common,
  ...(identity_id === undefined ? {} : { identity_id }),
  ...(sid === undefined ? {} : { osid: sid }),
  gty: "on_behalf_of",
  client_id: "svc-mail",
  act: { sub: servicePrincipal, principal_type: "service", client_id: "svc-mail" },
  job_id: "job-1",
}

/**
 * A snapshot with one grant of the role "editor", on the user's whole app unless `change` says otherwise. A resource is
 * in the user's tenant.
 */
export function snapshotOf(
  change: Partial<HeldGrant> = {},
  of: { permissions?: readonly string[]; scopes?: readonly string[]; inheritable?: boolean } = {},
): PermissionSnapshot {
  const { permissions = ["notes.note.edit"], scopes = ["notes.read"], inheritable = true } = of
  const tenantId = change.resource ? user.tenantId : null
  const app = { appId: user.appId, tenantId, contextId: null, resource: null }
  return {
    roles: new Map([["rol_1", { key: "editor", permissions: new Set(permissions), inheritable }]]),
    scopes: new Map(scopes.map((scope) => [scope, new Set(permissions)])),
    grants: [{ ...app, roleId: "rol_1", expiresAtMs: null, ...change }],
  }
}

export const user = contextOf(userClaims)
export const service = contextOf(serviceClaims)
export const delegated = contextOf(delegatedClaims)

export const resource: ResourceRef = {
  type: "note",
  id: "n1",
  appId: user.appId,
  tenantId: user.tenantId,
  contextId: null,
}

const session: NonNullable<LivenessFacts["session"]> = {
  status: "ACTIVE",
  idleExpiresAtMs: now + 86_400_000,
  absoluteExpiresAtMs: now + 86_400_000,
}

/** Liveness facts as of `question.nowMs`: everything is active except the changes. */
export function alive(
  change: Partial<LivenessFacts> = {},
  sessionChange: Partial<typeof session> = {},
): Pick<Question, "liveness"> {
  const active = {
    principal: "ACTIVE",
    identity: "ACTIVE",
    actor: "ACTIVE",
    membership: "ACTIVE",
    app: "ACTIVE",
    tenant: "ACTIVE",
    context: null,
    revoked: [],
    minimum: noVersions,
    current: null,
  } as const
  return { liveness: { asOfMs: now, facts: { ...active, session: { ...session, ...sessionChange }, ...change } } }
}

export const question: Question = {
  context: user,
  requirement: { is: "kinds", of: ["USER"] },
  expected: { issuer: userClaims.iss, audience: userClaims.aud },
  request: {},
  ...alive(),
  defaultFreshness: { maxStalenessMs: 60_000, onStale: "INTROSPECT" },
  snapshot: null,
  nowMs: now,
}
