// Signing keys in memory: a second implementation of the port, for what needs no database.
import type { SigningKeyRecord, SigningKeys } from "@signet/kernel/keys/ports"

export function memorySigningKeys(): SigningKeys {
  const byKid = new Map<string, SigningKeyRecord>()
  // Clones both ways, as a database would: nobody holds what is kept.
  const list = () => structuredClone([...byKid.values()])
  return {
    list: async () => list(),
    async change(work) {
      for (const key of structuredClone(work(list()))) byKid.set(key.kid, key)
      return list()
    },
  }
}
