// The published keys of providers, cached. An unknown kid causes a request, at a limited rate: attackers invent kids.
import type { Clock } from "@signet/kernel/ports"
import { type CryptoKey, importJWK, type JWK } from "jose"
import { type Outbound, requestJson, unavailable } from "./bounded-request.ts"

/** Algorithms of ID tokens. The provider's configuration selects among them; a token's header alone never does. */
export type IdTokenAlgorithm = "RS256" | "ES256"

const keyTypes = { RS256: "RSA", ES256: "EC" } as const

/** How long cached keys are used without a request. */
const freshMs = 600_000
/** How long cached keys are used while the provider does not answer. */
const staleMs = 3_600_000
/** Minimum interval between requests because of unknown kids. */
const cooldownMs = 30_000
/** Minimum interval between requests while the provider does not answer. */
const failureCooldownMs = 5_000
/** Maximum number of addresses in memory. The least recently used one is evicted. */
const maxAddresses = 100

export interface ProviderKeys {
  /**
   * Returns the key of this id for this algorithm; undefined if the provider publishes none.
   *
   * @param jwksUri From the configuration.
   * @throws Refused UPSTREAM_UNAVAILABLE if the provider does not answer and no recent copy is cached.
   */
  find(jwksUri: string, kid: string, algorithm: IdTokenAlgorithm): Promise<CryptoKey | undefined>
}

interface Published {
  keys: ReadonlyMap<string, CryptoKey>
  /** The time of the last successful request; null if there was none. */
  fetchedAtMs: number | null
  /** No request starts before this time. */
  nextAtMs: number
  /** The error of the last request; undefined after a success. */
  failure: unknown
  pending: Promise<void> | null
}

export function createProviderKeys(deps: Outbound & { clock: Clock }): ProviderKeys {
  const byAddress = new Map<string, Published>()

  async function refresh(published: Published, jwksUri: string): Promise<void> {
    try {
      published.keys = await fetchKeys(deps, jwksUri)
      published.failure = undefined
      published.fetchedAtMs = deps.clock.nowMs()
      published.nextAtMs = published.fetchedAtMs + cooldownMs
    } catch (failure) {
      published.failure = failure
      published.nextAtMs = deps.clock.nowMs() + failureCooldownMs
    } finally {
      published.pending = null
    }
  }

  return {
    async find(jwksUri, kid, algorithm) {
      const published = lastUsed(byAddress, jwksUri)
      const age = () => (published.fetchedAtMs === null ? Infinity : deps.clock.nowMs() - published.fetchedAtMs)
      const name = nameOf(algorithm, kid)
      const known = published.keys.get(name)
      if (known !== undefined && age() < freshMs) return known
      if (published.pending !== null || deps.clock.nowMs() >= published.nextAtMs) {
        published.pending ??= refresh(published, jwksUri)
        await published.pending
      }
      const found = age() < staleMs ? published.keys.get(name) : undefined
      // The provider may publish the key, but does not answer.
      if (found === undefined && published.failure !== undefined) throw published.failure
      return found
    },
  }
}

/** The address's entry, moved to the end of the eviction order. */
function lastUsed(byAddress: Map<string, Published>, jwksUri: string): Published {
  const fresh: Published = {
    keys: new Map(),
    fetchedAtMs: null,
    nextAtMs: -Infinity,
    failure: undefined,
    pending: null,
  }
  const published = byAddress.get(jwksUri) ?? fresh
  byAddress.delete(jwksUri)
  byAddress.set(jwksUri, published)
  for (const oldest of byAddress.keys()) {
    if (byAddress.size <= maxAddresses) break
    byAddress.delete(oldest)
  }
  return published
}

async function fetchKeys(out: Outbound, jwksUri: string): Promise<ReadonlyMap<string, CryptoKey>> {
  const { status, body } = await requestJson(out, jwksUri, { method: "GET", headers: { accept: "application/json" } })
  if (status !== 200) throw unavailable(`the key set endpoint responded with status ${status}`)
  const keys = new Map<string, CryptoKey>()
  for (const jwk of readJwks(body)) {
    for (const algorithm of ["RS256", "ES256"] as const) {
      const name = nameOf(algorithm, jwk.kid)
      if (keys.has(name) || !isFor(algorithm, jwk)) continue
      const key = await importJWK({ ...jwk, alg: algorithm }, algorithm).catch(() => undefined)
      if (key !== undefined && !(key instanceof Uint8Array) && isStrong(key)) keys.set(name, key)
    }
  }
  return keys
}

/** Unambiguous, because an algorithm's name contains no space. */
function nameOf(algorithm: IdTokenAlgorithm, kid: string): string {
  return `${algorithm} ${kid}`
}

/** The keys with a kid. Other entries are ignored (RFC 7517 section 5). */
function readJwks(body: unknown): (JWK & { kid: string })[] {
  const keys = isObject(body) ? body.keys : undefined
  if (!Array.isArray(keys)) throw unavailable("the key set is empty")
  return keys.filter((key) => isObject(key) && typeof key.kid === "string" && key.kid !== "")
}

function isFor(algorithm: IdTokenAlgorithm, jwk: JWK): boolean {
  if (jwk.kty !== keyTypes[algorithm] || jwk.d !== undefined) return false
  return (jwk.use === undefined || jwk.use === "sig") && (jwk.alg === undefined || jwk.alg === algorithm)
}

/** RSA keys need 2,048 bits (RFC 7518 section 3.3). Web Crypto imports shorter ones, too. */
function isStrong({ algorithm }: CryptoKey): boolean {
  return !("modulusLength" in algorithm) || Number(algorithm.modulusLength) >= 2_048
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
