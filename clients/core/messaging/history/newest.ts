// The contents of a transfer, newest first, one chunk at a time from a position that is stored.
import type { MessageInitShape } from "@bufbuild/protobuf"
import type { BackupChunkV1_Entry, BackupChunkV1Schema } from "@signet/proto/client/v1/backup"
import type {
  HistoryPlanRecord,
  HistoryTransferRecord_Position as Position,
  HistoryTransferRecord_PositionSchema as PositionSchema,
} from "@signet/proto/client/v1/history"
import { TimelineRecordSchema } from "@signet/proto/client/v1/records"
import { collectComparisons, collectConversations, entryAt } from "../backup/collect.ts"
import { fullBytes, mostEntries, mostUsers } from "../backup/export.ts"
import { rosterOf } from "../checks/roster.ts"
import type { Context } from "../context.ts"
import type { Storage } from "../deps.ts"
import { keyOfSeq } from "../state/timeline.ts"
import type { Space } from "../store/store.ts"

export type Content = NonNullable<MessageInitShape<typeof BackupChunkV1Schema>["content"]>
type NextPosition = MessageInitShape<typeof PositionSchema>

/**
 * Orders the conversations: first those whose entries after this position the new device reads itself, then by the time
 * of the newest entry.
 */
export async function planHistory(
  context: Context,
  newDeviceId: string,
): Promise<Pick<HistoryPlanRecord, "conversations">> {
  const found = await collectConversations(context)
  const ordered: { isMember: boolean; atMs: bigint; planned: HistoryPlanRecord["conversations"][number] }[] = []
  for (const { conversation, entries, lastKey } of found) {
    const { conversationId } = conversation
    const { local } = await context.conversation(conversationId).stored()
    ordered.push({
      isMember: local !== undefined && rosterOf(local.group).has(newDeviceId),
      atMs: await timeAt(context, conversationId, lastKey),
      planned: {
        $typeName: "signet.client.v1.HistoryPlanRecord.Planned",
        ...{ conversation, lastKey, entries: BigInt(entries) },
      },
    })
  }
  ordered.sort((a, b) => Number(b.isMember) - Number(a.isMember) || Number(b.atMs - a.atMs))
  return { conversations: ordered.map(({ planned }) => planned) }
}

async function timeAt({ store, rows }: Storage, space: Space, key: string): Promise<bigint> {
  const place = { space, table: "timeline", key } as const
  const [sealed] = key === "" ? [] : (await store.read(space, [place])).values
  return sealed === undefined ? 0n : (await rows.read(place, TimelineRecordSchema, sealed)).atMs
}

/** Reads the chunk at a position. @returns Its content, and the position after it. */
export async function contentAt(
  context: Context,
  { conversations }: Pick<HistoryPlanRecord, "conversations">,
  { at, beforeKey }: Pick<Position, "at" | "beforeKey">,
): Promise<{ content: Content; next: NextPosition }> {
  if (at === 0) {
    const users = await collectComparisons(context)
    const summary = {
      createdAtMs: BigInt(context.clock.nowMs()),
      conversations: BigInt(conversations.length),
      entries: conversations.reduce((sum, { entries }) => sum + entries, 0n),
      comparedUsers: BigInt(users.length),
    }
    return { content: { case: "summary", value: summary }, next: { at: 1 } }
  }
  const planned = conversations[at - 1]
  if (planned?.conversation !== undefined) {
    const { conversation, lastKey } = planned
    // "~" sorts after every key with this beginning.
    const before = beforeKey || (lastKey === "" ? "" : `${lastKey}~`)
    const found = before === "" ? [] : await newestBefore(context, conversation.conversationId, before)
    const [oldest] = found
    // A conversation without entries is sent, too: it is in the list of conversations.
    if (oldest === undefined && beforeKey !== "")
      return contentAt(context, { conversations }, { at: at + 1, beforeKey: "" })
    const next = oldest === undefined ? { at: at + 1 } : { at, beforeKey: oldest.key }
    return { content: { case: "history", value: { conversation, entries: found.map(({ entry }) => entry) } }, next }
  }
  const from = (at - 1 - conversations.length) * mostUsers
  const users = (await collectComparisons(context)).slice(from, from + mostUsers)
  if (users.length === 0) return { content: { case: "end", value: {} }, next: { at, isDone: true } }
  return { content: { case: "comparisons", value: { users } }, next: { at: at + 1 } }
}

interface Found {
  readonly key: string
  readonly entry: BackupChunkV1_Entry
}

/** Sequence numbers in one read, at first; one has up to four rows. */
const firstWidth = 16n
const mostRows = 64

/** The newest entries before a key, ascending: as many as a chunk has. Empty at the start of the timeline. */
async function newestBefore(storage: Storage, space: Space, before: string): Promise<Found[]> {
  const found: Found[] = []
  let bytes = 0
  let width = firstWidth
  for (let end = before; ; ) {
    const seq = BigInt(end.slice(0, keyOfSeq(0n).length))
    const low = seq > width ? seq - width : 0n
    const page = await storage.store.list(space, "timeline", { after: keyOfSeq(low), limit: mostRows })
    const rows = page.filter(({ key }) => key < end)
    // More rows than a page has: the newest ones are beyond it.
    if (rows.length === mostRows && width > 1n) {
      width /= 2n
      continue
    }
    for (const row of rows.toReversed()) {
      const { entry, size } = await entryAt(storage, space, row)
      bytes += size
      if (found.length > 0 && bytes > fullBytes) return found.toReversed()
      found.push({ key: row.key, entry })
      if (found.length === mostEntries) return found.toReversed()
    }
    if (low === 0n) return found.toReversed()
    // A reset leaves out many sequence numbers.
    width = rows.length === 0 ? width * 2n : firstWidth
    // The row of this sequence number itself is the next one: "!" sorts before the suffixes.
    end = `${keyOfSeq(low)}!`
  }
}
