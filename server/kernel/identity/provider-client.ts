// Checks the claims of an ID token for an app's client. server/providers verifies signature and keys.
import { type ProviderClientId, parseId } from "../ids.ts"
import type { ProviderClient } from "../records.ts"
import { isOneOf, isPast, isText, isTime, skewSeconds } from "./claim.ts"
import type { Vouched } from "./provider-ports.ts"

/** Maximum age of an ID token at sign-in, in seconds. */
const maxAgeSeconds = 600

interface PresentedIdToken {
  /** The payload, whose signature was verified. */
  claims: Readonly<Record<string, unknown>>
  client: ProviderClient
  /** The sign-in's nonce in the form of this provider's tokens; empty if the sign-in has none. */
  expectedNonce: string
  /** Unix time. */
  nowSeconds: number
}

type IdTokenJudgment =
  | {
      is: "ok"
      vouched: Omit<Vouched, "singleUse">
      /** From this Unix time on, this rule rejects the token, so its use need not be remembered longer. */
      refusedFromSeconds: number
    }
  | { is: "refuse"; reason: "PROVIDER_TOKEN_INVALID" | "NONCE_MISMATCH"; claim: string }

/**
 * Checks that a verified ID token is for this client and this sign-in (OpenID Connect Core section 3.1.3.7). Three
 * rules are stricter: every audience must be the client's, the token is at most 10 minutes old, and a nonce is required
 * once either side has one.
 */
export function judgeIdToken({ claims, client, expectedNonce, nowSeconds }: PresentedIdToken): IdTokenJudgment {
  const { iss, sub, exp, iat, email, name } = claims
  if (!isOneOf(iss, client.issuers)) return invalid("iss")
  const audiences = Array.isArray(claims.aud) ? claims.aud : [claims.aud]
  if (audiences.length === 0 || !audiences.every((aud) => isOneOf(aud, client.audiences))) return invalid("aud")
  if (claims.azp === undefined ? audiences.length > 1 : !isOneOf(claims.azp, client.authorizedParties)) {
    return invalid("azp")
  }
  if (!isText(sub, 255) || sub === "") return invalid("sub")
  if (!isTime(exp) || nowSeconds >= exp + skewSeconds) return invalid("exp")
  if (!isTime(iat) || iat > nowSeconds + skewSeconds || nowSeconds > iat + maxAgeSeconds) return invalid("iat")
  if (claims.nbf !== undefined && !isPast(claims.nbf, nowSeconds)) return invalid("nbf")
  if (claims.auth_time !== undefined && !isPast(claims.auth_time, nowSeconds)) return invalid("auth_time")
  if (client.hostedDomains.length > 0 && !isOneOf(claims.hd, client.hostedDomains)) return invalid("hd")
  if (!isNonceRight(claims.nonce, expectedNonce, client.requireNonce)) {
    return { is: "refuse", reason: "NONCE_MISMATCH", claim: "nonce" }
  }
  return {
    is: "ok",
    vouched: {
      issuer: client.canonicalIssuer,
      subject: sub,
      providerTenant: client.providerTenant,
      email: isText(email, 320) ? email : null,
      // Only the boolean. The module of a provider that sends the text "true" converts it.
      emailVerified: claims.email_verified === true,
      isRelayEmail: false,
      name: isText(name, 200) ? name : null,
      // Never `iat`: a provider also issues tokens for a sign-in long ago.
      authTimeMs: isTime(claims.auth_time) ? claims.auth_time * 1000 : null,
      providerRefreshToken: null,
    },
    refusedFromSeconds: Math.ceil(Math.min(exp + skewSeconds, iat + maxAgeSeconds + 1)),
  }
}

/** A provider's refresh token and the client that it was issued to, the only one that can revoke it. */
export interface ProviderToken {
  clientId: ProviderClientId
  token: string
}

/** Returns the text that is sealed. */
export function formatProviderToken({ clientId, token }: ProviderToken): string {
  return `${clientId} ${token}`
}

export function parseProviderToken(text: string): ProviderToken | undefined {
  const clientId = parseId("pcl", text.slice(0, 30))
  return clientId !== undefined && text.charAt(30) === " " ? { clientId, token: text.slice(31) } : undefined
}

function invalid(claim: string): IdTokenJudgment {
  return { is: "refuse", reason: "PROVIDER_TOKEN_INVALID", claim }
}

/** A token and a sign-in without a nonce match only if none is required. */
function isNonceRight(carried: unknown, expected: string, required: boolean): boolean {
  if (expected === "") return !required && carried === undefined
  return carried === expected
}
