import { createGuard, type Guard, type GuardOptions } from "./guard.ts"
import { createKeySet, type KeySetCache } from "./key-set.ts"
import { webTokenCrypto } from "./token-crypto.ts"

interface EdgeGuardOptions extends Omit<GuardOptions, "keySet" | "crypto"> {
  /** The URL of the issuer's JWK Set. Configured, never from a request or a token. */
  readonly jwksUrl: string
  readonly fetch: typeof fetch
  /** A cache for the issuer's keys that outlives the isolate: `createKeyValueCache`. */
  readonly cache?: KeySetCache
}

/**
 * Creates a guard for isolates, which are short-lived and numerous. Keys come from memory for 60 s, from the cache for
 * an hour, then from the issuer. An unknown kid causes at most one request to the issuer in 30 s. Create one guard per
 * isolate.
 */
export function createEdgeGuard({ jwksUrl, fetch, cache, ...options }: EdgeGuardOptions): Guard {
  const keySet = createKeySet({
    url: jwksUrl,
    crypto: webTokenCrypto,
    clock: options.clock,
    fetch,
    ...(cache === undefined ? {} : { cache }),
    limits: { maxAgeMs: 60_000, cacheMaxAgeMs: 3_600_000 },
  })
  return createGuard({ ...options, keySet, crypto: webTokenCrypto })
}
