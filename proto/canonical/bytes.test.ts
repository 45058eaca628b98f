import { expect, test } from "vitest"
import { compareBytes, concat, equalBytes, holds, toHex, utf8 } from "./bytes.ts"

const of = (...bytes: number[]) => Uint8Array.of(...bytes)

test("equalBytes compares every byte", () => {
  expect(equalBytes(of(), of())).toBe(true)
  expect(equalBytes(of(1, 2), of(1, 2))).toBe(true)
  expect(equalBytes(of(1, 2), of(1, 3))).toBe(false)
  expect(equalBytes(of(3, 2), of(1, 2))).toBe(false)
  expect(equalBytes(of(1), of(1, 0))).toBe(false)
})

test("a field must have the expected value, or be absent if undefined is expected", () => {
  expect(holds(of(1), of(1))).toBe(true)
  expect(holds(of(), undefined)).toBe(true)
  expect(holds(of(1), undefined)).toBe(false)
  expect(holds(of(), of(1))).toBe(false)
})

test("bytes are in order by their first difference, a prefix first", () => {
  const sorted = [of(), of(0), of(0, 255), of(1), of(1, 0), of(255)]
  expect(sorted.toReversed().sort(compareBytes)).toEqual(sorted)
})

test("concat joins in order, and toHex encodes", () => {
  expect(toHex(concat(of(0, 1), of(), utf8("aé")))).toBe("000161c3a9")
})
