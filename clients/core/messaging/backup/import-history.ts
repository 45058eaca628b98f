import { create } from "@bufbuild/protobuf"
import { AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import type {
  BackupChunkV1_Conversation,
  BackupChunkV1_Entry,
  BackupChunkV1_History,
} from "@signet/proto/client/v1/backup"
import {
  type ConversationRecord,
  ConversationRecordSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { acceptManifest } from "../attachments/manifest.ts"
import type { Context, Conversation } from "../context.ts"
import type { TimelineEntry } from "../events.ts"
import { bytesOfId, isId } from "../ids.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import { importedOp, keyOfSeq, timelineOp } from "../state/timeline.ts"
import type { Op } from "../store/store.ts"
import { damaged } from "./header.ts"

/**
 * Imports one chunk in one transaction. A row that this device has stays, so a repeated import changes nothing.
 *
 * A conversation that is unknown here is stored as `startAnew` leaves one: without a group, waiting to be added. An
 * entry after the position at which this device joined is read from the log, not from the backup.
 *
 * @returns The number of imported entries.
 * @throws MessagingError BACKUP_TAMPERED
 */
export async function importHistory(
  context: Context,
  { conversation: found, entries }: BackupChunkV1_History,
  backupAtMs: bigint,
): Promise<number> {
  if (found === undefined || !isId("cnv", found.conversationId)) throw damaged("a chunk names no conversation")
  const conversation = context.conversation(found.conversationId)
  return conversation.change(async (stored) => {
    const rows: ImportedRow[] = []
    for (const entry of entries) rows.push(...rowsOf(conversation, stored, entry, backupAtMs))
    const ops: Op[] = []
    for (const { op } of await missing(conversation, rows)) ops.push(await op())
    const result = ops.filter(({ table }) => table === "timeline").length
    ops.push(...(await gapAfter(conversation, stored, found, backupAtMs)))
    const next = stored.record === undefined ? { ...stored, record: recordOf(found) } : stored
    return { next, ops, result }
  })
}

interface ImportedRow {
  readonly table: "timeline" | "attachment"
  readonly key: string
  readonly op: () => Promise<Op>
}

const maxSeq = 2n ** 63n

function rowsOf(
  { id, rows }: Conversation,
  { record, local }: StoredConversation,
  { seq, record: entry, attachment }: BackupChunkV1_Entry,
  backupAtMs: bigint,
): ImportedRow[] {
  if (entry === undefined || seq === 0n || seq >= maxSeq) throw damaged("an entry has no sequence number or content")
  if (local !== undefined && record !== undefined && seq > record.joinedSeq) return []
  const timeline = { table: "timeline", ...importedOp(rows, id, { seq, record: entry, backupAtMs }) } as const
  if (attachment === undefined) return [timeline]
  const conversation = bytesOfId("cnv", id)
  const { senderCredentialHash } = attachment
  const manifest = acceptManifest(attachment, { conversation, senderCredentialHash })
  if (manifest === undefined) throw damaged("an attachment has no valid manifest")
  const place = { space: id, table: "attachment", key: keyOfSeq(seq) } as const
  return [
    timeline,
    { table: "attachment", key: place.key, op: () => rows.put(place, AttachmentManifestSchema, manifest) },
  ]
}

/** Finds the rows that this device does not have. Its transaction fails if another process adds one meanwhile. */
async function missing({ store, id }: Conversation, rows: readonly ImportedRow[]): Promise<ImportedRow[]> {
  const { values } = await store.read(id, rows)
  return rows.filter((_, i) => values[i] === undefined)
}

/** Adds the entry that shows the range between the backup and the position at which this device joined. */
async function gapAfter(
  conversation: Conversation,
  { record, local }: StoredConversation,
  { processedSeq }: BackupChunkV1_Conversation,
  backupAtMs: bigint,
): Promise<Op[]> {
  if (record === undefined || local === undefined || processedSeq === 0n) return []
  const { joinedSeq: seq } = record
  if (processedSeq + 1n >= seq) return []
  const gap: TimelineEntry = { is: "gap", seq, atMs: Number(backupAtMs), afterSeq: processedSeq }
  const op = await timelineOp(conversation.rows, conversation.id, gap)
  const [row] = (await conversation.store.read(conversation.id, [op])).values
  return row === undefined ? [op] : []
}

function recordOf({
  conversationId: _,
  processedSeq,
  isOver,
  ...shown
}: BackupChunkV1_Conversation): ConversationRecord {
  const { isDirect, mlsGroupId, directUserIds, resetSeq, asksConfirmation } = shown
  return create(ConversationRecordSchema, {
    status: isOver ? Status.REMOVED : Status.WAITING,
    ...{ isDirect, mlsGroupId, directUserIds, resetSeq, asksConfirmation },
    // A later welcome must be for a position after everything that was read.
    joinedSeq: processedSeq,
  })
}
