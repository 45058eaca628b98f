// Verifies ID tokens. provider-keys.ts fetches keys, signed-token.ts checks the signature, the kernel judges claims.
import { Refused } from "@signet/kernel/errors"
import { judgeIdToken } from "@signet/kernel/identity/provider-client"
import type { Vouched } from "@signet/kernel/identity/provider-ports"
import type { Secrets } from "@signet/kernel/keys/ports"
import type { Clock } from "@signet/kernel/ports"
import type { ProviderClient } from "@signet/kernel/records"
import { base64url } from "jose"
import { type SignedTokenDeps, verifySignedToken } from "./signed-token.ts"

interface IdTokenDeps extends SignedTokenDeps {
  clock: Clock
  secrets: Pick<Secrets, "digest">
}

/**
 * Verifies an ID token and returns its claims.
 *
 * @param nonce The app's nonce, before any hashing; empty for none.
 * @throws Refused PROVIDER_TOKEN_INVALID (its metadata names the claim), NONCE_MISMATCH, UPSTREAM_UNAVAILABLE.
 */
export async function verifyIdToken(
  deps: IdTokenDeps,
  client: ProviderClient,
  idToken: string,
  nonce: string,
): Promise<Vouched> {
  const claims = await verifySignedToken(deps, client.jwksUri, idToken)
  return vouch(deps, client, { idToken, claims }, nonce)
}

/** Judges verified claims, for a provider whose claims need a conversion after the signature check. */
export function vouch(
  deps: Pick<IdTokenDeps, "clock" | "secrets">,
  client: ProviderClient,
  { idToken, claims }: { idToken: string; claims: Readonly<Record<string, unknown>> },
  nonce: string,
): Vouched {
  const judgment = judgeIdToken({
    claims,
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
 * The token without its signature, for the single-use check. One token has several valid encodings: the last character
 * has unused bits, and for an ECDSA signature (r, s), (r, n - s) is valid too. A hash of the whole text would accept
 * each encoding once.
 */
export const signedPart = (idToken: string): string => idToken.slice(0, idToken.lastIndexOf("."))

/** The nonce in the form that the provider's tokens contain. Each client has exactly one form. */
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
