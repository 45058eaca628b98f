// Mints the client secret of IDP_B: a short-lived JWT for each request, so that a stolen one is worthless.
import { Refused } from "@signet/kernel/errors"
import type { Secrets } from "@signet/kernel/keys/ports"
import type { Clock } from "@signet/kernel/ports"
import type { ProviderClient } from "@signet/kernel/records"
import { type CryptoKey, importPKCS8, SignJWT } from "jose"
import { openClientSecret } from "./code-exchange.ts"

/** The provider accepts up to half a year. */
const lifeSeconds = 300

/**
 * Mints the JWT that authenticates the client's team (RFC 7523 section 3, sent as client_secret).
 *
 * The client's sealed secret is the text of the provider's key file: a P-256 key as PKCS #8 in PEM (RFC 7468 section
 * 10).
 *
 * @throws Refused PROVIDER_NOT_CONFIGURED for a client without a team, a key id or a valid key.
 */
export async function mintClientSecret(
  deps: { clock: Clock; secrets: Pick<Secrets, "open"> },
  client: ProviderClient,
): Promise<string> {
  const { providerTenant, clientKeyId, clientId, canonicalIssuer } = client
  const pem = openClientSecret(deps.secrets, client)
  if (providerTenant === null || clientKeyId === null || pem === undefined) throw new Refused("PROVIDER_NOT_CONFIGURED")
  const iat = Math.floor(deps.clock.nowMs() / 1000)
  return new SignJWT({ iss: providerTenant, sub: clientId, aud: canonicalIssuer, iat, exp: iat + lifeSeconds })
    .setProtectedHeader({ alg: "ES256", kid: clientKeyId })
    .sign(await importKey(pem))
}

async function importKey(pem: string): Promise<CryptoKey> {
  try {
    return await importPKCS8(pem.trim(), "ES256")
  } catch {
    // The cause could quote the key.
    throw new Refused("PROVIDER_NOT_CONFIGURED", {
      cause: new Error("the stored client secret is not a P-256 key in PEM"),
    })
  }
}
