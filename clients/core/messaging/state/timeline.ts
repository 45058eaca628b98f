import { create } from "@bufbuild/protobuf"
import { type TimelineRecord, TimelineRecordSchema } from "@signet/proto/client/v1/records"
import type { NewKey, Person, TimelineEntry } from "../events.ts"
import type { SealedRows } from "../store/sealed-rows.ts"
import type { MessagingStore, Op, Space } from "../store/store.ts"

/** Zero-padded, so that the order of keys is the numeric order. */
export const keyOfSeq = (seq: bigint): string => seq.toString().padStart(20, "0")

/**
 * The key of an entry's row. `gap`, `newKeys` and `missing` entries sort after all rows of lower sequence numbers, and
 * before the entry with their own.
 */
function keyOf({ is, seq }: TimelineEntry): string {
  const before = is === "gap" || is === "newKeys" || is === "missing" ? suffixes[is] : undefined
  return before === undefined ? keyOfSeq(seq) : `${keyOfSeq(seq - 1n)}:${before}`
}

/** In the order of the entries of one sequence number. */
const suffixes = { gap: "gap", newKeys: "keys", missing: "missing" } as const

const precedesEntry = (key: string): boolean => key.includes(":")

/** The sequence number of a timeline row. */
export function seqOfKey(key: string): bigint {
  const [seq = ""] = key.split(":")
  return precedesEntry(key) ? BigInt(seq) + 1n : BigInt(seq)
}

export async function timelineOp(rows: SealedRows, space: Space, entry: TimelineEntry): Promise<Op> {
  return rows.put({ space, table: "timeline", key: keyOf(entry) }, TimelineRecordSchema, recordOf(entry))
}

/** An entry that a backup contains. */
interface BackedUpEntry {
  readonly seq: bigint
  readonly record: TimelineRecord
  /** Unix milliseconds. */
  readonly backupAtMs: bigint
}

/** The write of an entry from a backup. An entry that was imported before keeps the time of the first backup. */
export function importedOp(
  rows: SealedRows,
  space: Space,
  { seq, record, backupAtMs }: BackedUpEntry,
): { readonly key: string; readonly op: () => Promise<Op> } {
  const key = keyOf(entryOf(seq, record))
  const imported = { ...record, backupAtMs: record.backupAtMs || backupAtMs }
  return { key, op: () => rows.put({ space, table: "timeline", key }, TimelineRecordSchema, imported) }
}

export interface Range {
  /** Only entries after this sequence number. Default: all. */
  readonly afterSeq?: bigint
  /** At most this many, and any further ones with the sequence number of the last. Default: 100. */
  readonly limit?: number
}

/** Reads the entries of a conversation, in order. */
export async function readTimeline(
  store: MessagingStore,
  rows: SealedRows,
  space: Space,
  { afterSeq, limit = 100 }: Range = {},
): Promise<TimelineEntry[]> {
  const after = afterSeq === undefined ? {} : { after: keyOfSeq(afterSeq) }
  const found = await store.list(space, "timeline", { ...after, limit })
  // The next page begins after the last sequence number, so the entries of one number must be on one page.
  for (let last = found.at(-1); found.length >= limit && last !== undefined && precedesEntry(last.key); ) {
    const [next] = await store.list(space, "timeline", { after: last.key, limit: 1 })
    if (next === undefined || seqOfKey(next.key) !== seqOfKey(last.key)) break
    found.push(next)
    last = next
  }
  return Promise.all(
    found.map(async ({ key, value }) => {
      const record = await rows.read({ space, table: "timeline", key }, TimelineRecordSchema, value)
      return entryOf(seqOfKey(key), record)
    }),
  )
}

const pageSize = 200

/** Reads all entries after a sequence number. */
export async function* timelineAfter(
  store: MessagingStore,
  rows: SealedRows,
  space: Space,
  seq: bigint,
): AsyncGenerator<TimelineEntry> {
  for (let afterSeq = seq; ; ) {
    const page = await readTimeline(store, rows, space, { afterSeq, limit: pageSize })
    yield* page
    const newest = page.at(-1)
    if (newest === undefined || page.length < pageSize) return
    afterSeq = newest.seq
  }
}

function recordOf(entry: TimelineEntry): TimelineRecord {
  return create(TimelineRecordSchema, { atMs: BigInt(entry.atMs), entry: recordEntryOf(entry) })
}

function recordEntryOf(
  entry: TimelineEntry,
): NonNullable<Parameters<typeof create<typeof TimelineRecordSchema>>[1]>["entry"] {
  switch (entry.is) {
    case "message": {
      const { from, plaintext, outboxId = "", isLate = false } = entry
      return { case: "message", value: { ...from, plaintext, outboxId, isLate } }
    }
    case "attachment": {
      const { from, fileName, mediaType, size, outboxId = "", isLate = false } = entry
      return { case: "attachment", value: { ...from, fileName, mediaType, size: BigInt(size), outboxId, isLate } }
    }
    case "membership": {
      const { committer, added, removed } = entry
      return { case: "membership", value: { committer, added: [...added], removed: [...removed] } }
    }
    case "unreadable":
      return { case: "unreadable", value: { reason: entry.reason } }
    case "missing":
      return { case: "missing", value: { ...entry.from, count: entry.count } }
    case "gap":
      return { case: "gap", value: { afterSeq: entry.afterSeq } }
    case "reset":
      return { case: "reset", value: { ...entry.by } }
    case "newKeys": {
      const devices = entry.devices.map(({ what, ...device }) => ({ ...device, isChangedKey: what === "changedKey" }))
      return { case: "newKeys", value: { devices } }
    }
  }
}

export function entryOf(seq: bigint, { atMs, entry, backupAtMs }: TimelineRecord): TimelineEntry {
  const imported = backupAtMs === 0n ? {} : { imported: { backupAtMs: Number(backupAtMs) } }
  const at = { seq, atMs: Number(atMs), ...imported }
  const person = ({ userId, deviceId }: Person): Person => ({ userId, deviceId })
  switch (entry.case) {
    case "message": {
      const { plaintext, outboxId, isLate } = entry.value
      const own = { outboxId: outboxId || undefined, ...(isLate && { isLate }) }
      return { ...at, is: "message", from: person(entry.value), plaintext, ...own }
    }
    case "attachment": {
      const { fileName, mediaType, size, outboxId, isLate } = entry.value
      const own = { outboxId: outboxId || undefined, ...(isLate && { isLate }) }
      const shown = { fileName, mediaType, size: Number(size), ...own }
      return { ...at, is: "attachment", from: person(entry.value), ...shown }
    }
    case "membership": {
      const { committer, added, removed } = entry.value
      const by = person(committer ?? { userId: "", deviceId: "" })
      return { ...at, is: "membership", committer: by, added: added.map(person), removed: removed.map(person) }
    }
    case "unreadable":
      return { ...at, is: "unreadable", reason: entry.value.reason }
    case "missing":
      return { ...at, is: "missing", from: person(entry.value), count: entry.value.count }
    case "gap":
      return { ...at, is: "gap", afterSeq: entry.value.afterSeq }
    case "reset":
      return { ...at, is: "reset", by: entry.value.userId === "" ? undefined : person(entry.value) }
    case "newKeys": {
      const devices = entry.value.devices.map(({ isChangedKey, wasVerified, ...device }): NewKey => {
        return { ...person(device), what: isChangedKey ? "changedKey" : "newDevice", wasVerified }
      })
      return { ...at, is: "newKeys", devices }
    }
    case undefined:
      // A newer version may have written a kind that this one does not know.
      return { ...at, is: "unreadable", reason: "STATE_NEWER_VERSION" }
  }
}
