// The claims of machine tokens: a service's own, those of a personal access token, and delegated ones.
import type { AuthContext } from "../authz/context.ts"
import { type AuthorityVersions, versionClaims } from "../authz/versions.ts"
import type { ContextId, IdentityId, PrincipalId, SessionId, TenantId, TokenId } from "../ids.ts"
import type { Pat, ServiceAccount } from "../machine/records.ts"
import type { AccessTokenClaims } from "./claims.ts"

/** Inputs of every token. Times are seconds since the Unix epoch. */
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

/** @param of.credentialId Id of the secret, or of the key (keyCredentialId). */
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

/** Builds the claims of a token without a session. It ends with the personal access token. */
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
    // RFC 9068 section 2.2 requires a client_id, and no client takes part.
    client_id: pat.id,
    gty: "pat",
    cred_id: pat.id,
  }
}

/** The subject of a delegated token, from the user's token or the standing delegation. */
export interface DelegatedSubject {
  principalId: PrincipalId
  identityId: IdentityId
  tenantId: TenantId | null
  contextId: ContextId | null
  /** The session whose end ends the token; null if the user is absent. */
  originSessionId: SessionId | null
  amr: readonly string[]
  authTimeMs: number | null
}

/** @param of.credentialId Id of the standing delegation, or of the actor's credential. */
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

/** Returns the subject of a user's token; undefined for other tokens. */
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
