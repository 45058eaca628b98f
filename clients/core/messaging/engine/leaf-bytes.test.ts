// Leaves decode to the same values as by ts-mls, and encode to the same bytes.
import { decodeLeafNode, encodeLeafNode } from "ts-mls/leafNode.js"
import { expect, test } from "vitest"
import { seeded } from "../../../../test/simulation/seeded.ts"
import { join, vector } from "../testing/many-elements.ts"
import { ByteReader } from "./byte-reader.ts"
import { encodeLeaf, readLeaf } from "./leaf-bytes.ts"

const random = seeded("leaves")
const bytes = (size: number) => Uint8Array.from({ length: size }, () => random.below(256))
const opaque = () => vector(bytes([0, 3, 32, 70, 300][random.below(5)] ?? 0))
const numbers = (...values: number[]) =>
  vector(Array.from({ length: random.below(9) }, () => values[random.below(values.length)] ?? 0).flatMap(uint16))
const uint16 = (value: number) => [value >> 8, value & 255]
const lists = (make: () => Uint8Array) => vector(join(...Array.from({ length: random.below(4) }, make)))

const credentials = [() => join([0, 1], opaque()), () => join([0, 2], lists(opaque))]
const sources = [() => join([1], bytes(16)), () => Uint8Array.of(2), () => join([3], opaque())]
const extension = () => join(uint16([0, 1, 3, 5, 6, 0x1a1a, 0xf0a1][random.below(7)] ?? 0), opaque())

function randomLeaf(): Uint8Array {
  const credential = credentials[random.below(2)]?.() ?? expect.fail()
  const source = sources[random.below(3)]?.() ?? expect.fail()
  const suites = numbers(0, 1, 2, 7, 8, 77, 88, 0x1a1a, 0xffff)
  const types = numbers(0, 1, 5, 0x1a1a, 0xf0a1)
  const capabilities = join(numbers(1), suites, types, types, numbers(0, 1, 2, 3, 0x1a1a))
  return join(opaque(), opaque(), credential, capabilities, source, lists(extension), opaque())
}

test("leaves decode to the values of ts-mls, at any place of the bytes", () => {
  for (let n = 0; n < 100; n++) {
    const leaf = randomLeaf()
    const [before, after] = [bytes(n % 3), bytes(n % 2)]
    const part = new ByteReader(join(before, leaf, after), before.length)
    const decoded = readLeaf(part)
    expect(part.at).toBe(before.length + leaf.length)
    expect(decoded).toEqual(decodeLeafNode(leaf, 0)?.[0])
    expect(encodeLeaf(decoded)).toEqual(leaf)
    expect(encodeLeafNode(decoded)).toEqual(leaf)
  }
})

test("a truncated leaf, and unknown versions, credentials and sources, are refused", () => {
  const key = vector(new Array(32).fill(7))
  const leaf = ({ credential = 1, version = 1, source = 2 } = {}) =>
    join(key, key, [0, credential], key, [2, 0, version], [2, 0, 1], [0, 0], [2, 0, 1], [source], [0], key)
  const decode = (encoded: Uint8Array) => readLeaf(new ByteReader(encoded))
  expect(encodeLeaf(decode(leaf()))).toEqual(leaf())
  for (const wrong of [{ credential: 3 }, { version: 2 }, { source: 4 }]) {
    expect(() => decode(leaf(wrong))).toThrow("unknown")
  }
  for (let end = 0; end < leaf().length; end++) expect(() => decode(leaf().subarray(0, end))).toThrow()
})
