// The claims of a context token, which states for whom a service sends messages. It cannot pass as a bearer token: its
// type and keys differ, and its audience is the sender.
import type { PrincipalId, TokenId } from "../ids.ts"
import { type AccessTokenClaims, skewSeconds } from "./claims.ts"

/** Maximum lifetime of a context token in seconds: one day; with an actor, that of an access token. */
export const contextSeconds = { max: 86_400, delegated: 900 } as const

/** How long a revocation must be stored so that no earlier context token is accepted. Milliseconds. */
export const longestContextMs = (contextSeconds.max + skewSeconds) * 1_000

/**
 * @param of.subject Claims of the access token that is exchanged, or of one that the service would get for itself.
 * @param of.sender The sending service: only its envelopes may carry the token.
 * @param of.scopes Limited to the subject's.
 * @param of.endsAtSeconds Latest end of the subject's session; undefined without a session.
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
  // The device is omitted: the service posts the message, possibly hours after the device's call.
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
