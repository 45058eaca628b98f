import fc from "fast-check"
import { expect, test } from "vitest"
import { idBytes, idOf, newId, parseId } from "./ids.ts"

test("an id converts to its 16 bytes and back", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
      const id = idOf("cnv", bytes)
      expect(parseId("cnv", id)).toBe(id)
      expect(idBytes(id)).toEqual(bytes)
    }),
  )
})

test("a text of more than 16 bytes is rejected", () => {
  const id = parseId("dev", `dev_8${"0".repeat(25)}`)
  expect(() => idBytes(id ?? newId("dev", 1, new Uint8Array(10)))).toThrow(RangeError)
  expect(() => idOf("dev", new Uint8Array(15))).toThrow(RangeError)
})

test("an id is not made of fewer than 10 random bytes", () => {
  expect(() => newId("dev", 1, new Uint8Array(9))).toThrow(RangeError)
})
