// Authenticates and authorizes callers in the isolate: with keys from memory and the key-value store, with the
// revocation feed and, when the feed is outdated, with the auth service. Without an answer the call is refused.
import { createEdgeGuard } from "@signet/guard/edge"
import { anyApp, type Guard } from "@signet/guard/guard"
import { createIntrospection } from "@signet/guard/introspection"
import { createKeySet } from "@signet/guard/key-set"
import { createKeyValueCache, type KeyValueStore } from "@signet/guard/kv-cache"
import { createRevocationFeed, type RevocationFeed } from "@signet/guard/revocation/feed"
import { webTokenCrypto } from "@signet/guard/token-crypto"
import type { Clock } from "@signet/kernel/ports"
import type { Objects } from "../../store/durable/env.ts"
import type { FeedObject } from "./feed/object.ts"
import { type ServiceClient, unboundFetch } from "./service-client.ts"
import type { Settings } from "./settings.ts"

interface EdgeGuard {
  readonly guard: Guard
  readonly revocations: RevocationFeed
}

/** How often an isolate reads the feed while it serves calls, in milliseconds. */
const askEveryMs = 1_000
/** The fallback region. */
const someRegion = "everywhere"

/** @param region A short name of this isolate's location: each region has its own reader of the feed. */
export function createMessagingGuard(of: {
  settings: Settings
  keys: KeyValueStore
  feeds: Objects<FeedObject>
  client: ServiceClient
  clock: Clock
  region: string | undefined
  report: (fault: unknown) => void
}): EdgeGuard {
  const { settings, keys, feeds, client, clock, report } = of
  const { issuer, authUrl } = settings
  const name = of.region ?? someRegion
  const revocations = createRevocationFeed({
    issuer,
    baseUrl: "https://feed",
    // The feed's object has a token of its own.
    token: async () => "",
    fetch: (input, init) => feeds.getByName(name).fetch(new Request(input, init)),
    statementKeys: createKeySet({
      url: `${authUrl}/.well-known/statement-keys.json`,
      crypto: webTokenCrypto,
      clock,
      fetch: unboundFetch,
      cache: createKeyValueCache(keys, "signet-statement-keys"),
      limits: { maxAgeMs: 60_000, cacheMaxAgeMs: 3_600_000 },
    }),
    clock,
    askEveryMs,
    onProblem: (problem, cause) => report(new Error(`revocation feed: ${problem}`, { cause })),
  })
  const guard = createEdgeGuard({
    issuer,
    audience: settings.messagingAudience,
    appId: anyApp,
    jwksUrl: `${authUrl}/.well-known/jwks.json`,
    fetch: unboundFetch,
    cache: createKeyValueCache(keys),
    clock,
    revocations,
    introspect: createIntrospection({
      url: `${authUrl}/auth/token/introspect`,
      token: client.token,
      fetch: unboundFetch,
      clock,
    }),
  })
  return { guard, revocations }
}
