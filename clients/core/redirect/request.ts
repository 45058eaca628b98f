// The authorization request (OpenID Connect Core section 3.1.2.1).
import { ProviderClient_NonceMode as NonceMode } from "@signet/proto/auth/v1/provider_clients"
import { SignetError } from "../errors.ts"
import { isTlsOrLoopback } from "../service-url.ts"
import { base64url } from "../text.ts"

interface Asked {
  readonly authorizationEndpoint: string
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly redirectUri: string
  readonly state: string
  /** In the form that the provider's token will contain. */
  readonly nonce: string
  readonly codeChallenge: string
  readonly loginHint: string | undefined
  readonly prompt: string | undefined
  readonly maxAgeSeconds: number | undefined
}

/** @throws SignetError ANSWER_INVALID for an endpoint to which a browser must not be sent. */
export function authorizationUrl(asked: Asked): string {
  const url = URL.canParse(asked.authorizationEndpoint) ? new URL(asked.authorizationEndpoint) : undefined
  if (url === undefined || !isTlsOrLoopback(url)) {
    throw new SignetError("ANSWER_INVALID", "the connection's authorization endpoint is not https")
  }
  const parameters = {
    response_type: "code",
    client_id: asked.clientId,
    redirect_uri: asked.redirectUri,
    scope: asked.scopes.join(" "),
    state: asked.state,
    nonce: asked.nonce,
    code_challenge: asked.codeChallenge,
    code_challenge_method: "S256",
    ...(asked.loginHint !== undefined && { login_hint: asked.loginHint }),
    ...(asked.prompt !== undefined && { prompt: asked.prompt }),
    ...(asked.maxAgeSeconds !== undefined && { max_age: String(asked.maxAgeSeconds) }),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

/** The nonce in the form of this provider's tokens. */
export async function carriedNonce(mode: NonceMode, nonce: string): Promise<string> {
  if (mode !== NonceMode.SHA256_HEX && mode !== NonceMode.SHA256_B64URL) return nonce
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(nonce)))
  if (mode === NonceMode.SHA256_B64URL) return base64url(digest)
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("")
}
