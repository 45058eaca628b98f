// Verifies ID tokens. Fetching keys is provider-keys' part, judging claims the kernel's; between them is the signature.
import { Refused } from "@signet/kernel/errors"
import { judgeIdToken } from "@signet/kernel/identity/provider-client"
import type { Clock, Secrets, Vouched } from "@signet/kernel/ports"
import type { ProviderClient } from "@signet/kernel/records"
import { base64url, compactVerify } from "jose"
import type { IdTokenAlgorithm, ProviderKeys } from "./provider-keys.ts"

/** No provider's tokens come near it. */
const maxLength = 16_384
/** Members that let a token say where its key is, or how it is to be read. */
const forbiddenMembers = ["crit", "b64", "zip", "enc", "jku", "jwk", "x5u", "x5c"]

export interface IdTokenDeps {
  keys: ProviderKeys
  clock: Clock
  secrets: Pick<Secrets, "digest">
  /** What this provider signs with. */
  algorithms: readonly IdTokenAlgorithm[]
}

/**
 * Verifies what the provider says of a person.
 *
 * @param nonce As the app gave it to the sign-in; empty when it gave none.
 * @throws Refused PROVIDER_TOKEN_INVALID (its metadata names the claim), NONCE_MISMATCH, UPSTREAM_UNAVAILABLE.
 */
export async function verifyIdToken(
  deps: IdTokenDeps,
  client: ProviderClient,
  idToken: string,
  nonce: string,
): Promise<Vouched> {
  const { alg, kid } = parseHeader(idToken, deps.algorithms)
  const key = await deps.keys.find(client.jwksUri, kid, alg)
  if (key === undefined) throw invalid("kid")
  const { payload } = await compactVerify(idToken, key, { algorithms: [alg] }).catch((cause: unknown) => {
    throw invalid("signature", cause)
  })
  const judgment = judgeIdToken({
    claims: parseObject(payload),
    client,
    expectedNonce: nonce === "" ? "" : carriedNonce(deps.secrets, client.nonceMode, nonce),
    nowSeconds: Math.floor(deps.clock.nowMs() / 1000),
  })
  if (judgment.is === "refuse") throw new Refused(judgment.reason, { metadata: { claim: judgment.claim } })
  const singleUse = {
    tokenHash: deps.secrets.digest(signedPart(idToken)),
    expiresAtMs: judgment.refusedFromSeconds * 1000,
  }
  return { ...judgment.vouched, singleUse }
}

/**
 * The token without its signature, of which one token has many: the last character has bits that say nothing, and with
 * (r, s) an ECDSA key has signed (r, n - s) too. By the whole text a token would serve once in each of them.
 */
const signedPart = (idToken: string): string => idToken.slice(0, idToken.lastIndexOf("."))

/** The nonce as the provider's tokens carry it: one form for each client, never one or the other. */
export function carriedNonce(
  secrets: Pick<Secrets, "digest">,
  mode: ProviderClient["nonceMode"],
  nonce: string,
): string {
  switch (mode) {
    case "RAW":
      return nonce
    case "SHA256_HEX":
      return Array.from(secrets.digest(nonce), (byte) => byte.toString(16).padStart(2, "0")).join("")
    case "SHA256_B64URL":
      return base64url.encode(secrets.digest(nonce))
  }
}

/** The two members that choose the key. Nothing is looked up for a token that no provider could have made. */
function parseHeader(idToken: string, algorithms: readonly IdTokenAlgorithm[]): { alg: IdTokenAlgorithm; kid: string } {
  if (idToken.length > maxLength) throw invalid("size")
  const segments = idToken.split(".")
  if (segments.length !== 3 || !segments.every((segment) => /^[A-Za-z0-9_-]+$/.test(segment))) throw invalid("form")
  const header = parseObject(decodeSegment(segments[0] ?? ""))
  if (forbiddenMembers.some((member) => Object.hasOwn(header, member))) throw invalid("header")
  if (header.typ !== undefined && header.typ !== "JWT") throw invalid("typ")
  const alg = algorithms.find((algorithm) => algorithm === header.alg)
  if (alg === undefined) throw invalid("alg")
  if (typeof header.kid !== "string" || header.kid === "" || header.kid.length > 256) throw invalid("kid")
  return { alg, kid: header.kid }
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

function invalid(claim: string, cause?: unknown): Refused {
  return new Refused("PROVIDER_TOKEN_INVALID", { metadata: { claim }, cause })
}
