import { generateKeyPairSync, sign, verify } from "node:crypto"
import { expect, test } from "vitest"
import { effort, isLong } from "../../test/support/effort.ts"
import { joseSignature } from "./jose-signature.ts"

const der = (...numbers: readonly (readonly number[])[]): Buffer => {
  const content = numbers.flatMap((bytes) => [2, bytes.length, ...bytes])
  return Buffer.from([0x30, content.length, ...content])
}
const hex = (...numbers: readonly (readonly number[])[]) => joseSignature(der(...numbers)).toString("hex")

test.runIf(isLong)("a converted signature verifies as JOSE's, whatever the length of its numbers", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const lengths = new Set<number>()
  // One signature in 128 has a number that is shorter than 32 bytes.
  for (let i = 0; i < effort(1_000, 5_000, 100_000); i++) {
    const text = Buffer.from(String(i))
    const signed = sign("sha256", text, privateKey)
    lengths.add(signed.length)
    const signature = joseSignature(signed)
    expect(signature).toHaveLength(64)
    expect(verify("sha256", text, { key: publicKey, dsaEncoding: "ieee-p1363" }, signature)).toBe(true)
  }
  expect(lengths.size).toBeGreaterThan(3)
})

test("short numbers are padded, and a sign byte is dropped", () => {
  const high = [0x80, ...new Array<number>(31).fill(7)]
  expect(hex([1], [0, 0x81])).toBe(`${"0".repeat(62)}01${"0".repeat(62)}81`)
  expect(hex([0, ...high], [5])).toBe(`80${"07".repeat(31)}${"0".repeat(62)}05`)
})

test.each<[string, Buffer]>([
  ["no numbers", Buffer.from([0x30, 0])],
  ["one number", der([1])],
  ["three numbers", der([1], [2], [3])],
  ["an empty number", der([], [2])],
  ["a number of 33 bytes", der(new Array<number>(33).fill(1), [2])],
  ["a number that ends early", der([1], [2]).subarray(0, -1)],
  ["another type", Buffer.from([0x30, 6, 3, 1, 1, 2, 1, 1])],
])("%s is refused", (_, bytes) => {
  expect(() => joseSignature(bytes)).toThrow(RangeError)
})
