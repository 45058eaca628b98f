// The content of a backup, read from the store page by page. Only what is listed here enters a backup.
import { create, toBinary } from "@bufbuild/protobuf"
import { AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import {
  type BackupChunkV1_ComparedUser,
  BackupChunkV1_ComparedUserSchema,
  type BackupChunkV1_Conversation,
  BackupChunkV1_ConversationSchema,
  type BackupChunkV1_Entry,
  BackupChunkV1_EntrySchema,
} from "@signet/proto/client/v1/backup"
import { ConversationRecord_Status as Status, TimelineRecordSchema } from "@signet/proto/client/v1/records"
import type { Context } from "../context.ts"
import type { Storage } from "../deps.ts"
import { keyOfSeq, seqOfKey } from "../state/timeline.ts"
import { deviceSpace, type Row, type Space } from "../store/store.ts"
import { trying } from "../sync/background.ts"
import { comparedPeers } from "../verification/peer-rows.ts"

/** A page of rows is in memory at once. A row has up to 220 KiB. */
const pageSize = 16

interface Collected {
  readonly conversation: BackupChunkV1_Conversation
  /** The number of entries when they were counted. */
  readonly entries: number
  /** The key of the newest entry; empty without entries. */
  readonly lastKey: string
}

/** Lists the conversations. One that cannot be opened is reported as `failed`, and left out. */
export async function collectConversations(context: Context): Promise<Collected[]> {
  const found: Collected[] = []
  for (const id of await context.store.spaces()) {
    if (id === deviceSpace) continue
    await trying(context, id, async () => {
      const { record, local } = await context.conversation(id).stored()
      if (record === undefined) return
      const { entries, lastKey } = await countRows(context, id)
      const isBegun = record.status !== Status.CREATING && record.creationId === ""
      if (!isBegun && entries === 0) return
      const { isDirect, mlsGroupId, directUserIds, joinedSeq, resetSeq, asksConfirmation, status } = record
      const conversation = create(BackupChunkV1_ConversationSchema, {
        conversationId: id,
        ...{ isDirect, mlsGroupId, directUserIds, resetSeq, asksConfirmation },
        processedSeq: local?.processedSeq ?? joinedSeq,
        isOver: status === Status.REMOVED || status === Status.LEAVING,
      })
      found.push({ conversation, entries, lastKey })
    })
  }
  return found
}

async function countRows({ store }: Pick<Storage, "store">, space: Space) {
  let entries = 0
  for (let after = ""; ; ) {
    const page = await store.list(space, "timeline", { after, limit: pageSize })
    const last = page.at(-1)
    if (last === undefined) return { entries, lastKey: after }
    entries += page.length
    after = last.key
  }
}

interface CollectedEntry {
  readonly entry: BackupChunkV1_Entry
  /** Its encoded size in bytes. */
  readonly size: number
}

/** Reads the timeline of a conversation in order, with the manifests of its attachments. */
export async function* collectEntries({ store, rows }: Storage, space: Space): AsyncGenerator<CollectedEntry> {
  for (let after = ""; ; ) {
    const page = await store.list(space, "timeline", { after, limit: pageSize })
    for (const row of page) {
      yield await entryAt({ store, rows }, space, row)
      after = row.key
    }
    if (page.length === 0) return
  }
}

/** Opens a row of the timeline, with the manifest of its attachment. */
export async function entryAt({ store, rows }: Storage, space: Space, { key, value }: Row): Promise<CollectedEntry> {
  const seq = seqOfKey(key)
  const record = await rows.read({ space, table: "timeline", key }, TimelineRecordSchema, value)
  const attachment = record.entry.case === "attachment" ? await manifestAt({ store, rows }, space, seq) : undefined
  const entry = create(BackupChunkV1_EntrySchema, { seq, record, ...(attachment && { attachment }) })
  return { entry, size: toBinary(BackupChunkV1_EntrySchema, entry).length }
}

async function manifestAt({ store, rows }: Storage, space: Space, seq: bigint) {
  const place = { space, table: "attachment", key: keyOfSeq(seq) } as const
  const [sealed] = (await store.read(space, [place])).values
  return sealed && rows.read(place, AttachmentManifestSchema, sealed)
}

/** Reads the users whose keys were compared. A user with other keys since then is CHANGED. */
export async function collectComparisons(storage: Storage): Promise<BackupChunkV1_ComparedUser[]> {
  const found = await comparedPeers(storage)
  return found.map(({ userId, record }) => create(BackupChunkV1_ComparedUserSchema, { userId, record }))
}
