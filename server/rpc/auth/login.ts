// The flow that every sign-in method shares: configuration, provider, records, session, tokens.
import type { HandlerContext } from "@connectrpc/connect"
import type { AuthorityVersions } from "@signet/kernel/authz/versions"
import { type Reason, Refused } from "@signet/kernel/errors"
import { planSignIn } from "@signet/kernel/identity/first-login"
import type { AuditEventId } from "@signet/kernel/ids"
import type { App, Identity, Membership, Principal, Session } from "@signet/kernel/records"
import { grantedAudiences } from "@signet/kernel/session/session"
import { auditEvent } from "../audit/audit.ts"
import { audited } from "../audit/refusals.ts"
import type { Deps } from "../deps.ts"
import { checkCookieOrigin } from "./cookie.ts"
import { accountUse } from "./sign-in/account.ts"
import { type Configuration, loadConfiguration } from "./sign-in/configuration.ts"
import type { Entry, VouchedSignIn } from "./sign-in/entry.ts"
import { findFacts, type LoadedFacts, loadFacts } from "./sign-in/facts.ts"
import { useProof, usesOf } from "./sign-in/magic-link.ts"
import { consumeInvitation, joinApp } from "./sign-in/membership.ts"
import { insertNewcomer } from "./sign-in/newcomer.ts"
import type { SignInRequest } from "./sign-in/request.ts"
import { newSession } from "./sign-in/session.ts"
import { vouchOrAudit } from "./sign-in/vouch.ts"

export interface SignedIn {
  app: App
  session: Session
  identity: Identity
  principal: Principal
  /** At the place of the sign-in. */
  membership: Membership
  /** Of the same instant as app and membership. */
  versions: AuthorityVersions
  audiences: readonly [string, ...string[]]
  refreshToken: string
  /** The address that the provider vouched for, unnormalized. */
  email: string | null
  created: boolean
  /** The event of the new session. */
  eventId: AuditEventId
}

/**
 * Signs a person in. A refusal is audited and changes nothing else.
 *
 * @param loaded The configuration of the request, if it has been loaded.
 * @throws Refused
 */
export async function signIn(
  deps: Deps,
  context: HandlerContext,
  request: SignInRequest,
  loaded?: Configuration,
): Promise<SignedIn> {
  const { app, client } = loaded ?? (await loadConfiguration(deps, request))
  if (request.cookieMode) checkCookieOrigin(context, app)
  const audiences = grantedAudiences(request.audiences, app.audiences, [deps.authAudience], deps.authAudience)
  if (audiences === undefined) throw new Refused("AUDIENCE_NOT_REGISTERED")

  const target = { type: "provider_client", id: client.id }
  const failure = { kind: "login.failed", outcome: "FAILURE", appId: request.appId, target } as const
  const vouched = await vouchOrAudit({ deps, app, client }, request.proof, failure)
  const vouchedSignIn = { deps, context, request, app, client, vouched, audiences, nowMs: deps.clock.nowMs() }
  const outcome =
    (await enterAtOnce(vouchedSignIn)) ??
    (await deps.store.transaction((tx) => enter({ ...vouchedSignIn, tx, nowMs: deps.clock.nowMs() })))
  if ("reason" in outcome) throw audited(refusalOf(outcome.reason), { ...failure, outcome: "DENIED" })
  return outcome
}

/** A refused sign-up says what to do with an existing account, and does not reveal whether one exists. */
function refusalOf(reason: Reason): Refused {
  return new Refused(reason, reason === "SIGNUP_DISABLED" ? { metadata: { instead: "sign_in_and_link" } } : {})
}

/**
 * Signs an existing member in with two statements. Undefined if the sign-in does anything else, if its facts have changed
 * meanwhile, or if it is refused: the transaction decides, and says why.
 */
async function enterAtOnce(signIn: VouchedSignIn): Promise<SignedIn | undefined> {
  const { deps, request, vouched, audiences } = signIn
  if (request.invitationCode !== "" || request.proof.is !== "external") return undefined
  const facts = await findFacts(signIn)
  const plan = planSignIn(facts)
  const { account, identity, principal, membership: outer, innerMembership: inner } = facts
  if (plan.is !== "enter" || plan.joins || plan.cancelsDeletion || !account || !identity || !principal) return undefined
  const membership = inner === null ? outer : inner
  const authority = membership && heldAuthority(facts, membership)
  const { email, changed } = accountUse(signIn, account)
  if (authority === undefined || changed !== undefined) return undefined
  const { session, refreshToken, token, events } = newSession(signIn, { account, principal })
  const uses = usesOf(signIn, request.proof)
  const entering = { session, token, email, version: authority.versions.principal, uses }
  if (!(await deps.store.signIns.enter(entering, events))) return undefined
  const [, { id: eventId }] = events
  const of = { session, identity, principal, audiences, refreshToken, email: vouched.email, created: false, eventId }
  return { ...authority, ...of }
}

/** Returned, not thrown: a throw would roll back the single use of the provider's token. */
async function enter(entry: Entry): Promise<SignedIn | { reason: Reason }> {
  const { tx, request } = entry
  // Locks before it uses up the token, as every use of a token does: none waits for another one that waits for its lock.
  let facts = await loadFacts(entry)
  const unproven = await useProof(entry, request.proof)
  if (unproven !== undefined) return { reason: unproven }

  let plan = planSignIn(facts)
  let created = false
  if (plan.is === "newcomer") {
    created = await insertNewcomer(entry)
    // Another sign-in may have inserted the account first.
    facts = await loadFacts(entry)
    plan = planSignIn(facts)
  }
  if (plan.is === "refuse") return { reason: plan.reason }
  const { account, identity, principal } = facts
  if (plan.is === "newcomer" || !account || !identity || !principal) {
    throw new Error("a sign-in has no records")
  }

  const person = plan.cancelsDeletion ? await keepIdentity(entry, identity, principal) : identity
  const invited = plan.takes && (await consumeInvitation(entry, principal, plan.takes))
  const isOfApp = invited?.tenantId === null && invited.contextId === null
  const outer = isOfApp ? invited : plan.joins ? await joinApp(entry, principal) : facts.membership
  const membership = facts.innerMembership === null ? outer : isAt(invited, request) ? invited : facts.innerMembership
  if (!membership) throw new Error("a sign-in has no membership")

  const { session, refreshToken, token, events } = newSession(entry, { account, principal })
  const used = created ? undefined : accountUse(entry, account)
  if (used?.changed !== undefined) await tx.accounts.updateAccount(used.changed)
  tx.signIns.insertSession(session, token, used === undefined ? null : { email: used.email })
  for (const event of events) await tx.audit.append(event)
  // The facts are of the instant before an accepted invitation or a new membership.
  const isChanged = plan.takes !== null || plan.joins
  const authority = (isChanged ? undefined : heldAuthority(facts, membership)) ?? (await authorityOf(entry, membership))
  const { audiences, vouched } = entry
  const [, { id: eventId }] = events
  const of = { session, identity: person, principal, audiences, refreshToken, email: vouched.email, created, eventId }
  return { ...authority, ...of }
}

/** The app and versions of the same instant as the memberships of the facts. */
function heldAuthority({ authority }: LoadedFacts, membership: Membership) {
  return authority?.app && { app: authority.app, versions: authority.versions, membership }
}

/** The authority that the tokens state, with the versions of the same instant. */
async function authorityOf({ tx }: Entry, { id }: Membership) {
  const authority = await tx.authorities.findOf(id)
  if (authority === undefined) throw new Error("a sign-in has no app or membership")
  return authority
}

const isAt = (membership: Membership | null, { tenantId, contextId }: SignInRequest): membership is Membership =>
  membership?.tenantId === tenantId && membership.contextId === contextId

/** Cancels the deletion of the identity. */
async function keepIdentity(entry: Entry, identity: Identity, principal: Principal): Promise<Identity> {
  const { deps, context, tx, request, nowMs } = entry
  const kept: Identity = { ...identity, status: "ACTIVE", deletesAtMs: null, updatedAtMs: nowMs }
  await tx.accounts.updateIdentity(kept)
  const facts = {
    kind: "identity.deletion_canceled",
    appId: request.appId,
    actorPrincipalId: principal.id,
    subjectPrincipalId: principal.id,
    subjectIdentityId: identity.id,
  } as const
  await tx.audit.append(auditEvent(deps, context, nowMs, facts))
  return kept
}
