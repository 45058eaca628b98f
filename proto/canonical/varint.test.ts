import fc from "fast-check"
import { expect, test } from "vitest"
import { codeOf } from "./testing/code-of.ts"
import { readVarint, take, varint } from "./varint.ts"

const cursorOf = (...bytes: number[]) => ({ bytes: Uint8Array.from(bytes), at: 0, end: bytes.length })
const ff = (count: number) => new Array<number>(count).fill(0xff)

test("an encoded number decodes to itself and is read completely", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (value) => {
      const cursor = cursorOf(...varint(value))
      expect(readVarint(cursor)).toBe(value)
      expect(cursor.at).toBe(cursor.end)
    }),
  )
})

test.each([
  ["zero in one byte", [0x00], "ok"],
  ["127 in one byte", [0x7f], "ok"],
  ["2^64-1 in ten bytes", [...ff(9), 0x01], "ok"],
  ["zero in two bytes", [0x80, 0x00], "CPB_NON_MINIMAL_VARINT"],
  ["one in two bytes", [0x81, 0x00], "CPB_NON_MINIMAL_VARINT"],
  ["2^63-1 in ten bytes", [...ff(9), 0x00], "CPB_NON_MINIMAL_VARINT"],
  ["2^64", [...new Array<number>(9).fill(0x80), 0x02], "CPB_RANGE"],
  ["eleven bytes", [...ff(10), 0x01], "CPB_RANGE"],
  ["nothing", [], "CPB_TRUNCATED"],
  ["half a number", [0x80], "CPB_TRUNCATED"],
] as const)("%s: %s is %s", (_, bytes, code) => {
  expect(codeOf(() => readVarint(cursorOf(...bytes)))).toBe(code)
})

test.each([-1n, 2n ** 64n])("%s cannot be encoded", (value) => {
  expect(codeOf(() => varint(value))).toBe("CPB_RANGE")
})

test("a length beyond the end is refused", () => {
  expect(take(cursorOf(1, 2, 3), 3n)).toEqual(Uint8Array.of(1, 2, 3))
  expect(codeOf(() => take(cursorOf(1, 2, 3), 4n))).toBe("CPB_TRUNCATED")
  expect(codeOf(() => take(cursorOf(1, 2, 3), 2n ** 64n - 1n))).toBe("CPB_TRUNCATED")
})
