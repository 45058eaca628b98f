import { toHex } from "./bytes.ts"

/** A cache of values derived from public keys. */
interface ByKey<Made> {
  of(publicKey: Uint8Array): Made | undefined
}

/**
 * Caches a value that depends only on the bytes of a public key, never on its owner or validity.
 *
 * @param make Returns undefined for an invalid key, which is not cached. Its exceptions propagate.
 * @param maxKeys Maximum number of keys; the least recently used is evicted.
 */
export function rememberByKey<Made>(make: (publicKey: Uint8Array) => Made | undefined, maxKeys = 64): ByKey<Made> {
  const all = new Map<string, Made>()
  return {
    of(publicKey) {
      const name = toHex(publicKey)
      const made = all.get(name) ?? make(publicKey)
      if (made === undefined) return undefined
      all.delete(name)
      all.set(name, made)
      const [oldest] = all.keys()
      if (all.size > maxKeys && oldest !== undefined) all.delete(oldest)
      return made
    },
  }
}
