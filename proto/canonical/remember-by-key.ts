import { toHex } from "./bytes.ts"

/** What is made of a public key, kept for the keys that were asked for last. */
export interface ByKey<Made> {
  of(publicKey: Uint8Array): Made | undefined
}

/**
 * Remembers what depends on the bytes of a public key alone. Whose key it is, and until when, is never in it.
 *
 * @param make gives undefined for bytes that are no key; that is not kept. What it throws is thrown on.
 * @param mostKeys the one that was asked for longest ago goes first.
 */
export function rememberByKey<Made>(make: (publicKey: Uint8Array) => Made | undefined, mostKeys = 64): ByKey<Made> {
  const all = new Map<string, Made>()
  return {
    of(publicKey) {
      const name = toHex(publicKey)
      const made = all.get(name) ?? make(publicKey)
      if (made === undefined) return undefined
      all.delete(name)
      all.set(name, made)
      const [oldest] = all.keys()
      if (all.size > mostKeys && oldest !== undefined) all.delete(oldest)
      return made
    },
  }
}
