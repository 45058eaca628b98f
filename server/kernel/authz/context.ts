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
  /** Client id of the acting service; requirements can name it. */
  readonly actorClientId: string
  readonly jobId: string
  readonly originSessionId: SessionId | null
  readonly expiresAtMs: number
  /** Number of services between the user and the caller, including the caller: at least 1. */
  readonly depth: number
}

/** The caller, built from a verified credential. Frozen; used by the authorizer and the handler. */
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
  /** Keys of the roles that the principal holds for the token's whole app, tenant and context. */
  readonly roles: ReadonlySet<string> | NotLoaded
  /** Permissions held there or on a resource there, limited to those that the token's scopes allow. */
  readonly permissions: ReadonlySet<string> | NotLoaded
  readonly method: AuthMethod
  readonly actor: PrincipalRef | null
  readonly delegation: Delegation | null
  readonly claims: Readonly<Record<string, unknown>>
  /** When the user authenticated; null for services. */
  readonly authTimeMs: number | null
  readonly issuedAtMs: number
  readonly expiresAtMs: number
  readonly permVer: number
  /** The parts of permVer. */
  readonly versions: AuthorityVersions
}

/**
 * Stands for roles and permissions that were not loaded; no token carries them. It is not a set, so code cannot mistake
 * it for an empty one. It is a registered symbol because a process may load this module both by `import` and by
 * `require`.
 */
export const notLoaded: unique symbol = Symbol.for("signet.guard.not-loaded")
export type NotLoaded = typeof notLoaded

/** The principal's roles and permissions in the token's app, tenant and context. */
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
 * Builds the caller's context from the claims of a verified token. The context is immutable, so calls can share it.
 *
 * @param payload The raw claims, including unknown ones.
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

/** Returns the context with roles and permissions loaded. */
export function withGrants(context: AuthContext, { roles, permissions }: Grants): AuthContext {
  return Object.freeze({ ...context, roles: frozenSet(roles), permissions: frozenSet(permissions) })
}

function delegationOf(claims: AccessTokenClaims, act: ActClaim): Delegation {
  let depth = 1
  for (let next = act.act; next !== undefined; next = next.act) depth++
  return Object.freeze({
    // Authorization uses only the outermost actor (RFC 8693 section 4.1).
    actor: Object.freeze({ id: act.sub, kind: "SERVICE" }),
    actorClientId: act.client_id,
    jobId: claims.job_id ?? "",
    originSessionId: claims.osid ?? null,
    expiresAtMs: claims.exp * 1_000,
    depth,
  })
}

/** Object.freeze does not protect a set's members, so its mutating methods are replaced. */
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
