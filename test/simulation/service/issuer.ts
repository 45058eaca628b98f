// The issuer of a run: keys that others take over from, in a set that its root signs anew.
import { issuerIdOf } from "@signet/canonical/hash"
import { verifyIssuerKeySet } from "@signet/canonical/issuer-keys"
import { nodeSigner } from "@signet/canonical/node/ed25519"
import { type IssuerPurpose, issuerPurposes, signingKey } from "@signet/kernel/keys/issuer-keys"
import type { Clock, Random } from "@signet/kernel/ports"
import { signKeySet } from "../../../server/keys/root-key.ts"
import { issuer } from "../../../server/rpc/messaging/testing/test-issuer.ts"
import { verifyOnce } from "../verdicts.ts"

const hourMs = 3_600_000
/** How long clients take a set. */
const setDays = 90

export async function openIssuer(random: Random, clock: Clock) {
  const newKey = (purpose: IssuerPurpose, generation: number, from: Random) => {
    const signer = nodeSigner(from.bytes(32))
    return { purpose, generation, publicKey: signer.publicKey, createdAtMs: clock.nowMs() - hourMs, signer }
  }
  const made = issuerPurposes.map((purpose) => newKey(purpose, 1, random))
  const seed = random.bytes(32)
  let version = 0n
  const sign = async () => {
    version++
    const set = await signKeySet({ seed, issuer, keys: made, version, nowMs: clock.nowMs() - 60_000, days: setDays })
    const atSeconds = BigInt(Math.floor(clock.nowMs() / 1_000))
    const expected = { roots: [set.rootKey], issuerId: issuerIdOf(issuer), atSeconds, verify: verifyOnce }
    return { set, issuerKeys: verifyIssuerKeySet(set.issuerKeySet, expected) }
  }
  let now = await sign()
  return {
    get issuerKeys() {
      return now.issuerKeys
    },
    rootKey: now.set.rootKey,
    keySet: () => now.set,
    signer(purpose: IssuerPurpose) {
      const key = signingKey(made, purpose, () => true)
      if (key === undefined) throw new Error(purpose)
      return key.signer
    },
    /** A new set, before the one that there is has ended. @param fresh Where new keys take over: what they are drawn from. */
    async signAnew(fresh?: Random): Promise<void> {
      const next = made.length / issuerPurposes.length + 1
      if (fresh !== undefined) made.push(...issuerPurposes.map((purpose) => newKey(purpose, next, fresh)))
      now = await sign()
    },
  }
}
