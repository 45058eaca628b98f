// The service verifies its own tokens with its own key ring: no request to itself, and a rotation is seen at once.
import type { KeySet } from "@signet/guard/key-set"
import type { TokenCrypto, VerifyKey } from "@signet/guard/token-crypto"
import type { KeyRing } from "@signet/kernel/ports"

export function ownKeySet(keys: KeyRing, crypto: TokenCrypto): KeySet {
  const imported = new Map<string, VerifyKey>()
  return {
    async find(kid) {
      const published = keys.jwks()
      const jwk = published.find((candidate) => candidate.kid === kid)
      if (jwk === undefined) return "KEY_UNKNOWN"
      const known = imported.get(kid)
      if (known !== undefined) return known
      const key = await crypto.importKey(jwk)
      // What is no longer published is forgotten, so the map stays as small as the key set.
      for (const old of imported.keys()) if (!published.some((candidate) => candidate.kid === old)) imported.delete(old)
      imported.set(kid, key)
      return key
    },
  }
}
