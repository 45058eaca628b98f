import { create } from "@bufbuild/protobuf"
import { TimestampSchema } from "@bufbuild/protobuf/wkt"
import { ConversationRecordSchema, ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { type Envelope, Envelope_Kind, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { beforeEach, expect, test } from "vitest"
import { openMemoryStore } from "../store/memory.ts"
import { sealedRows } from "../store/sealed-rows.ts"
import { testBox } from "../testing/test-box.ts"
import { nothingStored, type StoredConversation } from "./stored-conversation.ts"
import { extendTail, maxTail, readTail, shrinkTail, tailsToRemove } from "./tail.ts"

const space = "cnv_a"
const scope = { app: "app", user: "user" }
const box = testBox()
await box.createKey(scope)
const rows = sealedRows(box, scope)
let store = openMemoryStore()
let state: StoredConversation
beforeEach(() => {
  store = openMemoryStore()
  state = { ...nothingStored, record: create(ConversationRecordSchema) }
})

const envelope = (seq: number, size = 10): Envelope =>
  create(EnvelopeSchema, {
    seq: BigInt(seq),
    epoch: 1n,
    kind: Envelope_Kind.APPLICATION,
    message: new Uint8Array(size),
  })

async function apply(...applied: Envelope[]): Promise<void> {
  const { state: next, ops } = await extendTail({ rows, store }, space, state, applied)
  const { generation } = await store.read(space, [])
  expect(await store.transact(space, generation, ops)).toBe("ok")
  state = next
}

const read = (afterSeq: number, limit = 2_000, maxBytes = 100_000_000) =>
  readTail({ rows, store }, space, { afterSeq: BigInt(afterSeq), limit, maxBytes })
const seqsAfter = async (...of: Parameters<typeof read>) => (await read(...of)).map(({ seq }) => Number(seq))

test("the envelopes are read as they were applied, from any position, in pages", async () => {
  await apply(envelope(3), envelope(4, 50), envelope(5))
  expect(await read(2)).toEqual([envelope(3), envelope(4, 50), envelope(5)])
  expect(await seqsAfter(3)).toEqual([4, 5])
  expect(await seqsAfter(2, 2)).toEqual([3, 4])
  // At least one, whatever its size.
  expect(await seqsAfter(3, 10, 1)).toEqual([4])
})

test("nothing is read beyond a gap", async () => {
  await apply(envelope(3), envelope(5))
  expect(await seqsAfter(2)).toEqual([3])
  expect(await seqsAfter(1)).toEqual([])
})

test("only the newest envelopes stay, by number", async () => {
  for (let seq = 1; seq <= maxTail.count + 50; seq += 50) {
    await apply(...Array.from({ length: 50 }, (_, i) => envelope(seq + i)))
    expect((await store.list(space, "tail")).length).toBe(state.record?.tailCount)
    expect(state.record?.tailCount).toBeLessThanOrEqual(maxTail.count)
  }
  const [oldest] = await store.list(space, "tail", { limit: 1 })
  expect(Number(oldest?.key)).toBe(301)
  expect((await seqsAfter(300)).at(-1)).toBe(maxTail.count + 50)
})

test("only the newest envelopes stay, by size", async () => {
  for (let seq = 1; seq <= 10; seq++) {
    await apply(envelope(seq, maxTail.bytes / 4))
    const sizes = (await store.list(space, "tail")).map(({ value }) => value.length)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(Number(state.record?.tailBytes))
    expect(Number(state.record?.tailBytes)).toBeLessThanOrEqual(maxTail.bytes)
  }
  expect(await seqsAfter(8)).toEqual([9, 10])
})

test("rows that an earlier version did not count cannot make the count negative", async () => {
  for (let seq = 1; seq <= 40; seq++) await apply(envelope(seq, 10))
  state = { ...nothingStored, record: create(ConversationRecordSchema) }
  for (let seq = 41; seq <= 58; seq++) await apply(envelope(seq, maxTail.bytes / 16))
  expect(state.record?.tailCount).toBeGreaterThanOrEqual(0)
  expect(await seqsAfter(56)).toEqual([57, 58])
})

test("all of a conversation's envelopes are removed, in parts, and the next ones are counted from zero", async () => {
  for (let seq = 1; seq <= 350; seq += 50) await apply(...Array.from({ length: 50 }, (_, i) => envelope(seq + i)))
  for (const isEmpty of [false, true]) {
    const part = await shrinkTail({ store }, space, state)
    expect(part.isEmpty).toBe(isEmpty)
    const { generation } = await store.read(space, [])
    expect(await store.transact(space, generation, part.ops)).toBe("ok")
    state = part.state
  }
  expect(await store.list(space, "tail")).toEqual([])
  expect(state.record).toMatchObject({ tailCount: 0, tailBytes: 0n })
  await apply(envelope(351))
  expect(state.record?.tailCount).toBe(1)
})

test("the time of the newest envelope is stored, whatever the order of the service's clock", async () => {
  const at = (seq: number, seconds: bigint) => ({ ...envelope(seq), acceptedAt: create(TimestampSchema, { seconds }) })
  await apply(at(1, 50n), at(2, 40n), envelope(3))
  expect(state.record?.tailAt).toBe(50n)
})

test("tails of conversations that were left are removed, and beyond the total bound the oldest ones", () => {
  const tail = (tailAt: bigint, tailBytes: bigint, status: Status = Status.ACTIVE) => ({
    tailCount: 1,
    tailBytes,
    tailAt,
    status,
  })
  const [left, old, older, newest] = [tail(9n, 5n, Status.REMOVED), tail(2n, 40n), tail(1n, 40n), tail(3n, 40n)]
  const all = [left, old, older, newest]
  expect(tailsToRemove(all, 120)).toEqual([left])
  expect(tailsToRemove(all, 119)).toEqual([left, older])
  expect(tailsToRemove(all, 79)).toEqual([left, older, old])
  expect(tailsToRemove(all)).toEqual([left])
})
