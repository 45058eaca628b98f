import { encode } from "ts-mls/codec/tlsEncoder.js"
import { lengthEncoder } from "ts-mls/codec/variableLength.js"
import { describe, expect, test } from "vitest"
import { list, opaque, openReader, present, uint8, uint16s, uint64, vector } from "./reader.ts"
import { refusal } from "./testing/bent.ts"
import { lengthBytes, vectorBytes } from "./writer.ts"

const reading = (...bytes: number[]) => openReader(Uint8Array.from(bytes), 1000, "test")

describe("a length", () => {
  test.each([0, 1, 63, 64, 65, 255, 16_383, 16_384, 16_385, 70_000])(
    "of %i is encoded as by ts-mls, and decodes",
    (n) => {
      expect(lengthBytes(n)).toEqual(encode(lengthEncoder)(n))
      const bytes = vectorBytes(new Uint8Array(n))
      expect(opaque(openReader(bytes, bytes.length, "test"), "it")).toHaveLength(n)
    },
  )

  test("of 2^30 - 1 is encoded as by ts-mls", () => {
    expect(lengthBytes(2 ** 30 - 1)).toEqual(encode(lengthEncoder)(2 ** 30 - 1))
  })

  test.each<[string, number[], string]>([
    ["in two bytes where one does", [0x40, 0x01, 0], "MLS_NON_CANONICAL"],
    ["of 63 in two bytes", [0x40, 63, ...new Array(63).fill(0)], "MLS_NON_CANONICAL"],
    ["of 64 in two bytes", [0x40, 64, ...new Array(64).fill(0)], "read"],
    ["in four bytes where one does", [0x80, 0, 0, 1, 0], "MLS_NON_CANONICAL"],
    ["in four bytes where two do", [0x80, 0, 0x3f, 0xff], "MLS_NON_CANONICAL"],
    ["in eight bytes, of 4 GiB", [0xc0, 0, 0, 1, 0, 0, 0, 0], "MLS_MALFORMED"],
    ["in eight bytes, of one that is there", [0xc0, 0, 0, 0, 0, 0, 0, 1, 7], "MLS_MALFORMED"],
    ["of 2^30 - 1, of which nothing is there", [0xbf, 0xff, 0xff, 0xff], "MLS_MALFORMED"],
    ["of one more than is there", [2, 0], "MLS_MALFORMED"],
    ["that is cut off", [0x80, 0], "MLS_MALFORMED"],
    ["that is not there", [], "MLS_MALFORMED"],
  ])("%s: %s", (_, bytes, expected) => {
    expect(refusal(() => opaque(reading(...bytes), "it"))).toBe(expected)
  })
})

test("a nested vector cannot exceed the outer one", () => {
  const outer = reading(2, 3, 0, 0, 0)
  const inner = vector(outer, "outer")
  expect(refusal(() => opaque(inner, "inner"))).toBe("MLS_MALFORMED")
})

test("numbers are big-endian with their full range", () => {
  expect(uint64(reading(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe), "it")).toBe(2n ** 64n - 2n)
  expect(uint16s(reading(4, 0xff, 0xfe, 0, 1), "it", 2)).toEqual([0xfffe, 1])
  expect(refusal(() => uint16s(reading(3, 0, 1, 0), "it", 2))).toBe("MLS_MALFORMED")
  expect(refusal(() => uint16s(reading(6, 0, 1, 0, 1, 0, 1), "it", 2))).toBe("MLS_TOO_LARGE")
})

test("a presence octet is 0 or 1", () => {
  expect(present(reading(0), "it")).toBe(false)
  expect(present(reading(1), "it")).toBe(true)
  expect(refusal(() => present(reading(2), "it"))).toBe("MLS_MALFORMED")
})

test("a list ends at its last element and is limited", () => {
  const elements = (most: number) => () => list(reading(3, 1, 2, 3), "it", most, (inside) => uint8(inside, "one"))
  expect(elements(3)()).toEqual([1, 2, 3])
  expect(refusal(elements(2))).toBe("MLS_TOO_LARGE")
})

test("the size is checked before anything is read", () => {
  expect(refusal(() => openReader(new Uint8Array(11), 10, "it"))).toBe("MLS_TOO_LARGE")
})
