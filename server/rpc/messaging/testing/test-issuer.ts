// The issuer of credentials, proofs and receipts in tests: real keys, in a key set that a root signed.
import { issuerIdOf } from "@signet/canonical/hash"
import { verifyIssuerKeySet } from "@signet/canonical/issuer-keys"
import { nodeSigner } from "@signet/canonical/node/ed25519"
import { issuerPurposes } from "@signet/kernel/keys/issuer-keys"
import type { Random } from "@signet/kernel/ports"
import { signKeySet } from "../../../keys/root-key.ts"

export const issuer = "https://auth.example"

/** The same random bytes give the same keys. */
export async function newTestIssuer(random: Random, nowMs: number) {
  const made = issuerPurposes.map((purpose) => {
    const signer = nodeSigner(random.bytes(32))
    return { purpose, generation: 1, publicKey: signer.publicKey, createdAtMs: nowMs - 3_600_000, signer }
  })
  const asked = { seed: random.bytes(32), issuer, keys: made, version: 1n, nowMs: nowMs - 60_000, days: 90 }
  const set = await signKeySet(asked)
  const issuerKeys = verifyIssuerKeySet(set.issuerKeySet, {
    roots: [set.rootKey],
    issuerId: issuerIdOf(issuer),
    atSeconds: BigInt(Math.floor(nowMs / 1_000)),
  })
  return {
    issuerKeys,
    rootKey: set.rootKey,
    keySet: () => set,
    signer: (purpose: (typeof issuerPurposes)[number]) => {
      const key = made.find((one) => one.purpose === purpose)
      if (key === undefined) throw new Error(purpose)
      return key.signer
    },
  }
}
