import { createHash } from "node:crypto"
import { expect, test } from "vitest"
import { toHex, utf8 } from "./bytes.ts"
import { hash, issuerIdOf, keyIdOf, stateTagOf } from "./hash.ts"
import { bytes32 } from "./testing/world.ts"

test("a hash is SHA-256 of the prefix, the label and the bytes, each ended by a zero", () => {
  const expected = createHash("sha256").update("SIGNET1H\0commit\0a commit").digest("hex")
  expect(toHex(hash("commit", utf8("a commit")))).toBe(expected)
})

test("the same bytes have another hash under another label", () => {
  expect(toHex(hash("commit", bytes32(1)))).not.toBe(toHex(hash("content", bytes32(1))))
})

test("issuers have 16 bytes, keys 8, states 32", () => {
  expect(issuerIdOf("https://auth.example").length).toBe(16)
  expect(keyIdOf(bytes32(1)).length).toBe(8)
  expect(stateTagOf(bytes32(1)).length).toBe(32)
})
