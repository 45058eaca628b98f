// Issues tokens with which a service acts for a user: from the user's token, or under a standing delegation.
import type { HandlerContext } from "@connectrpc/connect"
import { tokenIdOf } from "@signet/kernel/audit/token-event"
import type { AuthContext } from "@signet/kernel/authz/context"
import { displacement, inactivity, type Liveness } from "@signet/kernel/authz/liveness"
import { scopesHeldAnywhere } from "@signet/kernel/authz/scopes"
import { type AuthorityVersions, noVersions } from "@signet/kernel/authz/versions"
import { type Reason, Refused } from "@signet/kernel/errors"
import { principalInactivity } from "@signet/kernel/identity/principal"
import { type DelegationId, type PrincipalId, parseId } from "@signet/kernel/ids"
import type { Tx } from "@signet/kernel/ports"
import type { App, Membership } from "@signet/kernel/records"
import { decideExchange, type ExchangeSubject } from "@signet/kernel/token/exchange"
import { buildDelegatedClaims, type DelegatedSubject, subjectOfToken } from "@signet/kernel/token/machine-claims"
import { auditEvent } from "../audit/audit.ts"
import { limited, refuseKnown } from "../limit.ts"
import { isPlaceOpen } from "../place.ts"
import { authenticateClient, type Client, clientOfToken } from "./authenticate-client.ts"
import type { ClientCredential } from "./client-credential.ts"
import { lockOf, throwCounted } from "./client-limits.ts"
import type { TokenDeps } from "./deps.ts"
import { type IssuedToken, issued, issueOf } from "./issued.ts"
import { placeIn } from "./pat-grant.ts"
import { clientRefusal, refusal } from "./refuse.ts"

interface OnBehalfCall {
  credential: ClientCredential
  clientId: string
  /** The service's own access token, in place of another credential. */
  actorToken: string | undefined
  subject: { is: "token"; token: string } | { is: "delegation"; id: string }
  audience: string
  /** At least one. */
  scopes: readonly string[]
  jobId: string
}

/** @throws Refused with the first failed check, in the order of decideExchange. Refusals are audited. */
export async function onBehalfOf(deps: TokenDeps, context: HandlerContext, call: OnBehalfCall): Promise<IssuedToken> {
  refuseKnown(deps, context, "on_behalf_of", {}, lockOf(call.credential))
  // Tokens are verified before the transaction, which then only reads the facts of the decision and writes.
  const actor = call.actorToken === undefined ? undefined : await verified(deps, call.actorToken)
  const subject = call.subject.is === "token" ? await verified(deps, call.subject.token) : undefined
  const outcome = await deps.store.transaction(async (tx) => {
    const client = await actorOf(deps, tx, call, actor)
    return client instanceof Refused ? client : exchange(deps, context, tx, { call, client, subject })
  })
  return outcome instanceof Refused ? throwCounted(deps, context, call.credential, outcome) : outcome
}

/** The result of verifying a token of this issuer, and why it is inactive. */
export interface Verified {
  context: AuthContext | Reason
  inactive: Reason | undefined
  /** The current versions of the principal's authority; null for a rejected token. */
  current: AuthorityVersions | null
}

/** @throws Refused UNAVAILABLE when the token's state cannot be read. */
export async function verified(deps: TokenDeps, token: string): Promise<Verified> {
  const context = await deps.verify(token)
  if (context === "UNAVAILABLE" || context === "INTERNAL") throw refusal(context)
  if (typeof context === "string") return { context, inactive: context, current: null }
  return verifiedBy(context, await deps.liveness(context))
}

/** The result for a token of this issuer, by the liveness of its caller. */
export function verifiedBy(context: AuthContext, { facts, asOfMs }: Liveness): Verified & { context: AuthContext } {
  const inactive = inactivity(context, facts, asOfMs) ?? displacement(context, facts)
  return { context, inactive, current: facts.current }
}

/** @returns Refused AMBIGUOUS_CREDENTIAL, CLIENT_INVALID. */
export async function actorOf(
  deps: TokenDeps,
  tx: Tx,
  { credential, clientId }: Pick<OnBehalfCall, "credential" | "clientId">,
  token: Verified | undefined,
): Promise<Client | Refused> {
  if (token === undefined) {
    const isProof = credential.is === "secret" || credential.is === "assertion"
    return isProof ? authenticateClient(deps, tx, credential, deps.clock.nowMs()) : clientRefusal()
  }
  if (credential.is !== "none") {
    return refusal("AMBIGUOUS_CREDENTIAL", { message: "send only one client credential" })
  }
  const { context, inactive } = token
  const isOwn =
    typeof context !== "string" &&
    inactive === undefined &&
    context.audience === deps.authAudience &&
    context.method === "CLIENT_CREDENTIALS"
  if (!isOwn) return clientRefusal()
  const of = { principalId: context.principal.id, credentialId: context.credentialId ?? "" }
  const client = await clientOfToken(tx.serviceAccounts.findClient, of, deps.clock.nowMs())
  const isNamed = clientId === "" || clientId === client?.account.clientId
  return client !== undefined && isNamed ? client : clientRefusal()
}

interface Asked {
  call: OnBehalfCall
  client: Client
  subject: Verified | undefined
}

async function exchange(
  deps: TokenDeps,
  context: HandlerContext,
  tx: Tx,
  { call, client, subject }: Asked,
): Promise<IssuedToken | Refused> {
  const nowMs = deps.clock.nowMs()
  const { account } = client
  const facts = await subjectFacts(tx, client, call, subject)
  const pair = facts.who && `${account.principalId} ${facts.who.principalId}`
  const subjects = { actor: account.principalId, ...(pair && { pair }) }
  const options = { ...lockOf(call.credential), counts: tx.limits }
  const tooMany = await limited(deps, context, "on_behalf_of", subjects, options)
  if (tooMany !== undefined) return tooMany
  const decision = decideExchange({
    actor: account,
    policies: await tx.delegations.findPolicies(account.principalId, account.appId),
    subject: facts.subject,
    inactive: facts.inactive,
    subjectScopes: facts.scopes,
    audience: call.audience,
    audienceScopes: client.app.scopes.filter(({ audience }) => audience === call.audience).map(({ key }) => key),
    scopes: call.scopes,
    authAudience: deps.authAudience,
    nowMs,
  })
  const who = facts.who
  const event = {
    appId: account.appId,
    tenantId: who?.tenantId ?? null,
    contextId: who?.contextId ?? null,
    actorPrincipalId: account.principalId,
    subjectPrincipalId: who?.principalId ?? null,
    subjectIdentityId: who?.identityId ?? null,
    sessionId: who?.originSessionId ?? null,
  }
  if (decision.refuse || who === undefined) {
    const reason = decision.refuse ? decision.reason : "SUBJECT_TOKEN_INVALID"
    await tx.audit.append(
      auditEvent(deps, context, nowMs, { kind: "delegation.denied", outcome: "DENIED", reason, ...event }),
    )
    return refusal(reason, decision.refuse ? { error: decision.error } : {})
  }
  const { scopes, lifetimeSeconds } = decision
  const target = { type: "delegation_policy", id: decision.policy.id }
  const used = auditEvent(deps, context, nowMs, { kind: "delegation.used", ...event, target })
  await tx.audit.append(used)
  const asked = { audience: call.audience, scopes, versions: facts.versions, lifetimeSeconds }
  const claims = buildDelegatedClaims({
    ...issueOf(deps, nowMs, asked, tokenIdOf(used.id)),
    subject: who,
    actor: account,
    jobId: call.jobId,
    credentialId: call.subject.is === "delegation" ? call.subject.id : client.credentialId,
  })
  return issued(deps, claims)
}

interface SubjectFacts {
  subject: ExchangeSubject
  who: DelegatedSubject | undefined
  inactive: Reason | undefined
  scopes: readonly string[]
  /** Of the subject in the app, read before the subject's scopes. */
  versions: AuthorityVersions
}

async function subjectFacts(
  tx: Tx,
  client: Client,
  call: OnBehalfCall,
  token: Verified | undefined,
): Promise<SubjectFacts> {
  if (call.subject.is === "delegation") return standingFacts(tx, client, parseId("dlg", call.subject.id))
  const context = token?.context ?? "SUBJECT_TOKEN_INVALID"
  if (token === undefined || typeof context === "string") {
    return { subject: { is: "token", context }, who: undefined, inactive: undefined, scopes: [], versions: noVersions }
  }
  const who = subjectOfToken(context)
  const versions = await versionsOf(tx, client, context.principal.id)
  const membership = await membershipOf(tx, who, context.appId)
  return {
    subject: { is: "token", context },
    who,
    inactive: token.inactive ?? (membership === undefined ? "MEMBERSHIP_INACTIVE" : undefined),
    scopes: scopesHeldAnywhere(client.app, membership),
    versions,
  }
}

/** The client was read together with the app, after the policy's version. */
async function versionsOf(tx: Tx, { app, versions }: Client, subject: PrincipalId): Promise<AuthorityVersions> {
  const { principal } = await tx.authorities.find(subject, app.id)
  return { principal, policy: versions.policy }
}

async function standingFacts(tx: Tx, client: Client, id: DelegationId | undefined): Promise<SubjectFacts> {
  const { app } = client
  const delegation = id && (await tx.delegations.findDelegation(id))
  const subject: ExchangeSubject = { is: "delegation", delegation }
  const nobody = { subject, who: undefined, scopes: [], versions: noVersions }
  if (delegation === undefined) return { ...nobody, inactive: undefined }
  const versions = await versionsOf(tx, client, delegation.subjectPrincipalId)
  const principal = await tx.identities.findPrincipal(delegation.subjectPrincipalId)
  const identityId = principal?.identityId ?? null
  if (principal === undefined || identityId === null) {
    return { ...nobody, inactive: "PRINCIPAL_INACTIVE" }
  }
  const identity = await tx.identities.findIdentity(identityId)
  const { tenantId, contextId } = delegation
  const who = {
    principalId: principal.id,
    identityId,
    tenantId,
    contextId,
    originSessionId: null,
    amr: [],
    authTimeMs: null,
  }
  const membership = await membershipOf(tx, who, delegation.appId)
  const isOpen = await isPlaceOpen(tx, app.status, delegation)
  const inactive: Reason | undefined =
    principalInactivity(principal.status) ??
    (identity?.status !== "ACTIVE"
      ? "IDENTITY_INACTIVE"
      : membership === undefined
        ? "MEMBERSHIP_INACTIVE"
        : isOpen
          ? undefined
          : "TENANT_SUSPENDED")
  return { subject, who, inactive, scopes: scopesHeldAnywhere(app, membership), versions }
}

async function membershipOf(
  tx: Tx,
  who:
    | { principalId: PrincipalId; tenantId: DelegatedSubject["tenantId"]; contextId: DelegatedSubject["contextId"] }
    | undefined,
  appId: App["id"],
): Promise<Membership | undefined> {
  if (who === undefined) return undefined
  const memberships = await tx.identities.findMemberships(who.principalId, appId)
  return placeIn(memberships, who.tenantId, who.contextId)
}
