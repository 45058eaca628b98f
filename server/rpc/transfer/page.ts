// A page of an export: what the store has, then the bytes of attachments, which are kept elsewhere.
import { Refused } from "@signet/kernel/errors"
import { type AttachmentId, parseId } from "@signet/kernel/ids"
import { blobKey, partBytes } from "@signet/kernel/messaging/attachment"
import { type Moving, mayExport, type TransferRecord } from "@signet/kernel/messaging/moving"
import type { BlobStore } from "@signet/kernel/messaging/ports"
import type { AttachmentRecord, Place } from "@signet/kernel/messaging/records"
import { invalid } from "./read.ts"

export interface TransferParts {
  readonly moving: Moving
  readonly blobs: BlobStore
}

interface Page {
  readonly records: readonly TransferRecord[]
  /** Null after the last. */
  readonly next: string | null
}

const maxPageBytes = 2 << 20
/** Cursors of the store have no such character. */
const ofParts = "parts:"
const attachmentsAtOnce = 100

/** @throws Refused STATE_CONFLICT, INVALID_FIELD */
export async function exportedPage(
  deps: TransferParts,
  of: { readonly place: Place; readonly transferId: Uint8Array; readonly cursor: string },
): Promise<Page> {
  if (!of.cursor.startsWith(ofParts)) {
    const { records, next } = await deps.moving.exportPage({ ...of, maxBytes: maxPageBytes })
    return { records, next: next ?? ofParts }
  }
  // Only who may export sees bytes.
  if (!mayExport(await deps.moving.status(of.place), of.transferId)) throw new Refused("STATE_CONFLICT")
  return partsPage(deps, of.place, afterOf(of.cursor))
}

/** The last part that was told. */
interface After {
  readonly id: AttachmentId
  readonly index: number
}

function afterOf(cursor: string): After | null {
  if (cursor === ofParts) return null
  const [id = "", index = ""] = cursor.slice(ofParts.length).split("/")
  const parsed = parseId("att", id)
  if (parsed === undefined || !/^\d{1,4}$/.test(index)) {
    throw new Refused("INVALID_FIELD", { metadata: { field: "cursor" } })
  }
  return { id: parsed, index: Number(index) }
}

async function partsPage({ moving, blobs }: TransferParts, place: Place, after: After | null): Promise<Page> {
  const records: TransferRecord[] = []
  let room = maxPageBytes
  let last = after
  // The one that was told in part, then those after it.
  let attachments: readonly AttachmentRecord[] =
    after === null ? [] : await moving.attachments(place, { ids: [after.id] })
  for (;;) {
    for (const attachment of attachments) {
      for (const index of keptParts(attachment)) {
        if (last !== null && attachment.id === last.id && index <= last.index) continue
        const size = partBytes(attachment, index) ?? 0
        if (size > room && records.length > 0) return { records, next: nextOf(last) }
        const data = await blobs.get(blobKey(attachment, index))
        last = { id: attachment.id, index }
        // Gone by itself: there is nothing to tell.
        if (data === undefined) continue
        records.push({ is: "attachmentPart", attachmentId: attachment.id, index, data })
        room -= data.length
      }
      last = { id: attachment.id, index: 9_999 }
    }
    attachments = await moving.attachments(place, { after: last?.id ?? null, limit: attachmentsAtOnce })
    if (attachments.length === 0) return { records, next: null }
  }
}

const nextOf = (last: After | null): string => (last === null ? ofParts : `${ofParts}${last.id}/${last.index}`)

/** The bytes of one that was deleted are going. */
const keptParts = ({ status, parts }: AttachmentRecord): readonly number[] => (status === "DELETED" ? [] : parts)

/**
 * Puts parts where they are looked for, of attachments of the place that are there.
 *
 * @throws Refused INVALID_FIELD, STORAGE_FULL, UNAVAILABLE.
 */
export async function putParts(
  { moving, blobs }: TransferParts,
  place: Place,
  parts: readonly Extract<TransferRecord, { readonly is: "attachmentPart" }>[],
): Promise<void> {
  if (parts.length === 0) return
  const ids = [...new Set(parts.map(({ attachmentId }) => attachmentId))]
  const found = new Map((await moving.attachments(place, { ids })).map((one) => [one.id, one]))
  for (const { attachmentId, index, data } of parts) {
    const attachment = found.get(attachmentId)
    if (attachment === undefined || !keptParts(attachment).includes(index)) throw invalid()
    if (partBytes(attachment, index) !== data.length) throw invalid()
    await blobs.put(blobKey(attachment, index), data)
  }
}
