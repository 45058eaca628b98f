import { create } from "@bufbuild/protobuf"
import { TimelineRecordSchema } from "@signet/proto/client/v1/records"
import { beforeEach, expect, test } from "vitest"
import type { TimelineEntry } from "../events.ts"
import { openMemoryStore } from "../store/memory.ts"
import { sealedRows } from "../store/sealed-rows.ts"
import { testBox } from "../testing/test-box.ts"
import { importedOp, readTimeline, timelineAfter, timelineOp } from "./timeline.ts"

const space = "cnv_a"
const scope = { app: "app", user: "user" }
const box = testBox()
await box.createKey(scope)
const rows = sealedRows(box, scope)
let store = openMemoryStore()
beforeEach(() => {
  store = openMemoryStore()
})

const from = { userId: "prn_a", deviceId: "dev_a" }
const at = (seq: number) => ({ seq: BigInt(seq), atMs: 7 })
const gap = (seq: number): TimelineEntry => ({ ...at(seq), is: "gap", afterSeq: 1n })
const newKeys = (seq: number): TimelineEntry => ({
  ...at(seq),
  is: "newKeys",
  devices: [{ ...from, what: "changedKey", wasVerified: true }],
})
const message = (seq: number): TimelineEntry => ({
  ...at(seq),
  is: "message",
  from,
  plaintext: Uint8Array.of(1),
  outboxId: undefined,
})

async function write(...entries: TimelineEntry[]): Promise<void> {
  const ops = await Promise.all(entries.map((entry) => timelineOp(rows, space, entry)))
  expect(await store.transact(space, (await store.read(space, [])).generation, ops)).toBe("ok")
}
const read = (limit: number) => readTimeline(store, rows, space, { limit })

test("a page ends with all entries of its last sequence number, and with no entry of the next one", async () => {
  await write(gap(5), newKeys(5), message(5), message(6), newKeys(8), message(9), gap(11))
  expect(await read(1)).toEqual([gap(5), newKeys(5), message(5)])
  expect(await read(4)).toEqual([gap(5), newKeys(5), message(5), message(6)])
  // No entry has the sequence number of these keys.
  expect(await read(5)).toEqual([gap(5), newKeys(5), message(5), message(6), newKeys(8)])
  // The last row of the timeline.
  expect((await read(7)).at(-1)).toEqual(gap(11))
})

test("all entries after a sequence number are read, however many", async () => {
  const entries = Array.from({ length: 401 }, (_, i) => message(i + 1))
  await write(...entries)
  const found: TimelineEntry[] = []
  for await (const entry of timelineAfter(store, rows, space, 1n)) found.push(entry)
  expect(found).toEqual(entries.slice(1))
})

test.each<[string, TimelineEntry]>([
  ["message", { ...at(3), is: "message", from, plaintext: Uint8Array.of(2), outboxId: "7", isLate: true }],
  [
    "attachment",
    { ...at(3), is: "attachment", from, fileName: "a", mediaType: "b/c", size: 5, outboxId: "7", isLate: true },
  ],
])("a late %s is read as late", async (_, entry) => {
  await write(entry)
  expect(await read(10)).toEqual([entry])
})

test.each([
  ["that was imported before keeps the time of the first backup", 5n, 5],
  ["of the backup gets its time", 0n, 9],
])("an imported entry %s", async (_, own, backupAtMs) => {
  const entry = { case: "message", value: { ...from, plaintext: Uint8Array.of(1) } } as const
  const record = create(TimelineRecordSchema, { atMs: 7n, entry, backupAtMs: own })
  const { op } = importedOp(rows, space, { seq: 3n, record, backupAtMs: 9n })
  await store.transact(space, 0n, [await op()])
  expect(await read(1)).toMatchObject([{ imported: { backupAtMs } }])
})
