// Verifies access tokens of IDP_C with the project's secret or its published keys, as configured.
import { Refused } from "@signet/kernel/errors"
import type { Secrets } from "@signet/kernel/keys/ports"
import { tokenSecretLabel } from "@signet/kernel/keys/sealed-columns"
import type { ProviderClient } from "@signet/kernel/records"
import { compactVerify } from "jose"
import type { ProviderKeys } from "./provider-keys.ts"
import { invalid, verifySignedToken } from "./signed-token.ts"

export interface ProjectTokenDeps {
  keys: ProviderKeys
  secrets: Pick<Secrets, "open">
}

const maxLength = 16_384
/** RFC 7518 section 3.2, in bytes. */
const minSecretLength = 32

/**
 * Verifies a token's signature and returns its claims. A project has one kind of key, and only this kind verifies.
 * Otherwise an attacker could use a published key as an HMAC secret.
 *
 * @param issuer `<project_url>/auth/v1`. The keys are published below it.
 * @throws Refused PROVIDER_TOKEN_INVALID, UPSTREAM_UNAVAILABLE, PROVIDER_NOT_CONFIGURED for a secret that is too short.
 */
export function verifyProjectToken(
  deps: ProjectTokenDeps,
  client: ProviderClient,
  issuer: string,
  token: string,
): Promise<Record<string, unknown>> {
  if (client.tokenSecretSealed !== null) return verifyWithSecret(openTokenSecret(deps.secrets, client), token)
  const published = { keys: deps.keys, algorithms: ["ES256", "RS256"] as const }
  return verifySignedToken(published, `${issuer}/.well-known/jwks.json`, token)
}

async function verifyWithSecret(secret: Uint8Array, token: string): Promise<Record<string, unknown>> {
  if (token.length > maxLength) throw invalid("size")
  try {
    const { payload, protectedHeader } = await compactVerify(token, secret, { algorithms: ["HS256"] })
    if (protectedHeader.typ !== undefined && protectedHeader.typ !== "JWT") throw invalid("typ")
    const claims: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload))
    if (typeof claims === "object" && claims !== null && !Array.isArray(claims))
      return Object.fromEntries(Object.entries(claims))
  } catch (cause) {
    throw cause instanceof Refused ? cause : invalid("signature", cause)
  }
  throw invalid("form")
}

function openTokenSecret(secrets: Pick<Secrets, "open">, client: ProviderClient): Uint8Array {
  const opened = client.tokenSecretSealed && secrets.open(tokenSecretLabel(client.id), client.tokenSecretSealed)
  // A fault of the installation, which no caller can correct.
  if (!opened) throw new Error("the token secret of a provider client does not open under the sealing key")
  if (opened.length < minSecretLength) {
    throw new Refused("PROVIDER_NOT_CONFIGURED", { cause: new Error("the project's HS256 secret is too short") })
  }
  return opened
}
