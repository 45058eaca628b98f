// Exchanges an authorization code for an ID token (RFC 6749 section 4.1.3, RFC 7636).
import { Refused } from "@signet/kernel/errors"
import type { ExternalCredential } from "@signet/kernel/identity/provider-ports"
import type { Secrets } from "@signet/kernel/keys/ports"
import { clientSecretLabel } from "@signet/kernel/keys/sealed-columns"
import type { ProviderClient } from "@signet/kernel/records"
import { type JsonAnswer, type Outbound, requestJson, unavailable } from "./bounded-request.ts"

export type Code = Extract<ExternalCredential, { is: "code" }>

/** The answer of a token endpoint. Its access token is not used. */
export interface Traded {
  /** Not verified yet. */
  idToken: string
  refreshToken: string | null
}

export interface TokenRequest {
  headers: Record<string, string>
  form: URLSearchParams
}

/** Errors of the client's configuration, not of the code (RFC 6749 section 5.2). */
const configurationErrors = ["invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope"]

/**
 * Requests the ID token of a code from the client's token endpoint. It is not verified yet.
 *
 * @throws Refused PROVIDER_TOKEN_INVALID for a wrong code, verifier or redirect URI; PROVIDER_NOT_CONFIGURED if the
 *   client has no token endpoint or the provider rejects the client; UPSTREAM_UNAVAILABLE.
 */
export async function exchangeCode(
  deps: Outbound & { secrets: Pick<Secrets, "open"> },
  client: ProviderClient,
  code: Code,
): Promise<string> {
  if (client.tokenEndpoint === null) throw new Refused("PROVIDER_NOT_CONFIGURED")
  const request = buildRequest(client, code, openClientSecret(deps.secrets, client))
  return (await askTokenEndpoint(deps, client.tokenEndpoint, request)).idToken
}

/** @throws Refused as exchangeCode. */
export async function askTokenEndpoint(out: Outbound, endpoint: string, request: TokenRequest): Promise<Traded> {
  const { headers, form } = request
  return readAnswer(await requestJson(out, endpoint, { method: "POST", headers, body: form }))
}

/** @throws Refused PROVIDER_TOKEN_INVALID for a request that the provider would certainly refuse. */
function buildRequest(client: ProviderClient, code: Code, secret: string | undefined): TokenRequest {
  if (!client.redirectUris.includes(code.redirectUri)) throw invalid("redirect_uri")
  if (!isCodeVerifier(code.codeVerifier)) throw invalid("code_verifier")
  if (!isCode(code.code)) throw invalid("code")
  const form = new URLSearchParams({
    grant_type: "authorization_code",
    code: code.code,
    redirect_uri: code.redirectUri,
    code_verifier: code.codeVerifier,
  })
  const headers: Record<string, string> = { accept: "application/json" }
  if (secret === undefined) form.set("client_id", client.clientId)
  else headers.authorization = `Basic ${basicCredential(client.clientId, secret)}`
  return { headers, form }
}

/** RFC 7636 section 4.1. */
export const isCodeVerifier = (text: string): boolean => /^[A-Za-z0-9._~-]{43,128}$/.test(text)

export const isCode = (text: string): boolean => /^[\x20-\x7e]{1,2048}$/.test(text)

/** @throws Refused as exchangeCode. */
export function readAnswer({ status, body }: JsonAnswer): Traded {
  if (status !== 200) throw readRefusal({ status, body })
  const { id_token: idToken, refresh_token: refreshToken } = membersOf(body)
  if (typeof idToken !== "string") throw unavailable("the token endpoint gives no ID token")
  const isKept = typeof refreshToken === "string" && /^[\x21-\x7e]{1,2048}$/.test(refreshToken)
  return { idToken, refreshToken: isKept ? refreshToken : null }
}

/** Maps an error of an OAuth endpoint to a refusal (RFC 6749 section 5.2). */
export function readRefusal({ status, body }: JsonAnswer): Refused {
  const { error } = membersOf(body)
  if (status === 401 || configurationErrors.some((known) => known === error)) {
    return new Refused("PROVIDER_NOT_CONFIGURED", { cause: new Error(`the provider rejects the client: ${status}`) })
  }
  if (status === 400 && (error === "invalid_grant" || error === "invalid_request")) return invalid("code")
  return unavailable(`the provider responded with status ${status}`)
}

/** The members of an answer; empty if it is no object. */
export const membersOf = (body: unknown): Record<string, unknown> => ({ ...Object(body) })

/** The client's secret, or its key file; undefined if it has none. */
export function openClientSecret(secrets: Pick<Secrets, "open">, client: ProviderClient): string | undefined {
  if (client.clientSecretSealed === null) return undefined
  const opened = secrets.open(clientSecretLabel(client.id), client.clientSecretSealed)
  // A fault of the installation, which no caller can correct.
  if (opened === undefined) throw new Error("the secret of a provider client does not open under the sealing key")
  return new TextDecoder().decode(opened)
}

/** Form-encodes id and secret first (RFC 6749 section 2.3.1). */
function basicCredential(clientId: string, secret: string): string {
  const encode = (text: string) => new URLSearchParams({ "": text }).toString().slice(1)
  const bytes = new TextEncoder().encode(`${encode(clientId)}:${encode(secret)}`)
  return btoa(String.fromCharCode(...bytes))
}

export function invalid(field: string): Refused {
  return new Refused("PROVIDER_TOKEN_INVALID", { metadata: { field } })
}
