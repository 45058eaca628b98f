import { createGuard, type Guard, type GuardOptions } from "./guard.ts"
import { createKeySet, type KeySetCache } from "./key-set.ts"
import { webTokenCrypto } from "./token-crypto.ts"

export interface EdgeGuardOptions extends Omit<GuardOptions, "keySet" | "crypto"> {
  /** The address of the issuer's JWK Set. Configured, never from a request or a token. */
  readonly jwksUrl: string
  readonly fetch: typeof fetch
  /** What the issuer's keys outlive the isolate in: `createKeyValueCache`. */
  readonly cache?: KeySetCache
}

/**
 * A guard for isolates, which live briefly and are many: keys come from memory for 60 s, from the cache for an hour, and
 * then from the issuer. An unknown kid asks the issuer, at most once in 30 s. Make one per isolate.
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
