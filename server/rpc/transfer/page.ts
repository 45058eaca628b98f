// A page of an export: the store's records, then the bytes of attachments from the blob store.
import { Refused } from "@signet/kernel/errors"
import { blobKey, partBytes } from "@signet/kernel/messaging/attachment"
import { mayExport, type PlaceMoves, type TransferRecord } from "@signet/kernel/messaging/moving"
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

const maxPageBytes = 2 << 20
/** No cursor of the store has a colon. */
const ofParts = "parts:"

/** @throws Refused STATE_CONFLICT, INVALID_FIELD */
export async function exportedPage(
  deps: TransferParts,
  of: { readonly place: Place; readonly transferId: Uint8Array; readonly cursor: string },
): Promise<Page> {
  if (!of.cursor.startsWith(ofParts)) {
    const { records, next } = await deps.moving.exportPage({ ...of, maxBytes: maxPageBytes })
    return { records, next: next ?? ofParts }
  }
  // Only an authorized export may read the bytes.
  if (!mayExport(await deps.moving.status(of.place), of.transferId)) throw new Refused("STATE_CONFLICT")
  return partsPage(deps, of.place, positionOf(of.cursor))
}

/** A page of attachments that was exported in part, and the last exported part. */
interface Position {
  readonly page: string
  readonly id: string
  readonly index: number
}

/** @throws Refused INVALID_FIELD */
function positionOf(cursor: string): Position {
  const [id = "", index = "", page = ""] = cursor.slice(ofParts.length).split("/")
  if (!/^\d{0,4}$/.test(index)) throw new Refused("INVALID_FIELD", { metadata: { field: "cursor" } })
  return { page, id, index: index === "" ? -1 : Number(index) }
}

async function partsPage({ moving, blobs }: TransferParts, place: Place, from: Position): Promise<Page> {
  const records: TransferRecord[] = []
  let room = maxPageBytes
  let last = from
  for (let page: string | null = from.page; page !== null; ) {
    const { attachments, next }: Awaited<ReturnType<PlaceMoves["attachments"]>> = await moving.attachments(place, page)
    const begun = attachments.findIndex(({ id }) => id === last.id)
    for (const attachment of attachments.slice(Math.max(0, begun))) {
      for (const index of keptParts(attachment)) {
        if (attachment.id === last.id && index <= last.index) continue
        const size = partBytes(attachment, index) ?? 0
        if (size > room && records.length > 0) {
          // The last exported part of this page or, if that was on an earlier page, the page's beginning.
          const at = last.page === page ? last : { id: "", index: -1 }
          return { records, next: `${ofParts}${at.id}/${at.index < 0 ? "" : at.index}/${page}` }
        }
        const data = await blobs.get(blobKey(attachment, index))
        last = { page, id: attachment.id, index }
        // The attachment expired meanwhile, so it is not exported.
        if (data === undefined) continue
        records.push({ is: "attachmentPart", attachmentId: attachment.id, index, data })
        room -= data.length
      }
    }
    page = next
  }
  return { records, next: null }
}

/** The parts to export: a deleted attachment's bytes are being erased. */
const keptParts = ({ status, parts }: AttachmentRecord): readonly number[] => (status === "DELETED" ? [] : parts)

/**
 * Stores parts of the place's existing attachments in the blob store.
 *
 * @throws Refused INVALID_FIELD, STORAGE_FULL, UNAVAILABLE
 */
export async function putParts(
  { moving, blobs }: TransferParts,
  place: Place,
  parts: readonly Extract<TransferRecord, { readonly is: "attachmentPart" }>[],
): Promise<void> {
  if (parts.length === 0) return
  const ids = [...new Set(parts.map(({ attachmentId }) => attachmentId))]
  const found = new Map((await moving.attachmentsOf(place, ids)).map((one) => [one.id, one]))
  for (const { attachmentId, index, data } of parts) {
    const attachment = found.get(attachmentId)
    if (attachment === undefined || !keptParts(attachment).includes(index)) throw invalid()
    if (partBytes(attachment, index) !== data.length) throw invalid()
    await blobs.put(blobKey(attachment, index), data)
  }
}
