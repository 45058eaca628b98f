// The client secret of IDP_B: a token of our own, made for each request, so that none is worth stealing.
import { Refused } from "@signet/kernel/errors"
import type { Secrets } from "@signet/kernel/keys/ports"
import type { Clock } from "@signet/kernel/ports"
import type { ProviderClient } from "@signet/kernel/records"
import { type CryptoKey, importPKCS8, SignJWT } from "jose"
import { openClientSecret } from "./code-exchange.ts"

/** The provider would take half a year. */
const lifeSeconds = 300

/**
 * The JWT that says that the client's team asks (RFC 7523 section 3, sent as client_secret).
 *
 * What is sealed in the client is the text of the key file that the provider gives out: a P-256 key as PKCS #8 in PEM
 * (RFC 7468 section 10).
 *
 * @throws Refused PROVIDER_NOT_CONFIGURED for a client without team, key id or such a key.
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
