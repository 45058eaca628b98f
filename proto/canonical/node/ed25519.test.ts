import { ed25519 } from "@noble/curves/ed25519.js"
import { sha512 } from "@noble/hashes/sha2.js"
import { expect, test } from "vitest"
import { isPublicKey, seedSigner, verifyEd25519 } from "../ed25519.ts"
import { signatureCases } from "../testing/ed25519-cases.ts"
import { isSoundPublicKey, nodeSigner, nodeVerify } from "./ed25519.ts"

const seedOf = (value: number) => new Uint8Array(32).fill(value)
const message = Uint8Array.of(1, 2, 3)

test.each(signatureCases.map((row) => [row.name, row] as const))("%s", (_, row) => {
  expect(nodeVerify(row.publicKey, row.message, row.signature)).toBe(row.valid)
})

test("signs byte for byte like the portable signer", () => {
  for (let value = 1; value < 30; value++) {
    const portable = seedSigner(seedOf(value))
    const signer = nodeSigner(seedOf(value))
    const signature = signer.sign(message)
    expect(signer.publicKey).toEqual(portable.publicKey)
    expect(signature).toEqual(portable.sign(message))
    expect(nodeVerify(signer.publicKey, message, signature)).toBe(true)
    expect(nodeVerify(signer.publicKey, Uint8Array.of(1, 2), signature)).toBe(false)
  }
})

test("agrees with the portable verifier on every flipped bit", () => {
  const { publicKey, sign } = nodeSigner(seedOf(7))
  const signature = sign(message)
  for (let bit = 0; bit < 96; bit++) {
    const key = publicKey.with(bit % 32, (publicKey[bit % 32] ?? 0) ^ (1 << (bit % 8)))
    expect(nodeVerify(key, message, signature)).toBe(verifyEd25519(key, message, signature))
    const altered = signature.with((bit * 7) % 64, (signature[(bit * 7) % 64] ?? 0) ^ (1 << (bit % 8)))
    expect(nodeVerify(publicKey, message, altered)).toBe(false)
  }
})

test("no point of small order is a key, in any of its encodings", () => {
  const { Point } = ed25519
  const torsion = Point.fromHex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")
  const p = 2n ** 255n - 19n
  const encodings = Array.from({ length: 8 }, (_, i) =>
    Point.ZERO.add(i === 0 ? Point.ZERO : torsion.multiply(BigInt(i))),
  )
    .map((point) => point.toBytes())
    .flatMap((bytes) => [bytes, bytes.with(31, (bytes[31] ?? 0) ^ 0x80)])
  const beyond = [p, p + 1n, 2n ** 255n - 1n].map((y) =>
    Uint8Array.from({ length: 32 }, (_, at) => Number((y >> BigInt(8 * at)) & 0xffn)),
  )
  for (const key of [...encodings, ...beyond]) {
    // S = 0 and R = the neutral element: valid under every key of small order if such keys are accepted.
    const signature = new Uint8Array(64).with(0, 1)
    expect(nodeVerify(key, message, signature)).toBe(false)
    expect(verifyEd25519(key, message, signature)).toBe(false)
    expect(isSoundPublicKey(key)).toBe(false)
    expect(isPublicKey(key)).toBe(false)
  }
})

test("accepts the same keys as the portable implementation", () => {
  const keys = Array.from({ length: 200 }, (_, at) => sha512(Uint8Array.of(at)).subarray(0, 32))
  const isTaken = keys.map(isSoundPublicKey)
  expect(isTaken).toEqual(keys.map(isPublicKey))
  // About half of all values are the y coordinate of a point.
  expect(isTaken.filter(Boolean).length).toBeGreaterThan(60)
  expect(isTaken.filter((taken) => !taken).length).toBeGreaterThan(60)
  expect(isSoundPublicKey(nodeSigner(seedOf(7)).publicKey)).toBe(true)
  expect(isSoundPublicKey(new Uint8Array(31))).toBe(false)
})

test("a seed has 32 bytes", () => {
  expect(() => nodeSigner(new Uint8Array(31))).toThrow("a seed has 32 bytes")
})

test("keys and signatures of another length are refused", () => {
  const { publicKey, sign } = nodeSigner(seedOf(7))
  expect(nodeVerify(publicKey.subarray(1), message, sign(message))).toBe(false)
  expect(nodeVerify(publicKey, message, sign(message).subarray(1))).toBe(false)
})
