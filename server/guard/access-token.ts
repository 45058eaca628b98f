import { type AuthContext, contextOf } from "@signet/kernel/authz/context"
import type { Reason } from "@signet/kernel/errors"
import type { Clock } from "@signet/kernel/ports"
import { parseClaims } from "@signet/kernel/token/claims"
import { createJwtVerifier, type Json, untimely } from "./jwt.ts"
import type { KeySet } from "./key-set.ts"
import { decodeObject } from "./strict-json.ts"
import type { TokenCrypto } from "./token-crypto.ts"

interface VerifierOptions {
  readonly issuer: string
  /** Accepted `aud`. Null accepts any, for the issuer itself, which then checks the audience. */
  readonly audience: string | null
  readonly keySet: KeySet
  readonly crypto: TokenCrypto
  readonly clock: Clock
  /** Maximum number of verified tokens in memory; 0 for none. */
  readonly cacheSize: number
}

/** Returns the caller of a token, or why it is rejected. UNAVAILABLE: the keys could not be fetched. */
export type VerifyToken = (token: string) => Promise<AuthContext | Reason>

export function createVerifier(options: VerifierOptions): VerifyToken {
  const { issuer, audience } = options
  return createJwtVerifier({
    ...options,
    typ: "at+jwt",
    mapReason: (reason, header, payloadPart) => (isOfProvider(header, payloadPart, issuer) ? providerToken : reason),
    read(payload, nowMs) {
      if (payload.iss !== issuer) return "ISSUER_MISMATCH"
      if (audience !== null && payload.aud !== audience) return "AUDIENCE_MISMATCH"
      const late = untimely(payload, nowMs)
      if (late !== undefined) return late
      const claims = parseClaims(payload)
      return typeof claims === "string" ? claims : contextOf(claims, payload)
    },
  })
}

const providerToken: Reason = "PROVIDER_TOKEN_NOT_ACCEPTED"
const providerAlgorithms: readonly unknown[] = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]

/** Detects a provider's ID token to give the developer a better reason. The token is rejected either way. */
function isOfProvider(header: Json, payloadPart: string, issuer: string): boolean {
  if ((header.typ !== undefined && header.typ !== "JWT") || !providerAlgorithms.includes(header.alg)) return false
  const iss = decodeObject(payloadPart)?.object.iss
  return typeof iss === "string" && iss !== issuer
}
