// The claims of a context token: for whom a service sends messages. It is shown to nobody as a bearer token: its type and
// its keys are others, and its audience is the sender.
import type { PrincipalId, TokenId } from "../ids.ts"
import { type AccessTokenClaims, skewSeconds } from "./claims.ts"

/** How long a context lives, in seconds: at most a day; one that a service acts with, as long as any access token may. */
export const contextSeconds = { max: 86_400, delegated: 900 } as const

/** How long the end of what a service gets contexts with must be kept: none from before is accepted later. Milliseconds. */
export const longestContextMs = (contextSeconds.max + skewSeconds) * 1_000

/**
 * @param of.subject The claims of the access token that is exchanged, or of one that the service would get for itself.
 * @param of.sender The service that will send: nobody else's envelopes may carry it.
 * @param of.scopes Of the subject's.
 * @param of.endsAtSeconds When the subject's session ends at the latest; undefined without a session.
 */
export function buildContextClaims(of: {
  subject: AccessTokenClaims
  sender: PrincipalId
  tokenId: TokenId
  scopes: readonly string[]
  nowSeconds: number
  endsAtSeconds: number | undefined
}): AccessTokenClaims {
  const { nowSeconds } = of
  // A session's device makes its own calls: a message is posted by the service, also hours later.
  const { did: _, ...subject } = of.subject
  const longest = subject.act === undefined ? contextSeconds.max : contextSeconds.delegated
  return {
    ...subject,
    aud: of.sender,
    jti: of.tokenId,
    scp: of.scopes.filter((scope) => subject.scp.includes(scope)),
    iat: nowSeconds,
    nbf: nowSeconds,
    exp: Math.min(nowSeconds + longest, of.endsAtSeconds ?? Number.POSITIVE_INFINITY),
  }
}
