import type { KeySetCache } from "./key-set.ts"
import type { SnapshotCache } from "./permission-snapshots.ts"

/** As much of a key-value store as is used; a Workers KV namespace is one. */
export interface KeyValueStore {
  get(key: string): Promise<string | null>
  put(key: string, value: string, options?: { readonly expirationTtl?: number }): Promise<unknown>
}

/**
 * Keeps a key set in a key-value store. Whoever can write there can make tokens: give it a namespace of its own. Such a
 * store is late by a minute, so revocations do not belong in it.
 *
 * @param key One per issuer.
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

/** The longest that a snapshot is kept: nobody asks for an old version again. */
const snapshotSeconds = 86_400

/** Keeps signed permission snapshots in a key-value store. Whoever can write there can make them be asked for again. */
export function createKeyValueSnapshots(store: KeyValueStore): SnapshotCache {
  return {
    get: async (key) => (await store.get(key)) ?? undefined,
    async put(key, jws) {
      await store.put(key, jws, { expirationTtl: snapshotSeconds })
    },
  }
}

/** @throws when the text is no JSON. */
function parseEntry(value: string): { text: string; fetchedAtMs: number } | undefined {
  const entry: unknown = JSON.parse(value)
  if (typeof entry !== "object" || entry === null) return undefined
  if (!("text" in entry) || typeof entry.text !== "string") return undefined
  if (!("fetchedAtMs" in entry) || typeof entry.fetchedAtMs !== "number") return undefined
  return { text: entry.text, fetchedAtMs: entry.fetchedAtMs }
}
