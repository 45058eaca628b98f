import { sha256 } from "@noble/hashes/sha2.js"
import { concat, toHex } from "./bytes.ts"
import type { Verify } from "./ed25519.ts"

/**
 * A `Verify` that caches its newest results: a tree of a thousand members has the same credentials in every epoch.
 *
 * A result depends only on key, message and signature. Results that depend on time or revocation are not cached.
 *
 * @param maxEntries Maximum number of results, about 200 bytes each; the least recently used is evicted.
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

/** Hashes each part separately, so that no two triples share a name. */
function nameOf(...parts: readonly Uint8Array[]): string {
  return toHex(sha256(concat(...parts.map((part) => sha256(part)))))
}
