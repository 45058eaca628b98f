// Calls the auth service with the service account of this messaging backend.
import { type FetchLimits, fetchText } from "@signet/guard/fetch-text"
import { createServiceToken, type ServiceToken, withToken } from "@signet/guard/service-token"
import type { Clock } from "@signet/kernel/ports"
import type { Settings } from "./settings.ts"

/** All scopes of the service account. */
export const serviceScopes = "auth.introspect auth.messaging.backend auth.revocations.read"

export interface ServiceClient {
  readonly token: ServiceToken
  /** Reads the text at a path of the auth service with the service's token. */
  readText(path: string): Promise<string>
}

/** Larger than a statement of the revocation feed (`maxStatementLength` in the guard). */
const limits: FetchLimits = { timeoutMs: 10_000, maxBytes: 2_100_000 }

/** In a Worker, `fetch` throws if it is called as a method of another object. */
export const unboundFetch: typeof fetch = (input, init) => fetch(input, init)

export function createServiceClient(settings: Settings, clock: Clock): ServiceClient {
  const { authUrl, authAudience, client } = settings
  const token = createServiceToken({
    url: `${authUrl}/auth/token`,
    clientId: client.id,
    clientSecret: client.secret,
    audience: authAudience,
    scope: serviceScopes,
    fetch: unboundFetch,
    clock,
  })
  return {
    token,
    readText: (path) =>
      withToken(token, (accessToken) =>
        fetchText(unboundFetch, `${authUrl}${path}`, limits, { headers: { authorization: `Bearer ${accessToken}` } }),
      ),
  }
}
