// Verifies providers' signatures: a compact JWS (RFC 7515) under a published key.
import { Refused } from "@signet/kernel/errors"
import { base64url, compactVerify } from "jose"
import type { IdTokenAlgorithm, ProviderKeys } from "./provider-keys.ts"

/** In characters. Providers' tokens are far shorter. */
const maxLength = 16_384
/** Header parameters with which a token would choose its own key or encoding. */
const forbiddenMembers = ["crit", "b64", "zip", "enc", "jku", "jwk", "x5u", "x5c"]

export interface SignedTokenDeps {
  keys: ProviderKeys
  /** The provider's signature algorithms. */
  algorithms: readonly IdTokenAlgorithm[]
}

/**
 * Verifies a token's signature and returns its claims.
 *
 * @param jwksUri From the configuration.
 * @throws Refused PROVIDER_TOKEN_INVALID (its metadata names the wrong part), UPSTREAM_UNAVAILABLE.
 */
export async function verifySignedToken(
  deps: SignedTokenDeps,
  jwksUri: string,
  token: string,
): Promise<Record<string, unknown>> {
  const { alg, kid } = parseHeader(token, deps.algorithms)
  const key = await deps.keys.find(jwksUri, kid, alg)
  if (key === undefined) throw invalid("kid")
  const { payload } = await compactVerify(token, key, { algorithms: [alg] }).catch((cause: unknown) => {
    throw invalid("signature", cause)
  })
  return parseObject(payload)
}

/**
 * Reads the unverified claims, which any caller may have forged: only to select the keys for the verification.
 *
 * @throws Refused PROVIDER_TOKEN_INVALID.
 */
export function readUnverified(token: string): Record<string, unknown> {
  return parseObject(decodeSegment(segmentsOf(token)[1]))
}

/** Returns the two parameters that select the key. A token that no provider could have issued causes no look-up. */
function parseHeader(token: string, algorithms: readonly IdTokenAlgorithm[]): { alg: IdTokenAlgorithm; kid: string } {
  const header = parseObject(decodeSegment(segmentsOf(token)[0]))
  if (forbiddenMembers.some((member) => Object.hasOwn(header, member))) throw invalid("header")
  if (header.typ !== undefined && header.typ !== "JWT") throw invalid("typ")
  const alg = algorithms.find((algorithm) => algorithm === header.alg)
  if (alg === undefined) throw invalid("alg")
  if (typeof header.kid !== "string" || header.kid === "" || header.kid.length > 256) throw invalid("kid")
  return { alg, kid: header.kid }
}

function segmentsOf(token: string): [string, string] {
  if (token.length > maxLength) throw invalid("size")
  const [header = "", payload = "", signature = "", ...more] = token.split(".")
  const isSegment = (segment: string) => /^[A-Za-z0-9_-]+$/.test(segment)
  if (more.length > 0 || ![header, payload, signature].every(isSegment)) throw invalid("form")
  return [header, payload]
}

function decodeSegment(segment: string): Uint8Array {
  try {
    return base64url.decode(segment)
  } catch (cause) {
    throw invalid("form", cause)
  }
}

function parseObject(utf8: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(utf8))
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return Object.fromEntries(Object.entries(value))
  } catch (cause) {
    throw invalid("form", cause)
  }
  throw invalid("form")
}

/** @param claim The name of the wrong part. Its value is never in the refusal. */
export function invalid(claim: string, cause?: unknown): Refused {
  return new Refused("PROVIDER_TOKEN_INVALID", { metadata: { claim }, cause })
}
