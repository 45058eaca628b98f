import type { KeySetCache } from "./key-set.ts"
import type { SnapshotCache } from "./permissions/snapshots.ts"

/** The members of a key-value store that are used. A Workers KV namespace has them. */
export interface KeyValueStore {
  get(key: string): Promise<string | null>
  put(key: string, value: string, options?: { readonly expirationTtl?: number }): Promise<unknown>
}

/**
 * Stores a key set in a key-value store. Write access to it is enough to forge tokens, so use a separate namespace.
 * Such stores lag by up to a minute, so do not store revocations in them.
 *
 * @param key Use one per issuer.
 */
export function createKeyValueCache(store: KeyValueStore, key = "signet-jwks"): KeySetCache {
  return {
    async get() {
      const value = await store.get(key)
      return value === null ? undefined : parseEntry(value)
    },
    async put(entry) {
      await store.put(key, JSON.stringify(entry), { expirationTtl: 86_400 })
    },
  }
}

/** Maximum time that a snapshot is stored, in seconds. Old versions are not requested again. */
const snapshotSeconds = 86_400

/**
 * Stores signed permission snapshots in a key-value store. Write access to it can only cause new requests to the
 * issuer.
 */
export function createKeyValueSnapshots(store: KeyValueStore): SnapshotCache {
  return {
    get: async (key) => (await store.get(key)) ?? undefined,
    async put(key, jws) {
      await store.put(key, jws, { expirationTtl: snapshotSeconds })
    },
  }
}

/** @throws SyntaxError if the text is not JSON. */
function parseEntry(value: string): { text: string; fetchedAtMs: number } | undefined {
  const entry: unknown = JSON.parse(value)
  if (typeof entry !== "object" || entry === null) return undefined
  if (!("text" in entry) || typeof entry.text !== "string") return undefined
  if (!("fetchedAtMs" in entry) || typeof entry.fetchedAtMs !== "number") return undefined
  return { text: entry.text, fetchedAtMs: entry.fetchedAtMs }
}
