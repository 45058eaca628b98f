// The issuer's public keys: fetched rarely, cached, and treated as untrusted input with limits of size and time.
import type { Clock } from "@signet/kernel/ports"
import { type FetchLimits, fetchText } from "./fetch-text.ts"
import { parseJwks } from "./jwks.ts"
import { createSharedRun } from "./shared-run.ts"
import type { TokenCrypto, VerifyKey } from "./token-crypto.ts"

/** Finds the key that a token names. */
export interface KeySet {
  /** KEY_UNKNOWN: no such key is published. UNAVAILABLE: no keys could be fetched. */
  find(kid: string): Promise<VerifyKey | "KEY_UNKNOWN" | "UNAVAILABLE">
}

/** A cache that outlives the process, such as a key-value store at the edge. Its errors are ignored. */
export interface KeySetCache {
  get(): Promise<{ readonly text: string; readonly fetchedAtMs: number } | undefined>
  put(entry: { readonly text: string; readonly fetchedAtMs: number }): Promise<void>
}

export interface KeySetOptions {
  /** The URL of the JWK Set. Configured, never from a request or a token. */
  readonly url: string
  readonly crypto: TokenCrypto
  readonly clock: Clock
  readonly fetch: typeof fetch
  readonly cache?: KeySetCache
  readonly limits?: Partial<KeySetLimits>
}

export interface KeySetLimits extends FetchLimits {
  /** Older keys are read again, from the cache, then from the issuer. 300,000 ms. */
  readonly maxAgeMs: number
  /** A younger cache entry replaces a request to the issuer. 300,000 ms. */
  readonly cacheMaxAgeMs: number
  /** If fetching fails, keys remain in use up to this age. 86,400,000 ms. */
  readonly maxStaleMs: number
  /** An unknown kid or a failed fetch causes at most one fetch in this time. 30,000 ms. */
  readonly cooldownMs: number
  /** Same, while no keys are loaded. 5,000 ms. */
  readonly firstCooldownMs: number
  /** A kid that a fetch did not contain causes no other fetch for this time. 60,000 ms. */
  readonly unknownMs: number
  /** Maximum number of such kids in memory. 1,000. */
  readonly maxUnknown: number
}

const defaults: KeySetLimits = {
  timeoutMs: 5_000,
  maxBytes: 65_536,
  maxAgeMs: 300_000,
  cacheMaxAgeMs: 300_000,
  maxStaleMs: 86_400_000,
  cooldownMs: 30_000,
  firstCooldownMs: 5_000,
  unknownMs: 60_000,
  maxUnknown: 1_000,
}

interface Loaded {
  readonly keys: ReadonlyMap<string, VerifyKey>
  readonly fetchedAtMs: number
  /** When cache or issuer last confirmed these keys. */
  readonly checkedAtMs: number
}

export function createKeySet(options: KeySetOptions): KeySet {
  const { clock, cache } = options
  const limits = { ...defaults, ...options.limits }
  const unknown = new Map<string, number>()
  let loaded: Loaded | undefined
  let triedAtMs = Number.NEGATIVE_INFINITY
  const shared = createSharedRun<void>(clock, limits.timeoutMs)

  async function load(isForced: boolean): Promise<void> {
    if (!isForced && (await loadFromCache())) return
    triedAtMs = clock.nowMs()
    try {
      const text = await fetchText(options.fetch, options.url, limits)
      await take(text, triedAtMs, triedAtMs)
      await cache?.put({ text, fetchedAtMs: triedAtMs }).catch(() => undefined)
    } catch {
      // Loaded keys remain in use, up to maxStaleMs.
    }
  }

  /** True if the cache entry replaces a request to the issuer. */
  async function loadFromCache(): Promise<boolean> {
    const entry = await cache?.get().catch(() => undefined)
    // An entry dated in the future would never expire.
    if (entry === undefined || entry.fetchedAtMs > clock.nowMs()) return false
    if (loaded !== undefined && entry.fetchedAtMs < loaded.fetchedAtMs) return false
    const isFresh = clock.nowMs() - entry.fetchedAtMs <= limits.cacheMaxAgeMs
    try {
      await take(entry.text, entry.fetchedAtMs, isFresh ? clock.nowMs() : entry.fetchedAtMs)
    } catch {
      return false
    }
    return isFresh
  }

  async function take(text: string, fetchedAtMs: number, checkedAtMs: number): Promise<void> {
    const jwks = parseJwks(text)
    const keys = new Map<string, VerifyKey>()
    for (const jwk of jwks) keys.set(jwk.kid, await options.crypto.importKey(jwk))
    loaded = { keys, fetchedAtMs, checkedAtMs }
  }

  function ageOf(set: Loaded): number {
    return clock.nowMs() - set.fetchedAtMs
  }

  /** Loads the keys unless the last attempt was too recent. Concurrent callers share one attempt. */
  async function refresh(isForced: boolean): Promise<void> {
    await shared("", async () => {
      const pauseMs = loaded === undefined ? limits.firstCooldownMs : limits.cooldownMs
      if (clock.nowMs() - triedAtMs >= pauseMs) await load(isForced)
    })
  }

  function isKnownUnknown(kid: string): boolean {
    const since = unknown.get(kid)
    if (since === undefined) return false
    if (clock.nowMs() - since < limits.unknownMs) return true
    unknown.delete(kid)
    return false
  }

  function markUnknown(kid: string): void {
    for (const oldest of unknown.keys()) {
      if (unknown.size < limits.maxUnknown) break
      unknown.delete(oldest)
    }
    unknown.set(kid, clock.nowMs())
  }

  return {
    async find(kid) {
      if (loaded === undefined || clock.nowMs() - loaded.checkedAtMs > limits.maxAgeMs) await refresh(false)
      if (loaded === undefined || ageOf(loaded) > limits.maxStaleMs) return "UNAVAILABLE"
      const key = loaded.keys.get(kid)
      if (key !== undefined) return key
      if (isKnownUnknown(kid)) return "KEY_UNKNOWN"
      const before: Loaded = loaded
      // Forced, because the cache may contain the same keys.
      await refresh(true)
      const found = loaded.keys.get(kid)
      if (found === undefined && loaded !== before) markUnknown(kid)
      return found ?? "KEY_UNKNOWN"
    },
  }
}

/** The key set of a key ring in the same process. It accepts exactly the keys that the ring publishes at the time. */
export function createLocalKeySet(
  ring: { jwks(): readonly { readonly kid: string; readonly x: string; readonly y: string }[] },
  crypto: TokenCrypto,
): KeySet {
  const imported = new Map<string, VerifyKey>()
  return {
    async find(kid) {
      const jwk = ring.jwks().find((key) => key.kid === kid)
      if (jwk === undefined) {
        imported.delete(kid)
        return "KEY_UNKNOWN"
      }
      const known = imported.get(kid)
      if (known !== undefined) return known
      const key = await crypto.importKey(jwk)
      imported.set(kid, key)
      return key
    },
  }
}
