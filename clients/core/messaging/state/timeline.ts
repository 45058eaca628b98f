import { create } from "@bufbuild/protobuf"
import { type TimelineRecord, TimelineRecordSchema } from "@signet/proto/client/v1/records"
import type { NewKey, Person, TimelineEntry } from "../events.ts"
import type { SealedRows } from "../store/sealed-rows.ts"
import type { MessagingStore, Op, Space } from "../store/store.ts"

/** Sorts as the number does. */
export const keyOfSeq = (seq: bigint): string => seq.toString().padStart(20, "0")

/** A gap and new keys sort after everything of the places before, and before the entry of the same place. */
function keyOf({ is, seq }: TimelineEntry): string {
  if (is !== "newKeys" && is !== "gap") return keyOfSeq(seq)
  return `${keyOfSeq(seq - 1n)}:${is === "gap" ? "gap" : "keys"}`
}

const isBeforeEntry = (key: string): boolean => key.includes(":")

/** The place in the log that a timeline row is about. */
export function seqOfKey(key: string): bigint {
  const [seq = ""] = key.split(":")
  return isBeforeEntry(key) ? BigInt(seq) + 1n : BigInt(seq)
}

export async function timelineOp(rows: SealedRows, space: Space, entry: TimelineEntry): Promise<Op> {
  return rows.put({ space, table: "timeline", key: keyOf(entry) }, TimelineRecordSchema, recordOf(entry))
}

export interface Range {
  /** From after this place on; from the first one there is if absent. */
  readonly afterSeq?: bigint
  /** At most so many, and those with the place of the last one. Default: 100. */
  readonly limit?: number
}

/** What happened in a conversation, in order. */
export async function readTimeline(
  store: MessagingStore,
  rows: SealedRows,
  space: Space,
  { afterSeq, limit = 100 }: Range = {},
): Promise<TimelineEntry[]> {
  const after = afterSeq === undefined ? {} : { after: keyOfSeq(afterSeq) }
  const found = await store.list(space, "timeline", { ...after, limit })
  // The next page begins after the last place, so a place is never divided.
  for (let last = found.at(-1); found.length >= limit && last !== undefined && isBeforeEntry(last.key); ) {
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

/** All that happened after a place. */
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
  return create(TimelineRecordSchema, { atMs: BigInt(entry.atMs), entry: kindOf(entry) })
}

function kindOf(entry: TimelineEntry): NonNullable<Parameters<typeof create<typeof TimelineRecordSchema>>[1]>["entry"] {
  switch (entry.is) {
    case "message": {
      const { from, plaintext, outboxId = "" } = entry
      return { case: "message", value: { ...from, plaintext, outboxId } }
    }
    case "attachment": {
      const { from, fileName, mediaType, size, outboxId = "" } = entry
      return { case: "attachment", value: { ...from, fileName, mediaType, size: BigInt(size), outboxId } }
    }
    case "membership": {
      const { committer, added, removed } = entry
      return { case: "membership", value: { committer, added: [...added], removed: [...removed] } }
    }
    case "unreadable":
      return { case: "unreadable", value: { reason: entry.reason } }
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

function entryOf(seq: bigint, { atMs, entry }: TimelineRecord): TimelineEntry {
  const at = { seq, atMs: Number(atMs) }
  const person = ({ userId, deviceId }: Person): Person => ({ userId, deviceId })
  switch (entry.case) {
    case "message": {
      const { plaintext, outboxId } = entry.value
      return { ...at, is: "message", from: person(entry.value), plaintext, outboxId: outboxId || undefined }
    }
    case "attachment": {
      const { fileName, mediaType, size, outboxId } = entry.value
      const shown = { fileName, mediaType, size: Number(size), outboxId: outboxId || undefined }
      return { ...at, is: "attachment", from: person(entry.value), ...shown }
    }
    case "membership": {
      const { committer, added, removed } = entry.value
      const by = person(committer ?? { userId: "", deviceId: "" })
      return { ...at, is: "membership", committer: by, added: added.map(person), removed: removed.map(person) }
    }
    case "unreadable":
      return { ...at, is: "unreadable", reason: entry.value.reason }
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
      // A later version may tell of more.
      return { ...at, is: "unreadable", reason: "STATE_NEWER_VERSION" }
  }
}
