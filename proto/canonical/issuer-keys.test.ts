import { create } from "@bufbuild/protobuf"
import { IssuerKeySetBodyV1Schema, IssuerKeyV1Schema, KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import { SignatureScheme } from "@signet/proto/credential/v1/signed"
import { expect, test } from "vitest"
import { toHex } from "./bytes.ts"
import { hash, keyIdOf } from "./hash.ts"
import { issueIssuerKeySet, verifyIssuerKeySet } from "./issuer-keys.ts"
import { codeOf, codeOfAsync } from "./testing/code-of.ts"
import { resigned } from "./testing/refusals/refusal.ts"
import * as world from "./testing/world.ts"

const { issuerKeys, keySetBytes, keySetFields, root } = world

test("the keys of a set are found by id and have one purpose each", () => {
  const purposes = [world.credentialKey, world.proofKey, world.receiptKey, world.listKey].map(
    ({ publicKey }) => issuerKeys.keys.get(toHex(keyIdOf(publicKey)))?.purpose,
  )
  expect(purposes).toEqual([KeyPurpose.CREDENTIAL, KeyPurpose.PROOF, KeyPurpose.RECEIPT, KeyPurpose.LIST])
})

test("a key set has the version and hash that protect against a rollback", () => {
  expect(issuerKeys.version).toBe(7n)
  expect(issuerKeys.hash).toEqual(hash("issuer-keys", keySetBytes))
})

test("a key set that clients would refuse is not issued", async () => {
  const [key] = keySetFields.keys
  const twice = key === undefined ? [] : [key, { ...key, purpose: KeyPurpose.RECEIPT }]
  const code = await codeOfAsync(() => issueIssuerKeySet({ ...keySetFields, keys: twice }, root))
  expect(code).toBe("ISSUER_KEYS_MALFORMED")
  expect(await codeOfAsync(() => issueIssuerKeySet({ ...keySetFields, keys: [] }, root))).toBe("CPB_REQUIRED")
})

test("a key has its own key id, not just a unique one", async () => {
  const [first] = keySetFields.keys
  if (first === undefined) throw new Error("the set has keys")
  const setOf = (keyId: Uint8Array) => {
    const key = create(IssuerKeyV1Schema, { ...first, scheme: SignatureScheme.ED25519, keyId })
    return resigned(IssuerKeySetBodyV1Schema, keySetBytes, { keys: [key] }, root)
  }
  const expected = { roots: [root.publicKey], issuerId: world.issuerId, atSeconds: world.now }
  expect(codeOf(() => verifyIssuerKeySet(setOf(keyIdOf(first.key)), expected))).toBe("ok")
  const strange = setOf(keyIdOf(world.strangerKey.publicKey))
  expect(codeOf(() => verifyIssuerKeySet(strange, expected))).toBe("ISSUER_KEYS_MALFORMED")
})
