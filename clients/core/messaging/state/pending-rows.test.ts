import { create, toBinary } from "@bufbuild/protobuf"
import { type ConversationRecord, ConversationRecordSchema, OutboxRecordSchema } from "@signet/proto/client/v1/records"
import { beforeEach, expect, test } from "vitest"
import { utf8 } from "../crypto/bytes.ts"
import { sealWrites } from "../effects/store-tx.ts"
import type { Owner } from "../session.ts"
import { openMemoryStore } from "../store/memory.ts"
import { type SealedRows, sealedRows } from "../store/sealed-rows.ts"
import type { MessagingStore } from "../store/store.ts"
import { testBox } from "../testing/test-box.ts"
import { changePending, type PendingChange, pendingIn, readPending, unboundPending } from "./pending-rows.ts"

const space = "cnv_a"
const scope = { app: "app", user: "user" }
const owner = { appId: "app", tenantId: undefined, userId: "user" } as Owner
let store: MessagingStore
let rows: SealedRows
let record: ConversationRecord
beforeEach(async () => {
  store = openMemoryStore()
  const box = testBox()
  await box.createKey(scope)
  rows = sealedRows(box, scope)
  record = create(ConversationRecordSchema)
})

const waiting = (key: string, text: string): PendingChange => ({
  table: "outbox",
  key,
  bytes: toBinary(OutboxRecordSchema, create(OutboxRecordSchema, { plaintext: utf8(text) })),
})

/** Writes one transaction with its record. */
async function write(...changes: PendingChange[]): Promise<void> {
  const { generation } = await store.read(space, [])
  const { due, writes } = changePending({ space, generation: generation + 1n }, record.due, changes)
  const ops = await sealWrites({ rows, owner, device: { id: undefined } }, space, writes)
  expect(await store.transact(space, generation, ops)).toBe("ok")
  record = create(ConversationRecordSchema, { ...record, due })
}

const texts = async () =>
  (await readPending({ store, rows }, space, record, "outbox", OutboxRecordSchema)).map(
    ({ id, record: { plaintext } }) => `${id} ${new TextDecoder().decode(plaintext)}`,
  )

/** Writes without a new generation, as an attacker with access to the disk does. */
const putBack = (key: string, value: Uint8Array) =>
  store
    .read("device", [])
    .then(({ generation }) => store.transact("device", generation, [{ op: "put", space, table: "outbox", key, value }]))
const rowOf = async (key: string) => (await store.read(space, [{ table: "outbox", key }])).values[0] ?? new Uint8Array()

test("pending rows are read in the order of their keys until they are removed", async () => {
  await write(waiting("2", "b"), waiting("1", "a"), { table: "intent", key: "3", bytes: new Uint8Array() })
  expect(await texts()).toEqual(["1 a", "2 b"])
  await write({ table: "outbox", key: "1" })
  expect(await texts()).toEqual(["2 b"])
  expect(pendingIn(record, "intent").map(({ key }) => key)).toEqual(["3"])
  expect(await store.list(space, "outbox")).toHaveLength(1)
})

test("a removed row that is restored has no effect", async () => {
  await write(waiting("1", "a"))
  const before = await rowOf("1")
  await write({ table: "outbox", key: "1" })
  await putBack("1", before)
  expect(await texts()).toEqual([])
})

test.each<[string, (before: Uint8Array) => Promise<unknown>]>([
  ["with an older value", (before) => putBack("1", before)],
  ["with another row's value", async () => putBack("1", await rowOf("2"))],
  [
    "that is missing",
    async () => {
      const { generation } = await store.read("device", [])
      await store.transact("device", generation, [{ op: "remove", space, table: "outbox", key: "1" }])
    },
  ],
])("a pending row %s is refused", async (_, change) => {
  await write(waiting("1", "a"), waiting("2", "b"))
  const before = await rowOf("1")
  await write(waiting("1", "anew"))
  expect(await texts()).toEqual(["1 anew", "2 b"])
  await change(before)
  await expect(texts()).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
})

test("unbound rows of an earlier version are accepted, and bound with the next write", async () => {
  const { key, bytes = new Uint8Array() } = waiting("1", "a")
  await store.transact(space, 0n, [await rows.putBytes({ space, table: "outbox", key }, bytes)])
  record = create(ConversationRecordSchema, { due: await unboundPending({ store }, space) })
  const unbound = await rowOf("1")
  expect(await texts()).toEqual(["1 a"])
  await write(waiting("1", "anew"))
  await putBack("1", unbound)
  await expect(texts()).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
})
