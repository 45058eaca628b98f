// The auth service, as this backend's own service account calls it.
import { type FetchLimits, fetchText } from "@signet/guard/fetch-text"
import { createServiceToken, type ServiceToken, withToken } from "@signet/guard/service-token"
import type { Clock } from "@signet/kernel/ports"
import type { Settings } from "./settings.ts"

/** What the service account is granted, and nothing else. */
export const ownScopes = "auth.introspect auth.messaging.backend auth.revocations.read"

export interface ServiceClient {
  readonly token: ServiceToken
  /** The text at a path of the auth service, as this service. */
  readText(path: string): Promise<string>
}

const limits: FetchLimits = { timeoutMs: 10_000, maxBytes: 2_100_000 }

/** Unbound, as a Worker's own `fetch` must be called. */
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
