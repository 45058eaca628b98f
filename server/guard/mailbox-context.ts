// For whom a message was sent: only what the service signed says so, never what a sender writes.
import type { AuthContext } from "@signet/kernel/authz/context"
import { type Envelope, isWithin } from "@signet/kernel/authz/envelope"
import { envelopeContextOf } from "@signet/kernel/authz/envelope-context"
import type { Reason } from "@signet/kernel/errors"
import type { Clock } from "@signet/kernel/ports"
import { type AccessTokenClaims, parseClaims } from "@signet/kernel/token/claims"
import { contextSeconds } from "@signet/kernel/token/context-claims"
import { parseBearer } from "./bearer.ts"
import { createJwtVerifier, type Json, untimely, type VerifyJwt } from "./jwt.ts"
import type { KeySet } from "./key-set.ts"
import type { TokenCrypto } from "./token-crypto.ts"

export interface ContextOptions {
  readonly issuer: string
  /** The audience that the mailbox is of. */
  readonly audience: string
  readonly contextKeys: KeySet
  readonly crypto: TokenCrypto
  readonly clock: Clock
  readonly cacheSize: number
}

/** A context token's claims, as parsed and as signed. */
export interface ContextToken {
  readonly claims: AccessTokenClaims
  readonly payload: Json
}

/** Verifies context tokens of any sender: which one is right is for the caller to say. */
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

/** @param chain Verified, and not broken: the first has the context token, the last the scopes that are left of it. */
export type FindContext = (chain: readonly [Envelope, ...Envelope[]]) => Promise<AuthContext | Reason>

export function createFindContext({ audience, ...options }: ContextOptions): FindContext {
  const verify = createContextVerifier(options)
  return async (chain) => {
    const [first] = chain
    const token = parseBearer(first.contextToken === "" ? null : `Bearer ${first.contextToken}`)
    if (typeof token === "string") return token
    const found = await verify(token.token)
    if (typeof found === "string") return found
    // Addressed to whom began the chain: a token that somebody else came by is worth nothing to it.
    if (found.claims.aud !== first.sender.principalId) return "AUDIENCE_MISMATCH"
    if (!isWithin(first.scopes, found.claims.scp)) return "ENVELOPE_SCOPES_WIDENED"
    const scopes = chain.at(-1)?.scopes ?? []
    return envelopeContextOf(found.claims, found.payload, { audience, scopes })
  }
}
