import { expect, test } from "vitest"
import { answeredId, bytesOfId, idOf, isId } from "./ids.ts"

const bytes = Uint8Array.from({ length: 16 }, (_, i) => 255 - i * 16)
const id = idOf("cnv", bytes)

test("an id encodes its kind and its bytes", () => {
  expect(id).toMatch(/^cnv_[0-9a-hjkmnp-tv-z]{26}$/)
  expect(bytesOfId("cnv", id)).toEqual(bytes)
  expect(bytesOfId("cnv", idOf("cnv", new Uint8Array(16).fill(255)))).toEqual(new Uint8Array(16).fill(255))
  expect([isId("cnv", id), answeredId("cnv", id)]).toEqual([true, id])
  for (const length of [0, 15, 17]) expect(() => idOf("cnv", new Uint8Array(length))).toThrow(RangeError)
})

test.each([
  "",
  id.slice(0, -1),
  `${id}0`,
  id.toUpperCase(),
  id.replace("cnv", "prn"),
  // More than 16 bytes.
  `cnv_8${"0".repeat(25)}`,
  `cnv_${"u".repeat(26)}`,
  ` ${id}`,
])("%j is no id of a conversation", (text) => {
  expect(isId("cnv", text)).toBe(false)
  expect(() => bytesOfId("cnv", text)).toThrow(RangeError)
  expect(() => answeredId("cnv", text)).toThrow(expect.objectContaining({ reason: "ANSWER_REFUSED" }))
})
