// A page of an export: the store's records, then the bytes of attachments and of backups from the blob store.
import { sha256 } from "@noble/hashes/sha2.js"
import { Refused } from "@signet/kernel/errors"
import { chunkKey, chunkName, chunkNames, maxChunkBytes, nameOfChunk } from "@signet/kernel/messaging/archive"
import { blobKey, partBytes } from "@signet/kernel/messaging/attachment"
import {
  type BlobRecord,
  mayExport,
  type PlaceMoves,
  type TransferRecord,
  type UserBackup,
} from "@signet/kernel/messaging/moving"
import type { BlobStore } from "@signet/kernel/messaging/ports"
import type { AttachmentRecord, Place } from "@signet/kernel/messaging/records"
import { invalid } from "./read.ts"

export interface TransferParts {
  readonly moving: PlaceMoves
  readonly blobs: BlobStore
}

interface Page {
  readonly records: readonly TransferRecord[]
  /** Null on the last page. */
  readonly next: string | null
}

/** The blobs of one record. */
interface Blobs {
  /** Of the attachment or user. */
  readonly id: string
  readonly indexes: readonly number[]
  /** An upper bound of a blob's size. */
  readonly bytes: (index: number) => number
  readonly key: (index: number) => string
  readonly record: (index: number, data: Uint8Array) => BlobRecord
}

/** Pages through the records that have blobs. */
type Source = (
  moving: PlaceMoves,
  place: Place,
  page: string,
) => Promise<{ readonly all: readonly Blobs[]; readonly next: string | null }>

const maxPageBytes = 2 << 20

/** By the beginning of their cursors, in the order of the export. No cursor of the store has a colon. */
const sources: readonly (readonly [name: string, source: Source])[] = [
  ["parts:", async (moving, place, page) => blobsOf(await moving.attachments(place, page))],
  ["chunks:", async (moving, place, page) => chunksOf(await moving.backups(place, page))],
]

/** @throws Refused STATE_CONFLICT, INVALID_FIELD */
export async function exportedPage(
  deps: TransferParts,
  of: { readonly place: Place; readonly transferId: Uint8Array; readonly cursor: string },
): Promise<Page> {
  const at = sources.findIndex(([name]) => of.cursor.startsWith(name))
  const [name, source] = sources[at] ?? []
  if (name === undefined || source === undefined) {
    const { records, next } = await deps.moving.exportPage({ ...of, maxBytes: maxPageBytes })
    return { records, next: next ?? sources[0]?.[0] ?? null }
  }
  // Only an authorized export may read the bytes.
  if (!mayExport(await deps.moving.status(of.place), of.transferId)) throw new Refused("STATE_CONFLICT")
  const { records, next } = await blobsPage(deps, source, of.place, positionOf(of.cursor.slice(name.length)))
  return { records, next: next === null ? (sources[at + 1]?.[0] ?? null) : name + next }
}

/** A page of a source that was exported in part, and the last exported blob. */
interface Position {
  readonly page: string
  readonly id: string
  readonly index: number
}

/** @throws Refused INVALID_FIELD */
function positionOf(cursor: string): Position {
  const [id = "", index = "", page = ""] = cursor.split("/")
  if (!/^\d{0,4}$/.test(index)) throw new Refused("INVALID_FIELD", { metadata: { field: "cursor" } })
  return { page, id, index: index === "" ? -1 : Number(index) }
}

async function blobsPage(
  { moving, blobs }: TransferParts,
  source: Source,
  place: Place,
  from: Position,
): Promise<Page> {
  const records: TransferRecord[] = []
  let room = maxPageBytes
  let last = from
  for (let page: string | null = from.page; page !== null; ) {
    const { all, next }: Awaited<ReturnType<Source>> = await source(moving, place, page)
    const begun = all.findIndex(({ id }) => id === last.id)
    for (const { id, indexes, bytes, key, record } of all.slice(Math.max(0, begun))) {
      for (const index of indexes) {
        if (id === last.id && index <= last.index) continue
        if (bytes(index) > room && records.length > 0) {
          // The last exported blob of this page or, if that was on an earlier page, the page's beginning.
          const at = last.page === page ? last : { id: "", index: -1 }
          return { records, next: `${at.id}/${at.index < 0 ? "" : at.index}/${page}` }
        }
        const data = await blobs.get(key(index))
        last = { page, id, index }
        // It expired meanwhile, so it is not exported.
        if (data === undefined) continue
        records.push(record(index, data))
        room -= data.length
      }
    }
    page = next
  }
  return { records, next: null }
}

/** The parts to export: a deleted attachment's bytes are being erased. */
const keptParts = ({ status, parts }: AttachmentRecord): readonly number[] => (status === "DELETED" ? [] : parts)

const blobsOf = ({ attachments, next }: Awaited<ReturnType<PlaceMoves["attachments"]>>) => ({
  all: attachments.map(
    (attachment): Blobs => ({
      id: attachment.id,
      indexes: keptParts(attachment),
      bytes: (index) => partBytes(attachment, index) ?? 0,
      key: (index) => blobKey(attachment, index),
      record: (index, data) => ({ is: "attachmentPart", attachmentId: attachment.id, index, data }),
    }),
  ),
  next,
})

const chunksOf = ({ backups, next }: Awaited<ReturnType<PlaceMoves["backups"]>>) => ({
  all: backups.map(
    ({ userId, archive }): Blobs => ({
      id: userId,
      indexes: chunkNames(archive).map((_, index) => index),
      bytes: () => Math.min(archive.size, maxChunkBytes),
      key: (index) => chunkKey(archive.id, index, chunkName(archive, index) ?? ""),
      record: (index, data) => ({ is: "backupChunk", userId, index, data }),
    }),
  ),
  next,
})

/**
 * Stores parts of the place's existing attachments, and chunks of its users' backups, in the blob store.
 *
 * @throws Refused INVALID_FIELD, STORAGE_FULL, UNAVAILABLE
 */
export async function putBlobs(
  { moving, blobs }: TransferParts,
  place: Place,
  records: readonly BlobRecord[],
): Promise<void> {
  const parts = records.flatMap((one) => (one.is === "attachmentPart" ? [one] : []))
  const chunks = records.flatMap((one) => (one.is === "backupChunk" ? [one] : []))
  const attachments =
    parts.length === 0
      ? []
      : await moving.attachmentsOf(place, [...new Set(parts.map(({ attachmentId }) => attachmentId))])
  const backups =
    chunks.length === 0 ? [] : await moving.backupsOf(place, [...new Set(chunks.map(({ userId }) => userId))])
  for (const { attachmentId, index, data } of parts) {
    const attachment = attachments.find(({ id }) => id === attachmentId)
    if (attachment === undefined || !keptParts(attachment).includes(index)) throw invalid()
    if (partBytes(attachment, index) !== data.length) throw invalid()
    await blobs.put(blobKey(attachment, index), data)
  }
  for (const { userId, index, data } of chunks) await blobs.put(keyOfChunk(backups, { userId, index, data }), data)
}

/** @throws Refused INVALID_FIELD for bytes that the backup does not name at this index */
function keyOfChunk(
  backups: readonly UserBackup[],
  { userId, index, data }: Omit<Extract<BlobRecord, { readonly is: "backupChunk" }>, "is">,
): string {
  const backup = backups.find((one) => one.userId === userId)
  const name = nameOfChunk(sha256(data))
  if (backup === undefined || chunkName(backup.archive, index) !== name) throw invalid()
  return chunkKey(backup.archive.id, index, name)
}
