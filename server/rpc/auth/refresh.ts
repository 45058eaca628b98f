// Refreshes a session: one transaction under the session's lock. A reuse is committed before it is refused.
import type { HandlerContext } from "@connectrpc/connect"
import { isOpen } from "@signet/kernel/authz/liveness"
import type { AuthorityVersions } from "@signet/kernel/authz/versions"
import { type Reason, Refused } from "@signet/kernel/errors"
import { principalInactivity } from "@signet/kernel/identity/principal"
import type { AppId } from "@signet/kernel/ids"
import type { RefreshFacts, Tx } from "@signet/kernel/ports"
import type { App, Membership, Principal, RefreshToken, Session } from "@signet/kernel/records"
import { grantedAudiences, idleExpiry } from "@signet/kernel/session/session"
import { buildOpaque, parseOpaque } from "@signet/kernel/token/opaque"
import { decideRotation } from "@signet/kernel/token/refresh"
import { auditEvent, ofSession } from "../audit/audit.ts"
import { audited } from "../audit/refusals.ts"
import type { Deps } from "../deps.ts"
import { limit } from "../limit.ts"
import { activeOf } from "../place.ts"
import { checkCookieOrigin } from "./cookie.ts"
import { newRefreshToken } from "./sign-in/session.ts"

interface RefreshCall {
  token: string
  /** The app whose cookie carried the token; null when the body did. */
  cookieAppId: AppId | null
  retryKey: string
  audiences: readonly string[]
}

interface Refreshed {
  session: Session
  principal: Principal
  app: App
  /** At the session's place. */
  membership: Membership
  versions: AuthorityVersions
  audiences: readonly [string, ...string[]]
  refreshToken: string
}

interface Rejected {
  reason: Reason
  /** The token's session; missing for an unknown token. */
  session?: Session
}

type Outcome = Refreshed | Rejected

/**
 * The refusal of a refresh. The caller has not proved to be the session's person, so the event has no actor. A reuse
 * has its own event.
 */
export function rejected({ reason, session }: Rejected): Refused {
  const refused = new Refused(reason)
  if (reason === "REFRESH_TOKEN_REUSED") return refused
  const facts = session && { ...ofSession(session), actorPrincipalId: null }
  return audited(refused, { kind: "session.refresh_rejected", outcome: "DENIED", ...facts })
}

/** @throws Refused REFRESH_TOKEN_INVALID, REFRESH_TOKEN_REUSED, and the reasons for which an account is inactive. */
export async function refresh(deps: Deps, context: HandlerContext, call: RefreshCall): Promise<Refreshed> {
  const token = parseOpaque("sgrt_", call.token)
  if (token === undefined) throw rejected({ reason: "REFRESH_TOKEN_INVALID" })
  const outcome = await deps.store.transaction((tx) => rotate(deps, context, tx, { ...call, token }))
  if ("reason" in outcome) throw rejected(outcome)
  return outcome
}

async function rotate(deps: Deps, context: HandlerContext, tx: Tx, call: RefreshCall): Promise<Outcome> {
  const nowMs = deps.clock.nowMs()
  const hashes = deps.secrets.hashes("refresh-token", call.token)
  const session = await tx.sessions.lockByRefreshToken(hashes)
  if (session === undefined) return { reason: "REFRESH_TOKEN_INVALID" }
  const facts = await tx.refreshTokens.findWithFacts(hashes, session)
  const { token, app, versions } = facts
  if (token === undefined || app === undefined) return { reason: "REFRESH_TOKEN_INVALID", session }
  if (call.cookieAppId !== null) checkCookieOrigin(context, app)

  const rotation = decideRotation({
    token,
    session,
    retryKeyMatches: retryKeyMatches(deps, token, call.retryKey),
    retryWindowMs: app.settings.retryWindowSeconds * 1_000,
    nowMs,
  })
  switch (rotation.is) {
    case "refuse":
      return { reason: "REFRESH_TOKEN_INVALID", session }
    case "reuse":
      return endFamily(deps, context, tx, session, nowMs)
    case "retry":
    case "rotate": {
      // After the reuse check: a copied token ends its session even when the limit is exceeded.
      await limit(deps, context, "refresh", { session: session.id }, { counts: tx.limits })
      // After the reuse check: a copied token ends its session also when it comes in a body, where no origin is
      // checked.
      if (session.cookieMode !== (call.cookieAppId === session.appId)) {
        return { reason: "REFRESH_TOKEN_INVALID", session }
      }
      const entitled = checkEntitled(deps, facts, { session, app, asked: call.audiences })
      if ("reason" in entitled) return { ...entitled, session }
      const next =
        rotation.is === "rotate"
          ? await issueSuccessor(deps, context, tx, { session, token, app, call, nowMs })
          : await reopenSuccessor(deps, context, tx, { session, token, call, sealed: rotation.successorSealed, nowMs })
      return next === undefined ? endFamily(deps, context, tx, session, nowMs) : { ...entitled, ...next, versions }
    }
  }
}

function retryKeyMatches(deps: Deps, token: RefreshToken, retryKey: string): boolean {
  const { retryKeyHash } = token
  if (retryKeyHash === null || retryKey === "") return false
  return deps.secrets.hashes("retry-key", retryKey).some((hash) => deps.secrets.equal(hash, retryKeyHash))
}

async function endFamily(deps: Deps, context: HandlerContext, tx: Tx, session: Session, nowMs: number) {
  await tx.sessions.end(session.id, "COMPROMISED", "refresh_reuse", nowMs)
  await tx.audit.append(
    auditEvent(deps, context, nowMs, {
      kind: "session.refresh_reuse",
      outcome: "DENIED",
      reason: "REFRESH_TOKEN_REUSED",
      ...ofSession(session),
    }),
  )
  return { reason: "REFRESH_TOKEN_REUSED" } as const
}

/**
 * Checked before the rotation: the token of an inactive caller is not rotated, so it works once the caller is active.
 */
function checkEntitled(
  deps: Deps,
  facts: RefreshFacts,
  { session, app, asked }: { session: Session; app: App; asked: readonly string[] },
): Pick<Refreshed, "principal" | "app" | "membership" | "audiences"> | { reason: Reason } {
  const { principal } = facts
  if (app.status !== "ACTIVE") return { reason: "TENANT_SUSPENDED" }
  if (facts.identity !== "ACTIVE") return { reason: "IDENTITY_INACTIVE" }
  const inactive = principalInactivity(principal?.status)
  if (principal === undefined || inactive !== undefined) return { reason: inactive ?? "PRINCIPAL_INACTIVE" }
  const membership = activeOf(facts)
  if (membership === undefined) return { reason: "MEMBERSHIP_INACTIVE" }
  if (!isOpen(facts.place)) return { reason: "TENANT_SUSPENDED" }
  const audiences = grantedAudiences(asked, app.audiences, session.audiences, deps.authAudience)
  return audiences === undefined ? { reason: "AUDIENCE_NOT_REGISTERED" } : { principal, app, membership, audiences }
}

interface Step {
  session: Session
  token: RefreshToken
  call: RefreshCall
  nowMs: number
}

async function issueSuccessor(deps: Deps, context: HandlerContext, tx: Tx, step: Step & { app: App }) {
  const { session, token, call, nowMs } = step
  const idleExpiresAtMs = idleExpiry(step.app.settings, session, nowMs)
  const refreshed: Session = {
    ...session,
    idleExpiresAtMs,
    lastRefreshedAtMs: nowMs,
    rotation: session.rotation + 1,
  }
  const refreshToken = buildOpaque("sgrt_", deps.random)
  const keyed = call.retryKey !== "" && step.app.settings.retryWindowSeconds > 0
  await tx.refreshTokens.rotate(
    token.id,
    {
      nowMs,
      idleExpiresAtMs,
      retryKeyHash: keyed ? deps.secrets.hash("retry-key", call.retryKey) : null,
      successorSealed: keyed
        ? deps.secrets.sealSuccessor({ tokenId: token.id, token: call.token, retryKey: call.retryKey }, refreshToken)
        : null,
    },
    newRefreshToken(deps, refreshed, refreshToken, nowMs, token),
  )
  await tx.audit.append(auditEvent(deps, context, nowMs, { kind: "session.refreshed", ...ofSession(session) }))
  return { session: refreshed, refreshToken }
}

/**
 * Opens the sealed successor of a retried refresh. Undefined if it does not open: with a matching key, only for an
 * altered row.
 */
async function reopenSuccessor(deps: Deps, context: HandlerContext, tx: Tx, step: Step & { sealed: Uint8Array }) {
  const { session, token, call, nowMs } = step
  const of = { tokenId: token.id, token: call.token, retryKey: call.retryKey }
  const refreshToken = deps.secrets.openSuccessor(of, step.sealed)
  if (refreshToken === undefined) return undefined
  await tx.audit.append(auditEvent(deps, context, nowMs, { kind: "session.refresh_retried", ...ofSession(session) }))
  return { session, refreshToken }
}
