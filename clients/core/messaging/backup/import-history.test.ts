// What one chunk of a backup adds to a conversation of this device.
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import {
  type BackupChunkV1_ConversationSchema,
  type BackupChunkV1_EntrySchema,
  BackupChunkV1_HistorySchema,
} from "@signet/proto/client/v1/backup"
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { expect, test } from "vitest"
import { readTimeline } from "../state/timeline.ts"
import { scripted } from "../testing/scripted.ts"
import { importHistory } from "./import-history.ts"

const backupAtMs = 77n
type Shown = MessageInitShape<typeof BackupChunkV1_ConversationSchema>
type Found = MessageInitShape<typeof BackupChunkV1_EntrySchema>
const content = { case: "message", value: { plaintext: Uint8Array.of(1) } } as const
const message = (seq: bigint): Found => ({ seq, record: { atMs: 7n, entry: content } })

async function opened() {
  const { conversation, local, write } = await scripted()
  return {
    write,
    local,
    imported: (shown: Shown, ...entries: Found[]) => {
      const found = { conversation: { conversationId: conversation.id, ...shown }, entries }
      return importHistory(conversation, create(BackupChunkV1_HistorySchema, found), backupAtMs)
    },
    shown: async () =>
      (await readTimeline(conversation.store, conversation.rows, conversation.id, {})).map(({ is, seq }) => [is, seq]),
    record: async () => (await conversation.stored()).record,
  }
}

test("a device imports the entries up to the position at which it joined, each once", async () => {
  const { write, imported, shown } = await opened()
  await write({ joinedSeq: 4n })
  expect(await imported({}, message(3n), message(4n), message(5n))).toBe(2)
  const before = await shown()
  expect(before.map(([, seq]) => seq)).toEqual([3n, 4n])
  expect(await imported({}, message(3n), message(4n))).toBe(0)
  expect(await shown()).toEqual(before)
})

test("a device without a group imports every entry", async () => {
  const { write, imported } = await opened()
  await write({ joinedSeq: 4n, status: Status.WAITING }, { local: undefined })
  expect(await imported({ processedSeq: 4n }, message(5n))).toBe(1)
})

test.each<[string, bigint, readonly unknown[]]>([
  ["has a message between", 2n, [["gap", 4n]]],
  ["has none between", 3n, []],
  ["had read nothing", 0n, []],
])("the range between a backup that %s and the position of the join", async (_, processedSeq, expected) => {
  const { write, imported, shown } = await opened()
  await write({ joinedSeq: 4n })
  await imported({ processedSeq })
  await imported({ processedSeq })
  expect(await shown()).toEqual(expected)
})

test("a device that waits to be added shows no gap", async () => {
  const { write, imported, shown } = await opened()
  await write({ joinedSeq: 4n, status: Status.WAITING }, { local: undefined })
  await imported({ processedSeq: 2n })
  expect(await shown()).toEqual([])
})

test.each([
  [false, Status.WAITING],
  [true, Status.REMOVED],
])("an unknown conversation that is over: %s", async (isOver, status) => {
  const { imported, record } = await opened()
  await imported({ isOver, isDirect: true, processedSeq: 6n, resetSeq: 3n, asksConfirmation: true })
  const expected = { status, isDirect: true, joinedSeq: 6n, resetSeq: 3n, asksConfirmation: true }
  expect(await record()).toMatchObject(expected)
})

test("a known conversation keeps its record", async () => {
  const { write, imported, record } = await opened()
  await write({ joinedSeq: 4n })
  await imported({ isOver: true })
  expect(await record()).toMatchObject({ status: Status.ACTIVE, joinedSeq: 4n })
})

test.each<[string, Shown, Found]>([
  ["names no conversation", { conversationId: "dev_1" }, message(1n)],
  ["has an entry without content", {}, { seq: 1n }],
  ["has an entry without a number", {}, message(0n)],
  ["has an entry with a number beyond a log's", {}, message(2n ** 63n)],
  ["has an attachment without a valid manifest", {}, { seq: 1n, record: { entry: content }, attachment: {} }],
])("a chunk that %s is rejected", async (_, shown, entry) => {
  const { imported, record } = await opened()
  await expect(imported(shown, entry)).rejects.toMatchObject({ reason: "BACKUP_TAMPERED" })
  expect(await record()).toBeUndefined()
})
