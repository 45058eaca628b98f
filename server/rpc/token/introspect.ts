// Token introspection (RFC 7662), bound to audiences: a service learns only of tokens that were sent to it (Keycloak
// CVE-2026-37979).
import type { MessageInitShape } from "@bufbuild/protobuf"
import type { HandlerContext } from "@connectrpc/connect"
import type { VerifyToken } from "@signet/guard/access-token"
import { parseBearer } from "@signet/guard/bearer"
import { livenessQuestion } from "@signet/guard/revocation/liveness"
import type { AuthContext } from "@signet/kernel/authz/context"
import type { LivenessFacts } from "@signet/kernel/authz/liveness-ports"
import { type AuthorityVersions, permVerOf } from "@signet/kernel/authz/versions"
import { Refused } from "@signet/kernel/errors"
import { isAddressee } from "@signet/kernel/machine/addressee"
import type { ServiceAccount } from "@signet/kernel/machine/records"
import { type ActClaim, lifetimeSeconds, parseClaims } from "@signet/kernel/token/claims"
import { contextSeconds } from "@signet/kernel/token/context-claims"
import { contextTokenType } from "@signet/kernel/token/grant"
import type { ActorSchema, IntrospectRequest, IntrospectResponseSchema } from "@signet/proto/auth/v1/token_service"
import { callerFacts, denialFacts } from "../audit/denials.ts"
import { audited } from "../audit/refusals.ts"
import { dropLimitHeaders, limit, limitedWith, refuseKnown } from "../limit.ts"
import { type Client, claimOf, clientOfToken, prove, proveKnown } from "./authenticate-client.ts"
import { clientCredentialOf } from "./client-credential.ts"
import { lockOf, throwCounted } from "./client-limits.ts"
import type { KnowingDeps, TokenDeps } from "./deps.ts"
import { type Verified, verified, verifiedBy } from "./on-behalf-grant.ts"
import { clientRefusal, refusal } from "./refuse.ts"

/** The scope that a service needs to introspect tokens. */
const introspectScope = "auth.introspect"

type Answer = MessageInitShape<typeof IntrospectResponseSchema>

/**
 * @param verifyContext Verifies context tokens.
 * @throws Refused CLIENT_INVALID, MISSING_SCOPE, and the refusals of the caller's own bearer token.
 */
export async function introspect(
  deps: KnowingDeps,
  verifyContext: VerifyToken,
  context: HandlerContext,
  request: IntrospectRequest,
): Promise<Answer> {
  const known = await introspectForKnown(deps, context, request)
  if (known !== undefined) return known
  const account = await callerOf(deps, context, request)
  const { context: token, inactive, current } = await verified(deps, request.token ?? "")
  // Only for the hint: a service that asks about a bearer token must not accept a context token in its place.
  if (token === "TYP_NOT_ALLOWED" && request.tokenTypeHint === contextTokenType) {
    return aboutContext({ ...deps, verify: verifyContext }, account, request)
  }
  return typeof token === "string"
    ? { active: false }
    : accessTokenAnswer(account, { context: token, inactive, current })
}

function accessTokenAnswer(
  account: ServiceAccount,
  { context, inactive, current }: Verified & { context: AuthContext },
): Answer {
  if (inactive !== undefined || !isAddressee(account, context)) return { active: false }
  return activeAnswer(context, current, { tokenType: "Bearer", maxSeconds: lifetimeSeconds.max })
}

/**
 * Answers about an access token in one statement: for a client that this process knows, with the right secret. The
 * statement does nothing if the client has changed, and then, as for any other call, the answer is undefined.
 *
 * @throws Refused RATE_LIMITED
 */
async function introspectForKnown(
  deps: KnowingDeps,
  context: HandlerContext,
  request: IntrospectRequest,
): Promise<Answer | undefined> {
  const credential = clientCredentialOf(request, context.requestHeader.get("authorization"))
  if (credential instanceof Refused || credential.is !== "secret") return undefined
  const known = deps.knownClients.find(credential)
  const nowMs = deps.clock.nowMs()
  const claim = claimOf(deps, credential, nowMs)
  if (known === undefined || claim === undefined) return undefined
  const client = await proveKnown(deps, claim, known, nowMs)
  if (client?.account.scopes.includes(introspectScope) !== true) return undefined
  const token = await deps.verify(request.token ?? "")
  if (typeof token === "string") return undefined

  const found = { facts: undefined as LivenessFacts | undefined, isLate: false }
  const asked = { client: { who: claim, nowMs }, tag: known.tag, liveness: livenessQuestion(token, nowMs) }
  const subjects = { caller: client.account.id }
  const tooMany = await limitedWith(deps, context, "introspect", subjects, lockOf(credential), async (counting) => {
    const { liveness, isLate, ...taken } = await deps.store.clients.countAndFindLiveness(counting, asked)
    Object.assign(found, { facts: liveness, isLate })
    return taken
  })
  if (found.facts === undefined) {
    deps.knownClients.forget(credential)
    dropLimitHeaders(context)
    return undefined
  }
  if (tooMany !== undefined) throw tooMany
  if (!found.isLate) return accessTokenAnswer(client.account, verifiedBy(token, { facts: found.facts, asOfMs: nowMs }))
  // Counted, but client or token may have been revoked during the wait.
  const current = await clientOf(deps, credential)
  if (current instanceof Refused) {
    dropLimitHeaders(context)
    return throwCounted(deps, context, credential, current)
  }
  return accessTokenAnswer(current.account, verifiedBy(token, await deps.liveness(token)))
}

/**
 * A context token arrives with a message, at a service that is not its audience: any service of its app and tenant may
 * ask.
 */
async function aboutContext(deps: TokenDeps, account: ServiceAccount, request: IntrospectRequest): Promise<Answer> {
  const { context: token, inactive, current } = await verified(deps, request.token ?? "")
  if (typeof token === "string" || inactive !== undefined) return { active: false }
  const isOurs = account.tenantId === null || account.tenantId === token.tenantId
  if (!isOurs || account.appId !== token.appId) return { active: false }
  return activeAnswer(token, current, { tokenType: "N_A", maxSeconds: contextSeconds.max })
}

async function callerOf(
  deps: KnowingDeps,
  context: HandlerContext,
  request: IntrospectRequest,
): Promise<ServiceAccount> {
  const authorization = context.requestHeader.get("authorization")
  const credential = clientCredentialOf(request, authorization)
  if (credential instanceof Refused) throw credential
  switch (credential.is) {
    case "none":
      throw clientRefusal()
    case "bearer":
      return callerOfToken(deps, context, authorization)
    case "secret":
    case "assertion": {
      const lock = lockOf(credential)
      refuseKnown(deps, context, "introspect", {}, lock)
      const client = await clientOf(deps, credential)
      if (client instanceof Refused) return throwCounted(deps, context, credential, client)
      await limit(deps, context, "introspect", { caller: client.account.id }, lock)
      if (!client.account.scopes.includes(introspectScope)) throw missingScope()
      return client.account
    }
  }
}

async function clientOf(deps: KnowingDeps, credential: Parameters<typeof claimOf>[1]): Promise<Client | Refused> {
  const { clients } = deps.store
  const nowMs = deps.clock.nowMs()
  const claim = claimOf(deps, credential, nowMs)
  if (claim === undefined) return clientRefusal()
  const found = await clients.findTagged({ who: claim, nowMs })
  const client = await prove(deps, claim, found?.client, clients, nowMs)
  if (!(client instanceof Refused)) deps.knownClients.remember(claim, found)
  return client
}

async function callerOfToken(
  deps: TokenDeps,
  handler: HandlerContext,
  authorization: string | null,
): Promise<ServiceAccount> {
  const bearer = parseBearer(authorization)
  if (typeof bearer === "string") throw refusal(bearer)
  const { context, inactive } = await verified(deps, bearer.token)
  if (typeof context === "string") throw refusal(context)
  const facts = { ...callerFacts(context), ...denialFacts(handler.method, context) }
  const denied = { ...facts, kind: "authz.denied", outcome: "DENIED" } as const
  if (context.audience !== deps.authAudience) throw audited(refusal("AUDIENCE_MISMATCH"), denied)
  if (inactive !== undefined) throw audited(refusal(inactive, { error: "invalid_token" }), denied)
  if (context.method !== "CLIENT_CREDENTIALS" || !context.scopes.has(introspectScope)) throw missingScope()
  const of = { principalId: context.principal.id, credentialId: context.credentialId ?? "" }
  const client = await clientOfToken(deps.store.clients.find, of, deps.clock.nowMs())
  if (client === undefined) throw refusal("PRINCIPAL_INACTIVE")
  await limit(deps, handler, "introspect", { caller: client.account.id })
  return client.account
}

const missingScope = (): Refused => refusal("MISSING_SCOPE", { scope: introspectScope })

function activeAnswer(
  context: AuthContext,
  current: AuthorityVersions | null,
  of: { tokenType: string; maxSeconds: number },
): Answer {
  const claims = parseClaims(context.claims, of.maxSeconds)
  // Cannot fail: `verified` has parsed the claims.
  if (typeof claims === "string") return { active: false }
  return {
    active: true,
    scope: claims.scp.join(" "),
    clientId: claims.client_id,
    tokenType: of.tokenType,
    exp: claims.exp,
    iat: claims.iat,
    nbf: claims.nbf,
    sub: claims.sub,
    aud: claims.aud,
    iss: claims.iss,
    jti: claims.jti,
    scp: [...claims.scp],
    sid: claims.sid ?? "",
    principalType: claims.principal_type,
    identityId: claims.identity_id ?? "",
    appId: claims.app_id,
    tenantId: claims.tenant_id ?? "",
    contextId: claims.context_id ?? "",
    permVer: claims.perm_ver,
    permVerCurrent: current === null ? claims.perm_ver : permVerOf(current),
    amr: [...claims.amr],
    authTime: claims.auth_time ?? 0,
    gty: claims.gty,
    credId: claims.cred_id ?? "",
    osid: claims.osid ?? "",
    ...(claims.act === undefined ? {} : { act: actorShape(claims.act) }),
    jobId: claims.job_id ?? "",
  }
}

const actorShape = (of: ActClaim): MessageInitShape<typeof ActorSchema> => ({
  sub: of.sub,
  principalType: of.principal_type,
  clientId: of.client_id,
  ...(of.act === undefined ? {} : { act: actorShape(of.act) }),
})
