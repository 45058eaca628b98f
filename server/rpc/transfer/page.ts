// A page of an export: what the store has, then the bytes of attachments, which are kept elsewhere.
import { Refused } from "@signet/kernel/errors"
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
  return partsPage(deps, of.place, positionOf(of.cursor))
}

/** The page of attachments that was told in part, and its last part that was told. */
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
    const { attachments, next }: Awaited<ReturnType<Moving["attachments"]>> = await moving.attachments(place, page)
    const begun = attachments.findIndex(({ id }) => id === last.id)
    for (const attachment of attachments.slice(Math.max(0, begun))) {
      for (const index of keptParts(attachment)) {
        if (attachment.id === last.id && index <= last.index) continue
        const size = partBytes(attachment, index) ?? 0
        if (size > room && records.length > 0) {
          // Of this page the last one, or, when it was told on the page before, all of it.
          const at = last.page === page ? last : { id: "", index: -1 }
          return { records, next: `${ofParts}${at.id}/${at.index < 0 ? "" : at.index}/${page}` }
        }
        const data = await blobs.get(blobKey(attachment, index))
        last = { page, id: attachment.id, index }
        // Gone by itself: there is nothing to tell.
        if (data === undefined) continue
        records.push({ is: "attachmentPart", attachmentId: attachment.id, index, data })
        room -= data.length
      }
    }
    page = next
  }
  return { records, next: null }
}

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
  const found = new Map((await moving.attachmentsOf(place, ids)).map((one) => [one.id, one]))
  for (const { attachmentId, index, data } of parts) {
    const attachment = found.get(attachmentId)
    if (attachment === undefined || !keptParts(attachment).includes(index)) throw invalid()
    if (partBytes(attachment, index) !== data.length) throw invalid()
    await blobs.put(blobKey(attachment, index), data)
  }
}
