import type { HandlerContext } from "@connectrpc/connect"
import { scopesHeld } from "@signet/kernel/authz/scopes"
import type { AuthorityVersions } from "@signet/kernel/authz/versions"
import { newId } from "@signet/kernel/ids"
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
 * What a sign-in or a refresh answers with: one access token an audience, and the refresh token, in the body or as a
 * cookie. The answer holds secrets, so nobody may store it.
 */
export function issueTokens(
  deps: Deps,
  context: HandlerContext,
  of: {
    session: Session
    principal: Principal
    app: App
    /** At the session's own place: what it holds there is in the tokens. */
    membership: Membership
    /** Read before app and membership were. */
    versions: AuthorityVersions
    audiences: readonly [string, ...string[]]
    refreshToken: string
  },
): Issued {
  const nowMs = deps.clock.nowMs()
  const sign = (audience: string): string =>
    deps.keys.sign("at+jwt", {
      ...buildUserClaims({
        issuer: deps.issuer,
        audience,
        session: of.session,
        principal: of.principal,
        tokenId: newId("jti", nowMs, deps.random.bytes(10)),
        clientId: of.session.providerClientId,
        scopes: scopesHeld(of.app, of.membership, audience),
        versions: of.versions,
        nowSeconds: Math.floor(nowMs / 1_000),
        lifetimeSeconds: deps.accessTokenSeconds,
      }),
    })
  const accessTokens = Object.fromEntries(of.audiences.map((audience) => [audience, sign(audience)]))
  const refreshExpiresIn = Math.max(0, Math.floor((of.session.idleExpiresAtMs - nowMs) / 1_000))
  context.responseHeader.set("cache-control", "no-store")
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
