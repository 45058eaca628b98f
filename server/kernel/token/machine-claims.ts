// The claims of tokens that machines get: a service's own, one for a personal access token, and one that a service acts
// for a user with.
import type { AuthContext } from "../authz/context.ts"
import { type AuthorityVersions, versionClaims } from "../authz/versions.ts"
import type { ContextId, IdentityId, PrincipalId, SessionId, TenantId, TokenId } from "../ids.ts"
import type { Pat, ServiceAccount } from "../machine/records.ts"
import type { AccessTokenClaims } from "./claims.ts"

/** What every token is made with. Times are seconds since the Unix epoch. */
export interface Issue {
  issuer: string
  audience: string
  tokenId: TokenId
  scopes: readonly string[]
  versions: AuthorityVersions
  nowSeconds: number
  lifetimeSeconds: number
}

type Base = Pick<AccessTokenClaims, "iss" | "aud" | "jti" | "scp" | "perm_ver" | "pol_ver" | "iat" | "nbf" | "exp">

const baseOf = (of: Issue): Base => ({
  iss: of.issuer,
  aud: of.audience,
  jti: of.tokenId,
  scp: [...of.scopes],
  ...versionClaims(of.versions),
  iat: of.nowSeconds,
  nbf: of.nowSeconds,
  exp: of.nowSeconds + of.lifetimeSeconds,
})

const placeOf = (tenantId: TenantId | null, contextId: ContextId | null) => ({
  ...(tenantId === null ? {} : { tenant_id: tenantId }),
  ...(contextId === null ? {} : { context_id: contextId }),
})

/** @param of.credentialId The secret's id, or that of the key: see keyCredentialId. */
export function buildServiceClaims(
  of: Issue & {
    account: Pick<ServiceAccount, "principalId" | "appId" | "clientId">
    tenantId: TenantId | null
    contextId: ContextId | null
    credentialId: string
  },
): AccessTokenClaims {
  return {
    ...baseOf(of),
    sub: of.account.principalId,
    principal_type: "service",
    app_id: of.account.appId,
    ...placeOf(of.tenantId, of.contextId),
    amr: [],
    client_id: of.account.clientId,
    gty: "client_credentials",
    cred_id: of.credentialId,
  }
}

/** A token without a session: it ends with the personal access token. */
export function buildPatClaims(
  of: Issue & {
    pat: Pick<Pat, "id" | "principalId" | "identityId" | "appId" | "tenantId">
    contextId: ContextId | null
  },
): AccessTokenClaims {
  const { pat } = of
  return {
    ...baseOf(of),
    sub: pat.principalId,
    principal_type: "user",
    identity_id: pat.identityId,
    app_id: pat.appId,
    ...placeOf(pat.tenantId, of.contextId),
    amr: [],
    // No client takes part, and RFC 9068 section 2.2 wants one named.
    client_id: pat.id,
    gty: "pat",
    cred_id: pat.id,
  }
}

/** Whom a delegated token is about, from the user's token or from the standing delegation. */
export interface DelegatedSubject {
  principalId: PrincipalId
  identityId: IdentityId
  tenantId: TenantId | null
  contextId: ContextId | null
  /** The session that the token ends with; null when the user is away. */
  originSessionId: SessionId | null
  amr: readonly string[]
  authTimeMs: number | null
}

/** @param of.credentialId The standing delegation's id, or what the actor proved itself with. */
export function buildDelegatedClaims(
  of: Issue & {
    subject: DelegatedSubject
    actor: Pick<ServiceAccount, "principalId" | "appId" | "clientId">
    jobId: string
    credentialId: string
  },
): AccessTokenClaims {
  const { subject, actor } = of
  return {
    ...baseOf(of),
    sub: subject.principalId,
    principal_type: "user",
    identity_id: subject.identityId,
    app_id: actor.appId,
    ...placeOf(subject.tenantId, subject.contextId),
    amr: [...subject.amr],
    client_id: actor.clientId,
    gty: "on_behalf_of",
    cred_id: of.credentialId,
    ...(subject.originSessionId === null ? {} : { osid: subject.originSessionId }),
    ...(subject.authTimeMs === null ? {} : { auth_time: Math.floor(subject.authTimeMs / 1_000) }),
    act: { sub: actor.principalId, principal_type: "service", client_id: actor.clientId },
    job_id: of.jobId,
  }
}

/** The subject of a user's own token. Undefined for what is no user's. */
export function subjectOfToken(context: AuthContext): DelegatedSubject | undefined {
  if (context.identityId === null) return undefined
  const { amr } = context.claims
  return {
    principalId: context.principal.id,
    identityId: context.identityId,
    tenantId: context.tenantId,
    contextId: context.contextId,
    originSessionId: context.sessionId,
    amr: Array.isArray(amr) ? amr.filter((name) => typeof name === "string") : [],
    authTimeMs: context.authTimeMs,
  }
}
