// Decides a refresh on the facts of one statement: read without a lock first, and under the session's lock
// if the first answer is not enough.
import type { HandlerContext } from "@connectrpc/connect"
import { isOpen } from "@signet/kernel/authz/liveness"
import type { Reason } from "@signet/kernel/errors"
import { principalInactivity } from "@signet/kernel/identity/principal"
import type { AppId } from "@signet/kernel/ids"
import type { RefreshFacts, RefreshRotation } from "@signet/kernel/ports"
import type { App, Membership, Principal, RefreshToken, Session } from "@signet/kernel/records"
import { grantedAudiences, idleExpiry } from "@signet/kernel/session/session"
import { buildOpaque } from "@signet/kernel/token/opaque"
import { decideRotation } from "@signet/kernel/token/refresh"
import type { Deps } from "../deps.ts"
import { activeOf } from "../place.ts"
import { checkCookieOrigin } from "./cookie.ts"
import { newRefreshToken } from "./sign-in/session.ts"

export interface RefreshCall {
  token: string
  /** The app whose cookie carried the token; null when the body did. */
  cookieAppId: AppId | null
  retryKey: string
  audiences: readonly string[]
}

export interface Entitled {
  principal: Principal
  app: App
  /** At the session's place. */
  membership: Membership
  audiences: readonly [string, ...string[]]
}

interface Known {
  readonly session: Session
  readonly token: RefreshToken
  readonly app: App
  /** Reported after the call is counted. */
  readonly entitled: Entitled | { readonly reason: Reason }
}

type RefreshDecision =
  | { readonly is: "refuse" | "reuse" }
  | (Known & { readonly is: "rotate" })
  | (Known & { readonly is: "retry"; readonly successorSealed: Uint8Array })

/** @throws Refused for a cookie from an unknown origin. */
export function decideRefresh(
  deps: Deps,
  context: HandlerContext,
  { session, facts, call }: { session: Session; facts: RefreshFacts; call: RefreshCall },
  nowMs: number,
): RefreshDecision {
  const { token, app } = facts
  if (token === undefined || app === undefined) return { is: "refuse" }
  if (call.cookieAppId !== null) checkCookieOrigin(context, app)
  const rotation = decideRotation({
    token,
    session,
    retryKeyMatches: retryKeyMatches(deps, token, call.retryKey),
    retryWindowMs: app.settings.retryWindowSeconds * 1_000,
    nowMs,
  })
  if (rotation.is === "refuse" || rotation.is === "reuse") return { is: rotation.is }
  // After the reuse check: a copied token ends its session also when it comes in a body, where no origin is checked.
  const isCarriedRight = session.cookieMode === (call.cookieAppId === session.appId)
  const entitled = isCarriedRight
    ? checkEntitled(deps, facts, { session, app, asked: call.audiences })
    : ({ reason: "REFRESH_TOKEN_INVALID" } as const)
  return { ...rotation, session, token, app, entitled }
}

function retryKeyMatches(deps: Deps, token: RefreshToken, retryKey: string): boolean {
  const { retryKeyHash } = token
  if (retryKeyHash === null || retryKey === "") return false
  return deps.secrets.hashes("retry-key", retryKey).some((hash) => deps.secrets.equal(hash, retryKeyHash))
}

/**
 * Checked before the rotation: the token of an inactive caller is not rotated, so it works once the caller is active.
 */
function checkEntitled(
  deps: Deps,
  facts: RefreshFacts,
  { session, app, asked }: { session: Session; app: App; asked: readonly string[] },
): Entitled | { reason: Reason } {
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

interface Successor {
  /** The session after the rotation. */
  readonly session: Session
  readonly refreshToken: string
  readonly rotation: RefreshRotation
}

export function planSuccessor(
  deps: Deps,
  { session, token, app, call }: { session: Session; token: RefreshToken; app: App; call: RefreshCall },
  nowMs: number,
): Successor {
  const idleExpiresAtMs = idleExpiry(app.settings, session, nowMs)
  const refreshed: Session = {
    ...session,
    idleExpiresAtMs,
    lastRefreshedAtMs: nowMs,
    rotation: session.rotation + 1,
  }
  const refreshToken = buildOpaque("sgrt_", deps.random)
  const isKeyed = call.retryKey !== "" && app.settings.retryWindowSeconds > 0
  const of = { tokenId: token.id, token: call.token, retryKey: call.retryKey }
  const rotation: RefreshRotation = {
    tokenId: token.id,
    nowMs,
    idleExpiresAtMs,
    retryKeyHash: isKeyed ? deps.secrets.hash("retry-key", call.retryKey) : null,
    successorSealed: isKeyed ? deps.secrets.sealSuccessor(of, refreshToken) : null,
    successor: newRefreshToken(deps, refreshed, refreshToken, nowMs, token),
  }
  return { session: refreshed, refreshToken, rotation }
}
