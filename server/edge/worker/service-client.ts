// Calls the auth service as this backend's service account.
import { type FetchLimits, fetchText } from "@signet/guard/fetch-text"
import { createServiceToken, type ServiceToken, withToken } from "@signet/guard/service-token"
import type { Clock } from "@signet/kernel/ports"
import type { Settings } from "./settings.ts"

/** The only scopes of the service account. */
export const ownScopes = "auth.introspect auth.messaging.backend auth.revocations.read"

export interface ServiceClient {
  readonly token: ServiceToken
  /** Reads the text at a path of the auth service with the service's token. */
  readText(path: string): Promise<string>
}

const limits: FetchLimits = { timeoutMs: 10_000, maxBytes: 2_100_000 }

/** Workers require that `fetch` is called unbound. */
export const ownFetch: typeof fetch = (input, init) => fetch(input, init)

export function createServiceClient(settings: Settings, clock: Clock): ServiceClient {
  const { authUrl, authAudience, client } = settings
  const token = createServiceToken({
    url: `${authUrl}/auth/token`,
    clientId: client.id,
    clientSecret: client.secret,
    audience: authAudience,
    scope: ownScopes,
    fetch: ownFetch,
    clock,
  })
  return {
    token,
    readText: (path) =>
      withToken(token, (own) =>
        fetchText(ownFetch, `${authUrl}${path}`, limits, { headers: { authorization: `Bearer ${own}` } }),
      ),
  }
}
