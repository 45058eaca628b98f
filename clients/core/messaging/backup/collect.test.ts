// What a backup contains of a conversation, and how its entries are divided into chunks.
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { expect, test } from "vitest"
import type { TimelineEntry } from "../events.ts"
import { keyOfSeq, timelineOp } from "../state/timeline.ts"
import { scripted } from "../testing/scripted.ts"
import { collectConversations } from "./collect.ts"
import { fullBytes, mostEntries, sealedFrames } from "./export.ts"
import { formatRecoveryKey, recoveryKeyBytes } from "./recovery-key.ts"

type Opened = Awaited<ReturnType<typeof scripted>>

/** Stores a record and messages of this size. */
async function withEntries(count: number, fields: Parameters<Opened["write"]>[0] = {}, size = 1) {
  const opened = await scripted()
  const { conversation } = opened
  const entry = (i: number): TimelineEntry => ({
    ...{ seq: BigInt(i + 1), atMs: 7, is: "message", from: { userId: "prn_a", deviceId: "dev_a" } },
    ...{ plaintext: new Uint8Array(size), outboxId: undefined },
  })
  const ops = Array.from({ length: count }, (_, i) => timelineOp(conversation.rows, conversation.id, entry(i)))
  await opened.write(fields, { ops: await Promise.all(ops) })
  return { ...opened, collected: () => collectConversations(conversation) }
}

test.each<[string, number, Parameters<Opened["write"]>[0], number]>([
  ["without an entry", 0, {}, 1],
  ["that is being created", 0, { status: Status.CREATING }, 0],
  ["whose creation waits for an answer", 0, { creationId: "waiting" }, 0],
  ["that is being created, with an entry", 1, { status: Status.CREATING }, 1],
])("a conversation %s: %s entries", async (_, count, fields, expected) => {
  expect(await (await withEntries(count, fields)).collected()).toHaveLength(expected)
})

test("the entries of all pages are counted", async () => {
  const [found] = await (await withEntries(17)).collected()
  const conversation = { processedSeq: 4n, isOver: false }
  expect(found).toMatchObject({ entries: 17, lastKey: keyOfSeq(17n), conversation })
})

test("a conversation without a group was read up to the position of its record", async () => {
  const { write, collected } = await withEntries(0)
  await write({ status: Status.WAITING, joinedSeq: 9n }, { local: undefined })
  expect((await collected())[0]?.conversation).toMatchObject({ processedSeq: 9n, isOver: false })
})

test.each([Status.REMOVED, Status.LEAVING])("a conversation is over in status %s", async (status) => {
  expect((await (await withEntries(0, { status })).collected())[0]?.conversation.isOver).toBe(true)
})

// The header, the summary and the end are frames too.
test.each([
  ["no entries", 0, 1, 1],
  ["as many entries as a chunk has", mostEntries, 1, 1],
  ["one entry more", mostEntries + 1, 1, 2],
  ["the bytes of a chunk", 6, fullBytes / 6, 1],
  ["the bytes of a chunk, and another entry", 7, fullBytes / 6, 2],
])("a conversation with %s", async (_, count, size, chunks) => {
  const { conversation } = await withEntries(count, {}, Math.ceil(size))
  const recoveryKey = formatRecoveryKey(new Uint8Array(recoveryKeyBytes))
  let frames = 0
  for await (const _frame of sealedFrames(conversation, { recoveryKey })) frames++
  expect(frames).toBe(3 + chunks)
})
