// Issues context tokens: they state for whom a service sends messages, itself or the user who called it.
import type { HandlerContext } from "@connectrpc/connect"
import { sessionOf } from "@signet/kernel/authz/liveness"
import { Refused } from "@signet/kernel/errors"
import { newId } from "@signet/kernel/ids"
import type { Tx } from "@signet/kernel/ports"
import { type AccessTokenClaims, parseClaims } from "@signet/kernel/token/claims"
import { buildContextClaims, contextSeconds } from "@signet/kernel/token/context-claims"
import { decideContext } from "@signet/kernel/token/context-exchange"
import { contextTokenType } from "@signet/kernel/token/grant"
import { buildServiceClaims } from "@signet/kernel/token/machine-claims"
import { narrowScopes } from "@signet/kernel/token/narrow-scopes"
import { auditEvent } from "../audit/audit.ts"
import { limited, refuseKnown } from "../limit.ts"
import type { Client } from "./authenticate-client.ts"
import type { ClientCredential } from "./client-credential.ts"
import { type ClientCredentialsCall, eventOf, type OwnGrant, placeOfOwn } from "./client-credentials-grant.ts"
import { lockOf, throwCounted } from "./client-limits.ts"
import type { TokenDeps } from "./deps.ts"
import { type IssuedToken, issueOf } from "./issued.ts"
import { actorOf, type Verified, verified } from "./on-behalf-grant.ts"
import { refusal } from "./refuse.ts"

interface ContextCall {
  credential: ClientCredential
  clientId: string
  /** The service's own access token, in place of another credential. */
  actorToken: string | undefined
  /** The access token with which the service was called. */
  token: string
  /** Empty for all scopes of the token. */
  scopes: readonly string[]
}

/** @throws Refused with the first failed check, in the order of decideContext. Refusals are audited. */
export async function exchangeContext(
  deps: TokenDeps,
  context: HandlerContext,
  call: ContextCall,
): Promise<IssuedToken> {
  refuseKnown(deps, context, "on_behalf_of", {}, lockOf(call.credential))
  const actor = call.actorToken === undefined ? undefined : await verified(deps, call.actorToken)
  const subject = await verified(deps, call.token)
  const outcome = await deps.store.transaction(async (tx) => {
    const client = await actorOf(deps, tx, call, actor)
    return client instanceof Refused ? client : exchange(deps, context, tx, { call, client, subject })
  })
  return outcome instanceof Refused ? throwCounted(deps, context, call.credential, outcome) : outcome
}

async function exchange(
  deps: TokenDeps,
  handler: HandlerContext,
  tx: Tx,
  { call, client, subject }: { call: ContextCall; client: Client; subject: Verified },
): Promise<IssuedToken | Refused> {
  const nowMs = deps.clock.nowMs()
  const { account } = client
  const who = typeof subject.context === "string" ? undefined : subject.context
  const pair = who && `${account.principalId} ${who.principal.id}`
  const options = { ...lockOf(call.credential), counts: tx.limits }
  const subjects = { actor: account.principalId, ...(pair && { pair }) }
  const tooMany = await limited(deps, handler, "on_behalf_of", subjects, options)
  if (tooMany !== undefined) return tooMany

  const decision = decideContext({
    account,
    subject: subject.context,
    inactive: subject.inactive,
    scopes: call.scopes,
  })
  const event = {
    appId: account.appId,
    tenantId: who?.tenantId ?? null,
    contextId: who?.contextId ?? null,
    actorPrincipalId: account.principalId,
    subjectPrincipalId: who?.principal.id ?? null,
    subjectIdentityId: who?.identityId ?? null,
    sessionId: who === undefined ? null : sessionOf(who),
  }
  const claims = decision.refuse ? undefined : parseClaims(decision.subject.claims)
  const reason = decision.refuse ? decision.reason : typeof claims === "string" ? claims : undefined
  if (decision.refuse || typeof claims !== "object") {
    const denied = { kind: "token.exchanged", outcome: "DENIED", reason: reason ?? "INTERNAL", ...event } as const
    await tx.audit.append(auditEvent(deps, handler, nowMs, denied))
    return refusal(reason ?? "INTERNAL", decision.refuse ? { error: decision.error } : {})
  }
  const session = event.sessionId === null ? undefined : await tx.sessions.find(event.sessionId)
  const contextClaims = buildContextClaims({
    subject: claims,
    sender: account.principalId,
    tokenId: newId("jti", nowMs, deps.random.bytes(10)),
    scopes: decision.scopes,
    nowSeconds: Math.floor(nowMs / 1_000),
    endsAtSeconds: session && Math.floor(session.absoluteExpiresAtMs / 1_000),
  })
  const target = { type: "context_token", id: contextClaims.jti }
  await tx.audit.append(auditEvent(deps, handler, nowMs, { kind: "token.exchanged", ...event, target }))
  return issuedContext(deps, contextClaims)
}

/** A service's own context token: any scope of the app that it may have, and none of the auth service. */
export function ownContext(
  deps: TokenDeps,
  client: Client,
  call: Omit<ClientCredentialsCall, "audience">,
  nowMs: number,
): OwnGrant | Refused {
  const { account, app, versions } = client
  const ofOthers = app.scopes.filter(({ audience }) => audience !== deps.authAudience).map(({ key }) => key)
  const scopes = narrowScopes(call.scopes, account.defaultScopes, account.scopes, ofOthers)
  if (scopes === undefined) return refusal("SCOPE_NOT_GRANTED", { field: "scope" })
  const tenantId = placeOfOwn(client, call)
  if (tenantId instanceof Refused) return tenantId
  const audience = account.principalId
  const claims = buildServiceClaims({
    ...issueOf(deps, nowMs, { audience, scopes, versions, lifetimeSeconds: contextSeconds.max }),
    account,
    tenantId,
    contextId: call.contextId,
    credentialId: client.credentialId,
  })
  return { claims, event: eventOf(client, claims, { tenantId, contextId: call.contextId }, "context_token") }
}

/** The token type is N_A for a token that is no access token (RFC 8693 section 2.2.1). */
export function issuedContext(deps: TokenDeps, claims: AccessTokenClaims): IssuedToken {
  return {
    accessToken: deps.keys.sign("ctx+jwt", { ...claims }),
    tokenType: "N_A",
    expiresIn: claims.exp - claims.iat,
    scope: claims.scp.join(" "),
    issuedTokenType: contextTokenType,
    audience: claims.aud,
  }
}
