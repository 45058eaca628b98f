import { sha256 } from "@noble/hashes/sha2.js"
import { concat, toHex } from "./bytes.ts"
import type { Verify } from "./ed25519.ts"

/**
 * A `Verify` that remembers its newest verdicts: a tree of a thousand members holds the same credentials in every epoch.
 *
 * A verdict depends on key, message and signature alone. What depends on time or revocation is never in it.
 *
 * @param maxEntries how many verdicts are kept, about 200 bytes each; the one that was asked for longest ago goes first.
 */
export function rememberVerdicts(verify: Verify, maxEntries = 4096): Verify {
  const verdicts = new Map<string, boolean>()
  return (publicKey, message, signature) => {
    const key = nameOf(publicKey, message, signature)
    const known = verdicts.get(key)
    const verdict = known ?? verify(publicKey, message, signature)
    verdicts.delete(key)
    verdicts.set(key, verdict)
    const [oldest] = verdicts.keys()
    if (verdicts.size > maxEntries && oldest !== undefined) verdicts.delete(oldest)
    return verdict
  }
}

/** Each part is hashed on its own, so that no two triples share a name whatever the lengths. */
function nameOf(...parts: readonly Uint8Array[]): string {
  return toHex(sha256(concat(...parts.map((part) => sha256(part)))))
}
