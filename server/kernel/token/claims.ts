// The claims of an access token: the specification's, and those of RFC 9068, RFC 8693 and RFC 9470. A token carries no
// name, email, role or permission.
import { type AuthorityVersions, versionClaims } from "../authz/versions.ts"
import type { Reason } from "../errors.ts"
import type { AppId, ContextId, DeviceId, IdentityId, PrincipalId, SessionId, TenantId, TokenId } from "../ids.ts"
import { parseId } from "../ids.ts"
import { isCount, isJson, isText, isTexts, type Json } from "../json.ts"
import type { Principal, Session } from "../records.ts"

/** The grant that the token was obtained with. */
export type GrantType = "session" | "client_credentials" | "pat" | "on_behalf_of"

/** The actor; a nested `act` is the previous actor (RFC 8693 section 4.1). */
export interface ActClaim {
  readonly sub: PrincipalId
  readonly principal_type: "service"
  readonly client_id: string
  readonly act?: ActClaim
}

/** Times are seconds since the Unix epoch. */
export interface AccessTokenClaims {
  readonly iss: string
  /** Always a single audience: the service that the token is for. */
  readonly aud: string
  readonly sub: PrincipalId
  readonly jti: string
  /** The user's session; absent for services, personal access tokens and delegated calls. */
  readonly sid?: SessionId
  readonly principal_type: "user" | "service"
  readonly identity_id?: IdentityId
  readonly app_id: AppId
  readonly tenant_id?: TenantId
  readonly context_id?: ContextId
  readonly scp: readonly string[]
  /** Increases with every change of the principal's authority in the app: the sum of both AuthorityVersions. */
  readonly perm_ver: number
  /** The part of perm_ver that is the app's policy; the rest is the principal's. */
  readonly pol_ver?: number
  readonly amr: readonly string[]
  readonly iat: number
  readonly nbf: number
  readonly exp: number
  readonly client_id: string
  readonly gty: GrantType
  /** The personal access token or client secret that the token was obtained with. */
  readonly cred_id?: string
  readonly auth_time?: number
  /** The delegating user's session, whose end ends a delegated token. */
  readonly osid?: SessionId
  /** The device that the session is bound to. */
  readonly did?: DeviceId
  readonly act?: ActClaim
  readonly job_id?: string
}

/** Lifetime of an access token. */
export const lifetimeSeconds = { min: 300, default: 600, max: 900 } as const

/** Accepted clock skew. */
export const skewSeconds = 30

/** How long a revocation must be stored: until every token issued before it has expired. Milliseconds. */
export const longestTokenMs = (lifetimeSeconds.max + skewSeconds) * 1_000

/** Maximum number of services between the user and the caller, whatever a policy allows. */
export const maxActDepth = 3

/**
 * Builds the claims of a user's token for one audience.
 *
 * @param of.clientId The provider client that the user signed in through.
 * @param of.nowSeconds Seconds since the Unix epoch.
 * @param of.lifetimeSeconds 300 to 900; default 600.
 * @throws RangeError if the lifetime is out of range, or the session is not the principal's.
 */
export function buildUserClaims(of: {
  issuer: string
  audience: string
  session: Pick<
    Session,
    "id" | "principalId" | "identityId" | "appId" | "tenantId" | "contextId" | "amr" | "authTimeMs" | "boundDeviceId"
  >
  principal: Pick<Principal, "id" | "kind">
  tokenId: TokenId
  clientId: string
  scopes: readonly string[]
  versions: AuthorityVersions
  nowSeconds: number
  lifetimeSeconds?: number
}): AccessTokenClaims {
  const { session } = of
  const life = of.lifetimeSeconds ?? lifetimeSeconds.default
  if (!Number.isInteger(life) || life < lifetimeSeconds.min || life > lifetimeSeconds.max) {
    throw new RangeError("the lifetime of an access token must be 300 to 900 seconds")
  }
  if (of.principal.kind !== "USER" || of.principal.id !== session.principalId) {
    throw new RangeError("the session belongs to another principal")
  }
  return {
    iss: of.issuer,
    aud: of.audience,
    sub: session.principalId,
    jti: of.tokenId,
    sid: session.id,
    principal_type: "user",
    identity_id: session.identityId,
    app_id: session.appId,
    ...(session.tenantId === null ? {} : { tenant_id: session.tenantId }),
    ...(session.contextId === null ? {} : { context_id: session.contextId }),
    scp: [...of.scopes],
    ...versionClaims(of.versions),
    amr: [...session.amr],
    iat: of.nowSeconds,
    nbf: of.nowSeconds,
    exp: of.nowSeconds + life,
    client_id: of.clientId,
    gty: "session",
    ...(session.authTimeMs === null ? {} : { auth_time: Math.floor(session.authTimeMs / 1_000) }),
    ...(session.boundDeviceId === null ? {} : { did: session.boundDeviceId }),
  }
}

/**
 * Parses the claims of a verified token's payload. Unknown claims are ignored.
 *
 * @param maxSeconds Maximum lifetime; default is an access token's.
 * @returns The claims, or the first problem in the verifier's order: ISSUER_MISMATCH, AUDIENCE_MISMATCH, TOKEN_EXPIRED
 * or TOKEN_NOT_YET_VALID for a claim of the wrong type or too long a lifetime; DELEGATION_CHAIN_TOO_DEEP for more than
 * three actors; MALFORMED_CREDENTIAL otherwise.
 */
export function parseClaims(payload: unknown, maxSeconds: number = lifetimeSeconds.max): AccessTokenClaims | Reason {
  if (!isJson(payload)) return "MALFORMED_CREDENTIAL"
  const { iss, aud, exp, nbf, iat, scp, amr, perm_ver, pol_ver } = payload
  if (!isText(iss)) return "ISSUER_MISMATCH"
  if (!isText(aud)) return "AUDIENCE_MISMATCH"
  if (!isCount(exp)) return "TOKEN_EXPIRED"
  if (!isCount(nbf) || !isCount(iat)) return "TOKEN_NOT_YET_VALID"
  if (exp - iat > maxSeconds) return "TOKEN_EXPIRED"
  const who = parseWho(payload)
  if (typeof who === "string") return who
  if (!isText(payload.jti) || !isText(payload.client_id) || !isCount(perm_ver)) return "MALFORMED_CREDENTIAL"
  if (pol_ver !== undefined && (!isCount(pol_ver) || pol_ver > perm_ver)) return "MALFORMED_CREDENTIAL"
  if (!isTexts(scp) || !isTexts(amr)) return "MALFORMED_CREDENTIAL"
  const { auth_time } = payload
  const did = idIn("dev", payload.did)
  if (auth_time !== undefined && !isCount(auth_time)) return "MALFORMED_CREDENTIAL"
  // Only session tokens name a device: an actor or a personal access token is not the device.
  if (payload.did !== undefined && (did === undefined || who.gty !== "session")) return "MALFORMED_CREDENTIAL"
  return {
    ...who,
    iss,
    aud,
    jti: payload.jti,
    scp,
    perm_ver,
    ...(pol_ver === undefined ? {} : { pol_ver }),
    amr,
    iat,
    nbf,
    exp,
    client_id: payload.client_id,
    ...(auth_time === undefined ? {} : { auth_time }),
    ...(did === undefined ? {} : { did }),
  }
}

type Who = Pick<
  AccessTokenClaims,
  | ("sub" | "principal_type" | "identity_id" | "app_id" | "tenant_id" | "context_id")
  | ("sid" | "osid" | "act" | "job_id" | "gty" | "cred_id")
>

/** Parses subject, place and actor in one of the combinations that a grant allows. */
function parseWho(payload: Json): Who | Reason {
  const app_id = idIn("app", payload.app_id)
  if (app_id === undefined) return "MALFORMED_CREDENTIAL"
  const { principal_type, gty, cred_id, job_id } = payload
  if (principal_type !== "user" && principal_type !== "service") return "MALFORMED_CREDENTIAL"
  const act = payload.act === undefined ? undefined : parseAct(payload.act, 1)
  if (typeof act === "string") return act
  const sub = idIn("prn", payload.sub)
  const identity_id = idIn("idn", payload.identity_id)
  const tenant_id = idIn("ten", payload.tenant_id)
  const context_id = idIn("ctx", payload.context_id)
  const sid = idIn("ses", payload.sid)
  const osid = idIn("ses", payload.osid)
  const ids: readonly [unknown, unknown][] = [
    [payload.identity_id, identity_id],
    [payload.tenant_id, tenant_id],
    [payload.context_id, context_id],
    [payload.sid, sid],
    [payload.osid, osid],
  ]
  if (sub === undefined || ids.some(([there, id]) => there !== undefined && id === undefined)) {
    return "MALFORMED_CREDENTIAL"
  }
  if (cred_id !== undefined && !isText(cred_id)) return "MALFORMED_CREDENTIAL"
  if (job_id !== undefined && !isText(job_id)) return "MALFORMED_CREDENTIAL"
  if (!isGrantType(gty)) return "MALFORMED_CREDENTIAL"
  const has = {
    user: principal_type === "user",
    identity: identity_id !== undefined,
    session: sid !== undefined,
    actor: act !== undefined && job_id !== undefined,
  }
  if (has.user !== has.identity || has.session !== (gty === "session") || has.user === (gty === "client_credentials")) {
    return "MALFORMED_CREDENTIAL"
  }
  const delegated = gty === "on_behalf_of"
  if (delegated ? !has.actor : act !== undefined || job_id !== undefined || osid !== undefined) {
    return "MALFORMED_CREDENTIAL"
  }
  return {
    sub,
    principal_type,
    app_id,
    gty,
    ...(identity_id === undefined ? {} : { identity_id }),
    ...(tenant_id === undefined ? {} : { tenant_id }),
    ...(context_id === undefined ? {} : { context_id }),
    ...(sid === undefined ? {} : { sid }),
    ...(osid === undefined ? {} : { osid }),
    ...(act === undefined ? {} : { act }),
    ...(job_id === undefined ? {} : { job_id }),
    ...(cred_id === undefined ? {} : { cred_id }),
  }
}

function parseAct(value: unknown, depth: number): ActClaim | Reason {
  if (depth > maxActDepth) return "DELEGATION_CHAIN_TOO_DEEP"
  if (!isJson(value)) return "MALFORMED_CREDENTIAL"
  const sub = idIn("prn", value.sub)
  if (sub === undefined || value.principal_type !== "service" || !isText(value.client_id)) return "MALFORMED_CREDENTIAL"
  const actor = { sub, principal_type: value.principal_type, client_id: value.client_id } as const
  if (value.act === undefined) return actor
  const act = parseAct(value.act, depth + 1)
  return typeof act === "string" ? act : { ...actor, act }
}

function idIn<K extends Parameters<typeof parseId>[0]>(kind: K, value: unknown) {
  return typeof value === "string" ? parseId(kind, value) : undefined
}

function isGrantType(value: unknown): value is GrantType {
  return value === "session" || value === "client_credentials" || value === "pat" || value === "on_behalf_of"
}
