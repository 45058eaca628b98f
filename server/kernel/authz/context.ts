import type { AppId, ContextId, DeviceId, IdentityId, PrincipalId, SessionId, TenantId } from "../ids.ts"
import type { PrincipalKind } from "../records.ts"
import type { AccessTokenClaims, ActClaim, GrantType } from "../token/claims.ts"
import { type AuthorityVersions, versionsOf } from "./versions.ts"

export type AuthMethod =
  | "USER_SESSION"
  | "CLIENT_CREDENTIALS"
  | "PERSONAL_ACCESS_TOKEN"
  | "ON_BEHALF_OF"
  | "ACTOR_ENVELOPE"
  | "INTERNAL_JOB"

export interface PrincipalRef {
  readonly id: PrincipalId
  readonly kind: PrincipalKind
}

export interface Delegation {
  readonly actor: PrincipalRef
  /** The acting service's client id, by which requirements may name it. */
  readonly actorClientId: string
  readonly jobId: string
  readonly originSessionId: SessionId | null
  readonly expiresAtMs: number
  /** How many services stand between the user and the caller: 1 for one. */
  readonly depth: number
}

/** Who is calling. Built from a verified credential, frozen, handed to the authorizer and to the handler. */
export interface AuthContext {
  readonly principal: PrincipalRef
  readonly identityId: IdentityId | null
  readonly appId: AppId
  readonly tenantId: TenantId | null
  readonly contextId: ContextId | null
  readonly sessionId: SessionId | null
  /** The device that the session is bound to. */
  readonly deviceId: DeviceId | null
  readonly tokenId: string | null
  readonly credentialId: string | null
  readonly issuer: string
  readonly audience: string
  readonly scopes: ReadonlySet<string>
  /** Keys of the roles held in the token's whole app, tenant and context. */
  readonly roles: ReadonlySet<string> | NotLoaded
  /** Held there or on a resource there, as far as the token's scopes let them be used. */
  readonly permissions: ReadonlySet<string> | NotLoaded
  readonly method: AuthMethod
  readonly actor: PrincipalRef | null
  readonly delegation: Delegation | null
  readonly claims: Readonly<Record<string, unknown>>
  /** When the user signed in; null for services. */
  readonly authTimeMs: number | null
  readonly issuedAtMs: number
  readonly expiresAtMs: number
  readonly permVer: number
  /** What permVer is the sum of. */
  readonly versions: AuthorityVersions
}

/**
 * In place of roles and permissions that nobody has read: no token carries them. It is no set, so that it cannot be taken
 * for "none". Of the registry: a process may load this as an ES module and by `require`.
 */
export const notLoaded: unique symbol = Symbol.for("signet.guard.not-loaded")
export type NotLoaded = typeof notLoaded

/** Roles and permissions that the principal holds in the token's app, tenant and context. */
export interface Grants {
  readonly roles: ReadonlySet<string>
  readonly permissions: ReadonlySet<string>
}

const methods: Record<GrantType, AuthMethod> = {
  session: "USER_SESSION",
  client_credentials: "CLIENT_CREDENTIALS",
  pat: "PERSONAL_ACCESS_TOKEN",
  on_behalf_of: "ON_BEHALF_OF",
}

/**
 * Who the claims of a verified token say is calling. The context can be shared between calls: nothing in it changes.
 *
 * @param payload The claims as they are in the token, with those that are not known here.
 */
export function contextOf(
  claims: AccessTokenClaims,
  payload: Readonly<Record<string, unknown>> = { ...claims },
): AuthContext {
  const delegation = claims.act === undefined ? null : delegationOf(claims, claims.act)
  return Object.freeze({
    principal: Object.freeze({ id: claims.sub, kind: claims.principal_type === "user" ? "USER" : "SERVICE" }),
    identityId: claims.identity_id ?? null,
    appId: claims.app_id,
    tenantId: claims.tenant_id ?? null,
    contextId: claims.context_id ?? null,
    sessionId: claims.sid ?? null,
    deviceId: claims.did ?? null,
    tokenId: claims.jti,
    credentialId: claims.cred_id ?? null,
    issuer: claims.iss,
    audience: claims.aud,
    scopes: frozenSet(claims.scp),
    roles: notLoaded,
    permissions: notLoaded,
    method: methods[claims.gty],
    actor: delegation?.actor ?? null,
    delegation,
    claims: deepFreeze(payload),
    authTimeMs: claims.auth_time === undefined ? null : claims.auth_time * 1_000,
    issuedAtMs: claims.iat * 1_000,
    expiresAtMs: claims.exp * 1_000,
    permVer: claims.perm_ver,
    versions: Object.freeze(versionsOf(claims)),
  })
}

/** The same caller, with its roles and permissions. */
export function withGrants(context: AuthContext, { roles, permissions }: Grants): AuthContext {
  return Object.freeze({ ...context, roles: frozenSet(roles), permissions: frozenSet(permissions) })
}

function delegationOf(claims: AccessTokenClaims, act: ActClaim): Delegation {
  let depth = 1
  for (let next = act.act; next !== undefined; next = next.act) depth++
  return Object.freeze({
    // Only the outermost actor decides (RFC 8693 section 4.1).
    actor: Object.freeze({ id: act.sub, kind: "SERVICE" }),
    actorClientId: act.client_id,
    jobId: claims.job_id ?? "",
    originSessionId: claims.osid ?? null,
    expiresAtMs: claims.exp * 1_000,
    depth,
  })
}

/** A set whose own methods cannot change it: Object.freeze alone leaves a set's members open. */
function frozenSet(members: Iterable<string>): ReadonlySet<string> {
  const set = new Set(members)
  for (const name of ["add", "delete", "clear"]) Object.defineProperty(set, name, { value: refuseChange })
  return Object.freeze(set)
}

function refuseChange(): never {
  throw new TypeError("an AuthContext is immutable")
}

function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) {
    if (typeof member === "object" && member !== null) deepFreeze(member)
  }
  return Object.freeze(value)
}
