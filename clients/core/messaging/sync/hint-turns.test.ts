import { create } from "@bufbuild/protobuf"
import {
  SubscribeResponse_DirectiveIssuedSchema as DirectiveIssuedSchema,
  SubscribeResponse_EnvelopeAvailableSchema as EnvelopeAvailableSchema,
} from "@signet/proto/messaging/v1/conversation_service"
import { expect, test } from "vitest"
import { createHintTurns, type Hint } from "./hint-turns.ts"

const hintOf = (conversationId: string, directiveId = ""): Hint => ({
  case: "directiveIssued",
  value: create(DirectiveIssuedSchema, { conversationId, directive: { id: directiveId } }),
})
const envelopeHint = (headSeq: bigint): Hint => ({
  case: "envelopeAvailable",
  value: create(EnvelopeAvailableSchema, { conversationId: "one", headSeq }),
})
const settled = () => new Promise((resolve) => setTimeout(resolve, 1))

function following() {
  const begun: Hint[] = []
  const ends: (() => void)[] = []
  const turns = createHintTurns((hint) => {
    begun.push(hint)
    return new Promise((resolve) => ends.push(resolve))
  })
  return { begun, ends, turns }
}

test("of several hints about one object, only the newest one is followed", async () => {
  const { begun, ends, turns } = following()
  const hints = ["1", "2", "3"].map((directiveId) => hintOf("one", directiveId))
  for (const hint of hints) await turns.take(hint)
  expect(begun).toEqual([hints[0]])
  ends[0]?.()
  await settled()
  expect(begun).toEqual([hints[0], hints[2]])
  ends[1]?.()
  await settled()
  await turns.take(hintOf("one", "4"))
  expect(begun).toHaveLength(3)
})

test.each([
  ["in order", [4n, 5n]],
  ["in another order", [5n, 4n]],
])("of several hints about one log that arrive %s, the one with the newest head is followed", async (_, heads) => {
  const { begun, ends, turns } = following()
  for (const head of [3n, ...heads]) await turns.take(envelopeHint(head))
  ends[0]?.()
  await settled()
  expect(begun).toEqual([envelopeHint(3n), envelopeHint(5n)])
})

test.each([0, 1, 2, 3, 4])("a hint that arrives %i microtasks after the end of a turn is followed", async (count) => {
  const { begun, ends, turns } = following()
  await turns.take(hintOf("one", "1"))
  ends[0]?.()
  for (let i = 0; i < count; i++) await undefined
  await turns.take(hintOf("one", "2"))
  await settled()
  expect(begun).toEqual([hintOf("one", "1"), hintOf("one", "2")])
})

test("hints about many objects are followed with bounded concurrency", async () => {
  const { begun, ends, turns } = following()
  let taken = 0
  const all = (async () => {
    for (let i = 0; i < 100; i++) {
      await turns.take(hintOf(`${i}`))
      taken++
    }
  })()
  await settled()
  expect(taken).toBe(32)
  while (begun.length < 100) {
    for (const end of ends.splice(0)) end()
    await settled()
  }
  await all
  expect(taken).toBe(100)
})
