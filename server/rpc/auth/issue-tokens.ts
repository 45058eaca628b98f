import type { HandlerContext } from "@connectrpc/connect"
import { tokenIdOf } from "@signet/kernel/audit/token-event"
import { scopesHeld } from "@signet/kernel/authz/scopes"
import type { AuthorityVersions } from "@signet/kernel/authz/versions"
import type { AuditEventId } from "@signet/kernel/ids"
import type { App, Membership, Principal, Session } from "@signet/kernel/records"
import { buildUserClaims } from "@signet/kernel/token/claims"
import type { Deps } from "../deps.ts"
import { setCookie } from "./cookie.ts"

export interface Issued {
  accessToken: string
  accessTokens: Record<string, string>
  tokenType: string
  expiresIn: number
  refreshToken: string
  refreshExpiresIn: number
}

/**
 * The answer of a sign-in or refresh: one access token per audience, and the refresh token in the body or as a cookie.
 */
export function issueTokens(
  deps: Deps,
  context: HandlerContext,
  of: {
    session: Session
    principal: Principal
    app: App
    /** At the session's own place; its scopes are in the tokens. */
    membership: Membership
    /** Read before app and membership. */
    versions: AuthorityVersions
    audiences: readonly [string, ...string[]]
    refreshToken: string
    /** The event of the sign-in or refresh: the tokens' ids name it. */
    eventId: AuditEventId
  },
): Issued {
  const nowMs = deps.clock.nowMs()
  const sign = (audience: string, index: number): string =>
    deps.keys.sign("at+jwt", {
      ...buildUserClaims({
        issuer: deps.issuer,
        audience,
        session: of.session,
        principal: of.principal,
        tokenId: tokenIdOf(of.eventId, index),
        clientId: of.session.providerClientId,
        scopes: scopesHeld(of.app, of.membership, audience),
        versions: of.versions,
        nowSeconds: Math.floor(nowMs / 1_000),
        lifetimeSeconds: deps.accessTokenSeconds,
      }),
    })
  const accessTokens = Object.fromEntries(of.audiences.map((audience, index) => [audience, sign(audience, index)]))
  const refreshExpiresIn = Math.max(0, Math.floor((of.session.idleExpiresAtMs - nowMs) / 1_000))
  if (of.session.cookieMode) setCookie(context, of.session.appId, of.refreshToken, refreshExpiresIn)
  return {
    accessToken: accessTokens[of.audiences[0]] ?? "",
    accessTokens,
    tokenType: "Bearer",
    expiresIn: deps.accessTokenSeconds,
    refreshToken: of.session.cookieMode ? "" : of.refreshToken,
    refreshExpiresIn,
  }
}
