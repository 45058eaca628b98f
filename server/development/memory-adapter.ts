// Storage of the stand-in provider's grants and codes: in memory, until they expire or the process ends.
import type { Adapter, AdapterPayload } from "oidc-provider"

interface Kept {
  payload: AdapterPayload
  expiresAtMs: number
}

/** The oldest entry is evicted if someone requests many sign-ins. */
const maxKept = 1_000

export function memoryAdapters(nowMs: () => number): (model: string) => Adapter {
  const models = new Map<string, Map<string, Kept>>()
  return (model) => {
    const kept = models.get(model) ?? new Map<string, Kept>()
    models.set(model, kept)
    const find = (matches: (id: string, payload: AdapterPayload) => boolean) => {
      for (const [id, { payload, expiresAtMs }] of kept) {
        if (expiresAtMs > nowMs() && matches(id, payload)) return structuredClone(payload)
      }
      return undefined
    }
    return {
      async upsert(id, payload, expiresInSeconds) {
        const expiresAtMs = expiresInSeconds ? nowMs() + expiresInSeconds * 1000 : Infinity
        kept.delete(id)
        kept.set(id, { payload: structuredClone(payload), expiresAtMs })
        for (const oldest of kept.keys()) {
          if (kept.size <= maxKept) break
          kept.delete(oldest)
        }
      },
      find: async (id) => find((key) => key === id),
      findByUid: async (uid) => find((_, payload) => payload.uid === uid),
      findByUserCode: async (userCode) => find((_, payload) => payload.userCode === userCode),
      async consume(id) {
        const entry = kept.get(id)
        if (entry) entry.payload.consumed = Math.floor(nowMs() / 1000)
      },
      async destroy(id) {
        kept.delete(id)
      },
      async revokeByGrantId(grantId) {
        for (const [id, { payload }] of kept) if (payload.grantId === grantId) kept.delete(id)
      },
    }
  }
}
