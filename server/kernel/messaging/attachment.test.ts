import { expect, test } from "vitest"
import { idOf } from "../ids.ts"
import { isGone, isSameAttachment, missingParts, partBytes, partCount } from "./attachment.ts"
import { bytes, conversation } from "./testing/records.ts"

test.each<[string, number, number, number[]]>([
  ["one byte is one part", 1, 10, [1]],
  ["a full part is one part", 10, 10, [10]],
  ["one byte more is another part", 11, 10, [10, 1]],
])("%s", (_, size, partSize, expected) => {
  const of = { size, partSize }
  expect(partCount(of)).toBe(expected.length)
  expect(expected.map((_, index) => partBytes(of, index))).toEqual(expected)
  expect([partBytes(of, expected.length), partBytes(of, -1)]).toEqual([undefined, undefined])
})

test("missing parts are those not recorded as stored", () => {
  expect(missingParts({ size: 35, partSize: 10, parts: [] })).toEqual([0, 1, 2, 3])
  expect(missingParts({ size: 35, partSize: 10, parts: [1, 3] })).toEqual([0, 2])
})

test("an attachment is gone once it is expired or deleted", () => {
  expect(isGone({ status: "COMPLETE", expiresAtMs: 10 }, 9)).toBe(false)
  expect(isGone({ status: "COMPLETE", expiresAtMs: 10 }, 10)).toBe(true)
  expect(isGone({ status: "DELETED", expiresAtMs: 10 }, 0)).toBe(true)
})

test("attachments differ by conversation, size or any byte of the hash", () => {
  const one = { conversationId: conversation.id, size: 10, sha256: bytes(1) }
  const last = bytes(1).fill(2, 31)
  expect(isSameAttachment(one, { ...one, sha256: bytes(1) })).toBe(true)
  expect(isSameAttachment(one, { ...one, conversationId: idOf("cnv", bytes(8, 16)) })).toBe(false)
  expect(isSameAttachment(one, { ...one, size: 11 })).toBe(false)
  expect(isSameAttachment(one, { ...one, sha256: last })).toBe(false)
  expect(isSameAttachment(one, { ...one, sha256: bytes(1, 33) })).toBe(false)
})
