import { expect, test } from "vitest"
import { isLong } from "../../test/support/effort.ts"
import { isPublicKey, seedSigner, verifyEd25519 } from "./ed25519.ts"
import { signatureCases } from "./testing/ed25519-cases.ts"
import { nodeVerify } from "./testing/node-verify.ts"
import { bytes32, id } from "./testing/world.ts"

test.each(signatureCases.map((row) => [row.name, row] as const))("%s", (_, row) => {
  expect(verifyEd25519(row.publicKey, row.message, row.signature)).toBe(row.valid)
})

test.runIf(isLong)("a frequently used key with a table gives the same results", () => {
  for (let round = 0; round < 20; round++) {
    for (const { name, publicKey, message, signature, valid } of signatureCases) {
      expect(verifyEd25519(publicKey, message, signature), name).toBe(valid)
    }
  }
  const { publicKey, sign } = seedSigner(bytes32(3))
  for (let i = 1; i < 40; i++) {
    const signature = sign(id(i))
    expect(verifyEd25519(publicKey, id(i), signature)).toBe(true)
    expect(verifyEd25519(publicKey, id(i + 1), signature)).toBe(false)
  }
})

test("OpenSSL agrees on each case except for points of small order", () => {
  const differ = signatureCases.filter((row) => nodeSays(row) !== row.valid).map(({ name }) => name)
  expect(differ.every((name) => name.includes("neutral element") || name === "a key of order 8")).toBe(true)
})

test("OpenSSL and the portable verifier accept the portable signer's signatures", () => {
  for (let seed = 1; seed < 40; seed++) {
    const { publicKey, sign } = seedSigner(bytes32(seed))
    const message = id(seed)
    const signature = sign(message)
    expect(nodeVerify(publicKey, message, signature)).toBe(true)
    expect(verifyEd25519(publicKey, message, signature)).toBe(true)
  }
})

test("a public key is 32 bytes of a canonical point that is not of small order", () => {
  expect(isPublicKey(seedSigner(bytes32(1)).publicKey)).toBe(true)
  expect(isPublicKey(seedSigner(bytes32(1)).publicKey.subarray(1))).toBe(false)
  expect(isPublicKey(Uint8Array.of(1, ...new Uint8Array(31)))).toBe(false)
  expect(isPublicKey(bytes32(0xff))).toBe(false)
})

function nodeSays({ publicKey, message, signature }: (typeof signatureCases)[number]): boolean {
  try {
    return nodeVerify(publicKey, message, signature)
  } catch {
    return false
  }
}
