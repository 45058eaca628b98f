import { toHex } from "@signet/canonical/bytes"
import { issuerIdOf } from "@signet/canonical/hash"
import { verifyIssuerKeySet } from "@signet/canonical/issuer-keys"
import { nodeSigner } from "@signet/canonical/node/ed25519"
import { expect, test } from "vitest"
import { rootPublicKey, signKeySet } from "./root-key.ts"

const issuer = "https://auth.example"
const seed = new Uint8Array(32).fill(9)
const lifeMs = 5 * 365 * 86_400_000
const nowMs = 2 * lifeMs

test("a key set contains the keys that are at most five years old", async () => {
  const keyMadeAt = (createdAtMs: number, fill: number) => ({
    purpose: "CREDENTIAL" as const,
    generation: fill,
    publicKey: nodeSigner(new Uint8Array(32).fill(fill)).publicKey,
    createdAtMs,
  })
  const [over, ending, young] = [
    keyMadeAt(nowMs - lifeMs, 1),
    keyMadeAt(nowMs - lifeMs + 1_000, 2),
    keyMadeAt(nowMs, 3),
  ]
  const { rootKey, issuerKeySet } = await signKeySet({
    ...{ seed, issuer, keys: [over, ending, young], version: 1n, nowMs, days: 30 },
  })
  expect(rootKey).toEqual(rootPublicKey(seed))
  const atSeconds = BigInt(nowMs / 1_000)
  const { keys } = verifyIssuerKeySet(issuerKeySet, { roots: [rootKey], issuerId: issuerIdOf(issuer), atSeconds })
  const named = [...keys.values()].map(({ key }) => toHex(key))
  expect(named.toSorted()).toEqual([ending, young].map(({ publicKey }) => toHex(publicKey)).toSorted())
})
