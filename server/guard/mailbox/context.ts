// Determines on whose behalf a message was sent: from the signed context token, never from the sender's own statement.
import type { AuthContext } from "@signet/kernel/authz/context"
import { type Envelope, isWithin } from "@signet/kernel/authz/envelope"
import { envelopeContextOf } from "@signet/kernel/authz/envelope-context"
import type { Reason } from "@signet/kernel/errors"
import type { Clock } from "@signet/kernel/ports"
import { type AccessTokenClaims, parseClaims } from "@signet/kernel/token/claims"
import { contextSeconds } from "@signet/kernel/token/context-claims"
import { parseBearer } from "../bearer.ts"
import { createJwtVerifier, type Json, untimely, type VerifyJwt } from "../jwt.ts"
import type { KeySet } from "../key-set.ts"
import type { TokenCrypto } from "../token-crypto.ts"

interface ContextOptions {
  readonly issuer: string
  /** The audience of the mailbox. */
  readonly audience: string
  readonly contextKeys: KeySet
  readonly crypto: TokenCrypto
  readonly clock: Clock
  readonly cacheSize: number
}

/** A context token's claims, parsed and as signed. */
interface ContextToken {
  readonly claims: AccessTokenClaims
  readonly payload: Json
}

/** Verifies context tokens of any sender. The caller must check the sender. */
export function createContextVerifier(options: Omit<ContextOptions, "audience">): VerifyJwt<ContextToken> {
  return createJwtVerifier({
    ...options,
    keySet: options.contextKeys,
    typ: "ctx+jwt",
    read(payload, nowMs) {
      if (payload.iss !== options.issuer) return "ISSUER_MISMATCH"
      if (typeof payload.aud !== "string") return "AUDIENCE_MISMATCH"
      const late = untimely(payload, nowMs)
      if (late !== undefined) return late
      const claims = parseClaims(payload, contextSeconds.max)
      return typeof claims === "string" ? claims : { claims, payload }
    },
  })
}

/**
 * @param chain A verified, unbroken chain. The first envelope has the context token, the last one the remaining scopes.
 */
type FindContext = (chain: readonly [Envelope, ...Envelope[]]) => Promise<AuthContext | Reason>

export function createFindContext({ audience, ...options }: ContextOptions): FindContext {
  const verify = createContextVerifier(options)
  return async (chain) => {
    const [first] = chain
    const token = parseBearer(first.contextToken === "" ? null : `Bearer ${first.contextToken}`)
    if (typeof token === "string") return token
    const found = await verify(token.token)
    if (typeof found === "string") return found
    // The token must be addressed to the first sender, so that a service cannot use another service's token.
    if (found.claims.aud !== first.sender.principalId) return "AUDIENCE_MISMATCH"
    if (!isWithin(first.scopes, found.claims.scp)) return "ENVELOPE_SCOPES_WIDENED"
    const scopes = chain.at(-1)?.scopes ?? []
    return envelopeContextOf(found.claims, found.payload, { audience, scopes })
  }
}
