// Signing keys in memory: a second implementation of the port, for tests without a database.
import type { SigningKeyRecord, SigningKeys } from "@signet/kernel/keys/ports"

export function memorySigningKeys(): SigningKeys {
  const byKid = new Map<string, SigningKeyRecord>()
  // Clones in both directions, like a database, so that callers cannot change stored keys.
  const list = () => structuredClone([...byKid.values()])
  return {
    list: async () => list(),
    async change(work) {
      for (const key of structuredClone(work(list()))) byKid.set(key.kid, key)
      return list()
    },
  }
}
