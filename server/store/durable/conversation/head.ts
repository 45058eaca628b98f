// The state of the conversation, cached in memory while its object is awake: no other process writes it.
import type { AppId, ConversationId, DeviceId, PrincipalId, TenantId } from "@signet/kernel/ids"
import type { Conversation, EpochState, Leaf } from "@signet/kernel/messaging/records"
import { fromText, toText } from "../plain.ts"
import type { Sql } from "../sql.ts"

export interface Kept {
  /** With all leaves, by index. */
  readonly conversation: Conversation
  readonly revision: number
  readonly pruneAtMs: number | null
}

export interface Head {
  /** Undefined for a conversation that was never created. */
  get(): Kept | undefined
  /** Requires the transaction that creates it. */
  insert(conversation: Conversation): Kept
  /** Writes the changing state, except log and leaves. Requires a transaction. */
  write(kept: Kept): void
  /** Updates the cache after an application message, which only the log stores. */
  grow(conversation: Conversation): void
  /** Discards the cache after a failed transaction, so that the state is read again. */
  forget(): void
}

interface HeadRow {
  id: ConversationId
  app_id: AppId
  tenant_id: TenantId | null
  mls_group_id: Uint8Array
  kind: Conversation["kind"]
  creator_user_id: PrincipalId
  user_ids: string
  max_leaves: number
  created_at: number
  revision: number
  status: Conversation["status"]
  epoch: number
  first_seq: number
  state_tag: Uint8Array | null
  receipt_hash: Uint8Array | null
  group_context: Uint8Array | null
  interim_transcript_hash: Uint8Array | null
  tree_hash: Uint8Array | null
  directives: string
  fork_reports: string
  prune_at: number | null
}

export interface LeafRow {
  leaf_index: number
  device_id: DeviceId
  user_id: PrincipalId
  credential_hash: Uint8Array
  joined_epoch: number
}

const insertText = `insert into head (k, id, app_id, tenant_id, mls_group_id, kind, creator_user_id, user_ids, max_leaves,
  created_at, revision, status, epoch, first_seq, directives, fork_reports)
values (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, 0, 1, '[]', '[]')`
const updateText = `update head set revision = ?, status = ?, epoch = ?, first_seq = ?, state_tag = ?, receipt_hash = ?,
  group_context = ?, interim_transcript_hash = ?, tree_hash = ?, directives = ?, fork_reports = ?,
  prune_at = ?, mls_group_id = ?`
const lastText = "select seq, accepted_at from log order by seq desc limit 1"
const rosterText = `select leaf_index, device_id, user_id, credential_hash, joined_epoch from leaf
where to_seq is null order by leaf_index`

export function createHead(sql: Sql): Head {
  let known: Kept | undefined
  return {
    get() {
      known ??= load(sql)
      return known
    },

    insert(conversation) {
      const { id, appId, tenantId, mlsGroupId, kind, creatorUserId, userIds, maxLeaves, createdAtMs } = conversation
      const place = [appId, tenantId, mlsGroupId, kind] as const
      const users = [creatorUserId, JSON.stringify(userIds)] as const
      sql.run(insertText, id, ...place, ...users, maxLeaves, createdAtMs, conversation.status)
      known = { conversation, revision: 1, pruneAtMs: null }
      return known
    },

    write(kept) {
      const { conversation, revision, pruneAtMs } = kept
      const { state } = conversation
      sql.run(
        updateText,
        revision,
        conversation.status,
        conversation.epoch,
        conversation.firstSeq,
        state?.stateTag ?? null,
        state?.receiptHash ?? null,
        state?.groupContext ?? null,
        state?.interimTranscriptHash ?? null,
        state?.treeHash ?? null,
        toText(conversation.directives),
        toText(conversation.forkReports),
        pruneAtMs,
        conversation.mlsGroupId,
      )
      known = kept
    },

    grow(conversation) {
      if (known !== undefined) known = { ...known, conversation }
    },

    forget() {
      known = undefined
    },
  }
}

function load(sql: Sql): Kept | undefined {
  const row = sql.row<HeadRow>("select * from head")
  if (row === undefined) return undefined
  const last = sql.row<{ seq: number; accepted_at: number }>(lastText)
  const conversation: Conversation = {
    id: row.id,
    appId: row.app_id,
    tenantId: row.tenant_id,
    mlsGroupId: row.mls_group_id,
    kind: row.kind,
    status: row.status,
    creatorUserId: row.creator_user_id,
    userIds: JSON.parse(row.user_ids),
    epoch: BigInt(row.epoch),
    headSeq: BigInt(last?.seq ?? 0),
    firstSeq: BigInt(row.first_seq),
    headAtMs: last?.accepted_at ?? 0,
    state: stateOf(row),
    roster: sql.rows<LeafRow>(rosterText).map(leafOf),
    directives: fromText(row.directives),
    forkReports: fromText(row.fork_reports),
    maxLeaves: row.max_leaves,
    createdAtMs: row.created_at,
  }
  return { conversation, revision: row.revision, pruneAtMs: row.prune_at }
}

export const leafOf = (row: LeafRow): Leaf => ({
  leafIndex: row.leaf_index,
  deviceId: row.device_id,
  userId: row.user_id,
  credentialHash: row.credential_hash,
  joinedEpoch: BigInt(row.joined_epoch),
})

function stateOf(row: HeadRow): EpochState | null {
  const { state_tag, receipt_hash, group_context, interim_transcript_hash } = row
  if (state_tag === null || receipt_hash === null || group_context === null || interim_transcript_hash === null) {
    return null
  }
  return {
    stateTag: state_tag,
    receiptHash: receipt_hash,
    groupContext: group_context,
    interimTranscriptHash: interim_transcript_hash,
    treeHash: row.tree_hash,
  }
}
