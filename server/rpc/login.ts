// The flow that every way of signing in shares: configuration, provider, four records, session, tokens.
import type { HandlerContext } from "@connectrpc/connect"
import { type Reason, Refused } from "@signet/kernel/errors"
import { normalizeEmail, planSignIn, type SignInFacts, verifiedEmail } from "@signet/kernel/identity/first-login"
import { type AppId, type ContextId, newId, type TenantId } from "@signet/kernel/ids"
import type { ExternalCredential, Tx, Vouched } from "@signet/kernel/ports"
import type {
  App,
  Device,
  Identity,
  Membership,
  Platform,
  Principal,
  Provider,
  ProviderAccount,
  ProviderClient,
  RefreshToken,
  Session,
} from "@signet/kernel/records"
import { absoluteExpiry, grantedAudiences, idleExpiry } from "@signet/kernel/session/session"
import { buildOpaque } from "@signet/kernel/token/opaque"
import { auditEvent } from "./audit.ts"
import { checkCookieOrigin } from "./cookie.ts"
import type { Deps } from "./deps.ts"

export interface SignInRequest {
  appId: AppId
  provider: Provider
  platform: Platform
  nonce: string
  credential: ExternalCredential
  audiences: readonly string[]
  tenantId: TenantId | null
  contextId: ContextId | null
  device: Device
  cookieMode: boolean
}

export interface SignedIn {
  app: App
  session: Session
  identity: Identity
  principal: Principal
  /** At the place that was signed in to. */
  membership: Membership
  audiences: readonly [string, ...string[]]
  refreshToken: string
  created: boolean
}

/** Signs a person in, or throws Refused. A refusal after the provider vouched is audited and changes nothing else. */
export async function signIn(deps: Deps, context: HandlerContext, request: SignInRequest): Promise<SignedIn> {
  const { app, client } = await loadConfiguration(deps, request)
  if (request.cookieMode) checkCookieOrigin(context, app)
  const audiences = grantedAudiences(request.audiences, app.audiences, [deps.authAudience], deps.authAudience)
  if (audiences === undefined) throw new Refused("AUDIENCE_NOT_REGISTERED")
  const provider = deps.providers[request.provider]
  if (provider === undefined) throw new Refused("PROVIDER_NOT_CONFIGURED")

  const vouched = await verifyOrAudit(deps, context, request, () =>
    provider.verify(client, request.credential, request.nonce),
  )
  const outcome = await deps.store.transaction((tx) =>
    enter(deps, context, tx, { request, app, client, vouched, audiences }),
  )
  if ("reason" in outcome) throw new Refused(outcome.reason)
  return outcome
}

async function loadConfiguration(deps: Deps, request: SignInRequest): Promise<{ app: App; client: ProviderClient }> {
  const { app, client } = await deps.store.transaction(async (tx) => ({
    app: await tx.apps.findApp(request.appId),
    client: await tx.apps.findProviderClient(request.appId, request.provider, request.platform),
  }))
  if (app === undefined || client === undefined) throw new Refused("PROVIDER_NOT_CONFIGURED")
  if (app.status !== "ACTIVE") throw new Refused("TENANT_SUSPENDED")
  if (client.status !== "ACTIVE") throw new Refused("PROVIDER_DISABLED")
  return { app, client }
}

async function verifyOrAudit(
  deps: Deps,
  context: HandlerContext,
  request: SignInRequest,
  verify: () => Promise<Vouched>,
): Promise<Vouched> {
  try {
    return await verify()
  } catch (error) {
    if (error instanceof Refused) {
      const { appId } = request
      const facts = { kind: "login.failed", outcome: "FAILURE", reason: error.reason, appId } as const
      await deps.store.transaction((tx) => tx.audit.append(auditEvent(deps, context, deps.clock.nowMs(), facts)))
    }
    throw error
  }
}

interface Entry {
  request: SignInRequest
  app: App
  client: ProviderClient
  vouched: Vouched
  audiences: readonly [string, ...string[]]
}

/** Returned, not thrown: a throw would roll back the audit row and the single use of the provider's token. */
async function enter(
  deps: Deps,
  context: HandlerContext,
  tx: Tx,
  entry: Entry,
): Promise<SignedIn | { reason: Reason }> {
  const { request, vouched } = entry
  const nowMs = deps.clock.nowMs()
  const refuse = async (reason: Reason) => {
    const facts = { kind: "login.failed", outcome: "DENIED", reason, appId: request.appId } as const
    await tx.audit.append(auditEvent(deps, context, nowMs, facts))
    return { reason }
  }
  const { singleUse } = vouched
  if (singleUse && !(await tx.idTokenUses.use(singleUse.tokenHash, singleUse.expiresAtMs))) {
    return refuse("PROVIDER_TOKEN_REPLAYED")
  }

  let facts = await loadFacts(tx, entry)
  let plan = planSignIn(facts)
  let created = false
  if (plan.is === "newcomer") {
    created = await insertNewcomer(deps, context, tx, entry, nowMs)
    // Whoever took the account first, it is there now.
    facts = await loadFacts(tx, entry)
    plan = planSignIn(facts)
  }
  if (plan.is === "refuse") return refuse(plan.reason)
  const { account, identity, principal } = facts
  if (!account || !identity || !principal) throw new Error("a sign-in went on without its records")
  // Who suspends the principal ends its sessions under the same lock: this one is among them, or is refused.
  const locked = await tx.principals.lock(principal.id)
  if (locked?.status !== "ACTIVE") return refuse("PRINCIPAL_INACTIVE")

  const membership =
    facts.membership ??
    (await tx.identities.insertMembership({
      id: newId("mem", nowMs, deps.random.bytes(10)),
      principalId: principal.id,
      appId: request.appId,
      tenantId: null,
      contextId: null,
      status: "ACTIVE",
      profile: vouched.name === null ? {} : { name: vouched.name.slice(0, 256) },
      scopes: [],
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    }))
  if (!created) await tx.identities.markAccountUsed(account.id, normalizeEmail(vouched.email), nowMs)

  const { session, refreshToken } = await insertSession(deps, context, tx, entry, { account, principal, nowMs })
  const common = {
    appId: request.appId,
    tenantId: request.tenantId,
    contextId: request.contextId,
    actorPrincipalId: principal.id,
    subjectPrincipalId: principal.id,
    subjectIdentityId: identity.id,
    sessionId: session.id,
  }
  await tx.audit.append(auditEvent(deps, context, nowMs, { kind: "login.succeeded", ...common }))
  await tx.audit.append(auditEvent(deps, context, nowMs, { kind: "session.created", ...common }))
  const inner = facts.innerMembership ?? membership
  return {
    app: entry.app,
    session,
    identity,
    principal,
    membership: inner,
    audiences: entry.audiences,
    refreshToken,
    created,
  }
}

async function loadFacts(tx: Tx, { request, app, client, vouched }: Entry): Promise<SignInFacts> {
  const { provider, tenantId, contextId } = request
  const { subject, providerTenant } = vouched
  const account = await tx.identities.findAccount({ provider, issuer: client.canonicalIssuer, subject, providerTenant })
  const identity = account && (await tx.identities.findIdentity(account.identityId))
  const principal = identity && (await tx.identities.findUserPrincipal(identity.id))
  const membership = principal && (await tx.identities.findMembership(principal.id, app.id, null, null))
  const asksInside = tenantId !== null || contextId !== null
  const innerMembership = asksInside
    ? principal && (await tx.identities.findMembership(principal.id, app.id, tenantId, contextId))
    : null
  return { app, client, account, identity, principal, membership, innerMembership }
}

/** True when this call made the person; false when another sign-in did at the same time. */
async function insertNewcomer(
  deps: Deps,
  context: HandlerContext,
  tx: Tx,
  { request, client, vouched }: Entry,
  nowMs: number,
): Promise<boolean> {
  const id = <K extends "idn" | "pac" | "prn">(kind: K) => newId(kind, nowMs, deps.random.bytes(10))
  const email = normalizeEmail(vouched.email)
  const identity: Identity = {
    id: id("idn"),
    status: "ACTIVE",
    primaryEmail: verifiedEmail(vouched.email, vouched.emailVerified),
    deletesAtMs: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }
  const account: ProviderAccount = {
    id: id("pac"),
    identityId: identity.id,
    provider: request.provider,
    issuer: client.canonicalIssuer,
    subject: vouched.subject,
    providerTenant: vouched.providerTenant,
    email,
    isRelayEmail: vouched.isRelayEmail,
    isContactable: true,
    refreshTokenSealed: null,
    status: "LINKED",
    createdAtMs: nowMs,
  }
  const principal: Principal = { id: id("prn"), kind: "USER", identityId: identity.id, status: "ACTIVE" }
  if (!(await tx.identities.insertIdentity(identity, account, principal))) return false
  const common = {
    appId: request.appId,
    actorPrincipalId: principal.id,
    subjectPrincipalId: principal.id,
    subjectIdentityId: identity.id,
  }
  await tx.audit.append(auditEvent(deps, context, nowMs, { kind: "identity.created", ...common }))
  const target = { type: "provider_account", id: account.id }
  await tx.audit.append(auditEvent(deps, context, nowMs, { kind: "provider_account.linked", ...common, target }))
  return true
}

async function insertSession(
  deps: Deps,
  context: HandlerContext,
  tx: Tx,
  { request, app, client, vouched, audiences }: Entry,
  of: { account: ProviderAccount; principal: Principal; nowMs: number },
): Promise<{ session: Session; refreshToken: string }> {
  const { nowMs } = of
  const { platform } = request
  const absoluteExpiresAtMs = absoluteExpiry(app.settings, nowMs)
  const session: Session = {
    id: newId("ses", nowMs, deps.random.bytes(10)),
    principalId: of.principal.id,
    identityId: of.account.identityId,
    appId: app.id,
    tenantId: request.tenantId,
    contextId: request.contextId,
    providerAccountId: of.account.id,
    providerClientId: client.id,
    platform,
    amr: [request.provider],
    audiences,
    // A provider's clock may run ahead of ours: nobody signs in in the future.
    authTimeMs: Math.min(vouched.authTimeMs, nowMs),
    status: "ACTIVE",
    createdAtMs: nowMs,
    lastRefreshedAtMs: null,
    idleExpiresAtMs: idleExpiry(app.settings, { platform, absoluteExpiresAtMs }, nowMs),
    absoluteExpiresAtMs,
    rotation: 0,
    device: request.device,
    boundDeviceId: null,
    userAgent: (context.requestHeader.get("user-agent") ?? "").slice(0, 256),
    cookieMode: request.cookieMode,
    revokedAtMs: null,
    revokeReason: null,
  }
  await tx.sessions.insert(session)
  const refreshToken = buildOpaque("sgrt_", deps.random)
  await tx.refreshTokens.insert(newRefreshToken(deps, session, refreshToken, nowMs, null))
  return { session, refreshToken }
}

/** The record of a refresh token: only its keyed hash is kept. */
export function newRefreshToken(
  deps: Deps,
  session: Session,
  token: string,
  nowMs: number,
  previous: RefreshToken | null,
): RefreshToken {
  return {
    id: newId("rtk", nowMs, deps.random.bytes(10)),
    sessionId: session.id,
    tokenHash: deps.secrets.hash("refresh-token", token),
    familyId: previous?.familyId ?? session.id,
    previousTokenId: previous?.id ?? null,
    createdAtMs: nowMs,
    usedAtMs: null,
    rotatedAtMs: null,
    expiresAtMs: session.idleExpiresAtMs,
    revokedAtMs: null,
    retryKeyHash: null,
    successorSealed: null,
    confirmedAtMs: null,
  }
}
