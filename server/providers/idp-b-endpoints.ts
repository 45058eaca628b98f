// What IDP_B is asked over its back channel: what a code is worth, and to end what it gave for one.
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
 * Trades a code. A code that the device itself handed out was sent to no address: its client has no redirect address,
 * and the code comes with none. A verifier is sent along when there is one.
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
 * Ends a refresh token, and with it the person's consent. One that has ended, or that nobody gave, is no error.
 *
 * @throws Refused PROVIDER_NOT_CONFIGURED, UPSTREAM_UNAVAILABLE.
 */
export async function revokeToken(deps: EndpointDeps, client: ProviderClient, refreshToken: string): Promise<void> {
  if (client.revocationEndpoint === null) throw new Refused("PROVIDER_NOT_CONFIGURED")
  const form = await authenticated(deps, client, { token: refreshToken, token_type_hint: "refresh_token" })
  const answer = await requestEffect(deps, client.revocationEndpoint, { method: "POST", headers, body: form })
  if (answer.status === 200) return
  const refusal = readRefusal(answer)
  // Nobody handed in a code here: what it does not take is not the caller's.
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
