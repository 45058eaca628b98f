// The back channel of IDP_B: exchanges codes and revokes refresh tokens.
import { Refused } from "@signet/kernel/errors"
import type { Secrets } from "@signet/kernel/keys/ports"
import type { Clock } from "@signet/kernel/ports"
import type { ProviderClient } from "@signet/kernel/records"
import { type Outbound, requestEffect, unavailable } from "./bounded-request.ts"
import { mintClientSecret } from "./client-secret.ts"
import {
  askTokenEndpoint,
  type Code,
  invalid,
  isCode,
  isCodeVerifier,
  readRefusal,
  type Traded,
} from "./code-exchange.ts"

interface EndpointDeps extends Outbound {
  clock: Clock
  secrets: Pick<Secrets, "open">
}

const headers = { accept: "application/json" }

/**
 * Exchanges a code. A code from the system dialog of a device has no redirect URI, and neither has its client. The
 * verifier is sent if there is one.
 *
 * @throws Refused PROVIDER_TOKEN_INVALID, PROVIDER_NOT_CONFIGURED, UPSTREAM_UNAVAILABLE.
 */
export async function tradeCode(deps: EndpointDeps, client: ProviderClient, code: Code): Promise<Traded> {
  if (client.tokenEndpoint === null) throw new Refused("PROVIDER_NOT_CONFIGURED")
  const { redirectUris } = client
  const isRight = code.redirectUri === "" ? redirectUris.length === 0 : redirectUris.includes(code.redirectUri)
  if (!isRight) throw invalid("redirect_uri")
  if (code.codeVerifier !== "" && !isCodeVerifier(code.codeVerifier)) throw invalid("code_verifier")
  if (!isCode(code.code)) throw invalid("code")
  const form = await authenticated(deps, client, { grant_type: "authorization_code", code: code.code })
  if (code.redirectUri !== "") form.set("redirect_uri", code.redirectUri)
  if (code.codeVerifier !== "") form.set("code_verifier", code.codeVerifier)
  return askTokenEndpoint(deps, client.tokenEndpoint, { headers, form })
}

/**
 * Revokes a refresh token, and with it the user's consent. An expired or unknown one is no error.
 *
 * @throws Refused PROVIDER_NOT_CONFIGURED, UPSTREAM_UNAVAILABLE.
 */
export async function revokeToken(deps: EndpointDeps, client: ProviderClient, refreshToken: string): Promise<void> {
  if (client.revocationEndpoint === null) throw new Refused("PROVIDER_NOT_CONFIGURED")
  const form = await authenticated(deps, client, { token: refreshToken, token_type_hint: "refresh_token" })
  const answer = await requestEffect(deps, client.revocationEndpoint, { method: "POST", headers, body: form })
  if (answer.status === 200) return
  const refusal = readRefusal(answer)
  // The caller presented no token here, so a rejected one is not the caller's fault.
  throw refusal.reason === "PROVIDER_TOKEN_INVALID"
    ? unavailable(`the provider responded with status ${answer.status}`)
    : refusal
}

async function authenticated(
  deps: EndpointDeps,
  client: ProviderClient,
  members: Record<string, string>,
): Promise<URLSearchParams> {
  const clientSecret = await mintClientSecret(deps, client)
  return new URLSearchParams({ client_id: client.clientId, client_secret: clientSecret, ...members })
}
