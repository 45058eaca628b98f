import { expect, test } from "vitest"
import { newId, parseId, type TokenId } from "../ids.ts"
import { eventIdsOf, eventsNamedBy, tokenIdOf } from "./token-event.ts"

const eventId = newId(
  "aud",
  1_790_000_000_000,
  Uint8Array.from({ length: 10 }, (_, i) => 250 - i),
)

test("each token of an event has an id of its own, and leads to the event", () => {
  const ids = Array.from({ length: 32 }, (_, index) => tokenIdOf(eventId, index))
  expect(new Set(ids).size).toBe(32)
  for (const id of ids) {
    expect(parseId("jti", id)).toBe(id)
    expect(eventIdsOf(id)).toContain(eventId)
  }
})

test("a token's id has the time of its event, and never leads to another event of the same time", () => {
  expect(tokenIdOf(eventId).slice(4, 14)).toBe(eventId.slice(4, 14))
  const other = newId(
    "aud",
    1_790_000_000_000,
    Uint8Array.from({ length: 10 }, (_, i) => 249 - i),
  )
  expect(eventIdsOf(tokenIdOf(eventId, 7))).not.toContain(other)
})

test("an event records at most 32 tokens, and an id of more than 128 bits leads nowhere", () => {
  expect(() => tokenIdOf(eventId, 32)).toThrow(RangeError)
  expect(eventIdsOf(`jti_${"z".repeat(26)}` as TokenId)).toEqual([])
})

test("the id of an event names the event, and the id of another object names none", () => {
  expect(eventsNamedBy(eventId)).toEqual([eventId])
  expect(eventsNamedBy(tokenIdOf(eventId, 3))).toEqual(eventIdsOf(tokenIdOf(eventId)))
  for (const text of ["", "aud_", "aud_x", eventId.replace("aud_", "ses_")]) expect(eventsNamedBy(text)).toEqual([])
})
