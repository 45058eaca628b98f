// Checks and seals the secrets of provider clients. No call returns them.

import { Refused } from "@signet/kernel/errors"
import type { ProviderClientId } from "@signet/kernel/ids"
import type { Secrets } from "@signet/kernel/keys/ports"
import { clientSecretLabel, type SealedLabel, tokenSecretLabel } from "@signet/kernel/keys/sealed-columns"
import type { Provider } from "@signet/kernel/records"

/** In bytes: a key for HS256 is at least as long as the hash (RFC 7518 section 3.2). */
const minTokenSecretLength = 32

interface Given {
  readonly clientSecret: string
  readonly tokenSecret: string
}

interface Sealed {
  readonly clientSecretSealed: Uint8Array | null
  readonly tokenSecretSealed: Uint8Array | null
}

/**
 * Seals the secrets; null for an empty one.
 *
 * @throws Refused INVALID_FIELD for a secret that the provider's protocol cannot use.
 */
export async function sealed(
  secrets: Secrets,
  of: { id: ProviderClientId; provider: Provider },
  { clientSecret, tokenSecret }: Given,
): Promise<Sealed> {
  if (clientSecret !== "" && !(await isUsable(of.provider, clientSecret))) throw refused("client_secret")
  if (tokenSecret !== "" && bytesOf(tokenSecret).length < minTokenSecretLength) throw refused("token_secret")
  const seal = (label: SealedLabel, text: string) => (text === "" ? null : secrets.seal(label, bytesOf(text)))
  return {
    clientSecretSealed: seal(clientSecretLabel(of.id), clientSecret),
    tokenSecretSealed: seal(tokenSecretLabel(of.id), tokenSecret),
  }
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

function isUsable(provider: Provider, secret: string): boolean | Promise<boolean> {
  switch (provider) {
    case "IDP_A":
      return /^[\x20-\x7e]{1,2048}$/.test(secret)
    case "IDP_B":
      return isPrivateKey(secret)
    case "IDP_C":
      return /^[\x21-\x7e]{1,2048}$/.test(secret)
  }
}

/** True for a P-256 private key as PKCS #8 in PEM (RFC 7468 section 10). */
async function isPrivateKey(pem: string): Promise<boolean> {
  const body = /^-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----$/.exec(pem.trim())?.[1]
  if (body === undefined) return false
  try {
    const der = Uint8Array.from(atob(body.replace(/\s/g, "")), (char) => char.charCodeAt(0))
    await crypto.subtle.importKey("pkcs8", der, { name: "ECDSA", namedCurve: "P-256" }, false, ["sign"])
    return true
  } catch {
    // The cause is dropped, because it could quote the key.
    return false
  }
}

const refused = (name: string): Refused =>
  new Refused("INVALID_FIELD", {
    message: "the secret is not valid for this provider",
    metadata: { field: `provider_client.${name}` },
  })
