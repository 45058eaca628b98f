// Verifies ID tokens. Fetching keys is provider-keys' part, judging claims the kernel's; between them is the signature.
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
  const claims = await verifySignedToken(deps, client.jwksUri, idToken)
  return vouch(deps, client, { idToken, claims }, nonce)
}

/** The second half of verifyIdToken, for a provider whose claims are read in a way of its own. */
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
 * The token without its signature, of which one token has many: the last character has bits that say nothing, and with
 * (r, s) an ECDSA key has signed (r, n - s) too. By the whole text a token would serve once in each of them.
 */
export const signedPart = (idToken: string): string => idToken.slice(0, idToken.lastIndexOf("."))

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
