// The order and the chunks of a transfer of history.
import { create } from "@bufbuild/protobuf"
import { ConversationRecordSchema, ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { expect, test, vi } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { fullBytes } from "../backup/export.ts"
import { rosterOf } from "../checks/roster.ts"
import type { Conversation } from "../context.ts"
import type { TimelineEntry } from "../events.ts"
import { idOf } from "../ids.ts"
import { timelineOp } from "../state/timeline.ts"
import { scripted } from "../testing/scripted.ts"
import { type Content, contentAt, planHistory } from "./newest.ts"

const message = (seq: bigint, { size = 1, atMs = 7 } = {}): TimelineEntry => ({
  ...{ seq, atMs, is: "message", from: { userId: "prn_a", deviceId: "dev_a" } },
  ...{ plaintext: new Uint8Array(size), outboxId: undefined },
})
const opsOf = ({ rows, id }: Conversation, entries: readonly TimelineEntry[]) =>
  Promise.all(entries.map((entry) => timelineOp(rows, id, entry)))

/** Reads all chunks of the only conversation, in the order in which a transfer sends them. */
async function chunksOf(entries: readonly TimelineEntry[]): Promise<Content[]> {
  const { conversation, write } = await scripted()
  await write({}, { ops: await opsOf(conversation, entries) })
  const plan = await planHistory(conversation, "dev_new")
  const chunks: Content[] = []
  for (let at = { at: 0, beforeKey: "" }; ; ) {
    const { content, next } = await contentAt(conversation, plan, at)
    chunks.push(content)
    if (next.isDone) return chunks
    at = { at: next.at ?? 0, beforeKey: next.beforeKey ?? "" }
  }
}

const seqsOf = (chunks: readonly Content[]) =>
  chunks.flatMap((one) => (one.case === "history" ? [one.value.entries?.map(({ seq }) => seq)] : []))

test("conversations that the new device reads itself are first, then those with the newest entries", async () => {
  const { conversation, write, local } = await scripted()
  await write({}, { ops: await opsOf(conversation, [message(5n, { atMs: 1 })]) })
  for (const [n, atMs] of [
    [1, 7],
    [2, 9],
  ] as const) {
    const other = conversation.conversation(idOf("cnv", world.id(n)))
    const ops = await opsOf(other, [message(5n, { atMs })])
    await other.change(async () => ({
      next: {
        record: create(ConversationRecordSchema, { status: Status.WAITING }),
        local: undefined,
        staged: undefined,
      },
      ...{ ops, result: undefined },
    }))
  }
  const order = async (newDeviceId: string) =>
    (await planHistory(conversation, newDeviceId)).conversations.map((one) => one.conversation?.conversationId)
  const [newer, older] = [2, 1].map((n) => idOf("cnv", world.id(n)))
  expect(await order("dev_new")).toEqual([newer, older, conversation.id])
  const [member = ""] = rosterOf(local.group).keys()
  expect(await order(member)).toEqual([conversation.id, newer, older])
})

test("a chunk has the newest entries, ascending, across a gap that a reset left", async () => {
  const entries = [1n, 2n, 3n, 500n, 501n].map((seq) => message(seq))
  const chunks = await chunksOf(entries)
  expect(seqsOf(chunks)).toEqual([[1n, 2n, 3n, 500n, 501n]])
  expect(chunks.map((one) => one.case)).toEqual(["summary", "history", "end"])
  expect(chunks[0]?.value).toMatchObject({ conversations: 1n, entries: 5n, comparedUsers: 0n })
})

test("a conversation without entries is sent, too", async () => {
  expect(seqsOf(await chunksOf([]))).toEqual([[]])
})

test("several rows of one sequence number are all sent, even when they fill a page", async () => {
  const from = { userId: "prn_a", deviceId: "dev_a" }
  const entries = Array.from({ length: 40 }, (_, i) => BigInt(i + 1)).flatMap((seq): TimelineEntry[] => [
    { seq, atMs: 7, is: "gap", afterSeq: seq - 1n },
    { seq, atMs: 7, is: "newKeys", devices: [] },
    { seq, atMs: 7, is: "missing", from, count: 1 },
    message(seq),
  ])
  expect(seqsOf(await chunksOf(entries))).toEqual([entries.map(({ seq }) => seq)])
})

test("a chunk ends before the entry that exceeds its size, and has at least one", async () => {
  const size = fullBytes / 2 - 100
  const entries = [1n, 2n, 3n].map((seq) => message(seq, { size }))
  expect(seqsOf(await chunksOf(entries))).toEqual([[2n, 3n], [1n]])
  expect(seqsOf(await chunksOf([message(1n), message(2n, { size: fullBytes })]))).toEqual([[2n], [1n]])
})

test("a chunk is read by pages of the store, and opens one entry more than it has", async () => {
  const { conversation, write } = await scripted()
  const entries = Array.from({ length: 12 }, (_, i) => message(BigInt(i + 1), { size: fullBytes / 4 - 100 }))
  await write({}, { ops: await opsOf(conversation, entries) })
  const plan = await planHistory(conversation, "dev_new")
  const [opening, listing] = [vi.spyOn(conversation.rows, "read"), vi.spyOn(conversation.store, "list")]
  const { content } = await contentAt(conversation, plan, { at: 1, beforeKey: "" })
  expect(seqsOf([content])).toEqual([[9n, 10n, 11n, 12n]])
  expect(opening).toHaveBeenCalledTimes(5)
  expect(listing.mock.calls.map(([, , range]) => range?.limit)).toEqual([64])
})
