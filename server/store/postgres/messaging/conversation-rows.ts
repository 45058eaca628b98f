import type { AppId, ConversationId, DeviceId, PrincipalId, TenantId } from "@signet/kernel/ids"
import { hex } from "@signet/kernel/messaging/bytes"
import { lifetimeMs } from "@signet/kernel/messaging/limits"
import type { Conversation, Directive, EpochState, ForkReport, Leaf } from "@signet/kernel/messaging/records"
import { at, bytes, bytesOrNull } from "../sql.ts"
import { tenantOf } from "./access.ts"

const columns = [
  "id",
  "app_id",
  "tenant_id",
  "mls_group_id",
  "kind",
  "status",
  "creator_user_id",
  "user_ids",
  "epoch",
  "head_seq",
  "first_seq",
  "head_at",
  "state_tag",
  "receipt_hash",
  "group_context",
  "interim_transcript_hash",
  "tree_hash",
  "directives",
  "fork_reports",
  "max_leaves",
  "created_at",
] as const

export interface ConversationRow {
  id: ConversationId
  app_id: AppId
  tenant_id: TenantId | ""
  mls_group_id: Uint8Array
  kind: Conversation["kind"]
  status: Conversation["status"]
  creator_user_id: PrincipalId
  user_ids: PrincipalId[]
  epoch: number
  head_seq: number
  first_seq: number
  head_at: Date
  state_tag: Uint8Array | null
  receipt_hash: Uint8Array | null
  group_context: Uint8Array | null
  interim_transcript_hash: Uint8Array | null
  tree_hash: Uint8Array | null
  directives: Directive[]
  fork_reports: ReportJson[]
  max_leaves: number
  created_at: Date
}

/** [index, device, user, credential hash in hexadecimal, epoch] */
type LeafJson = readonly [number, DeviceId, PrincipalId, string, number]

/** The columns of the table `conversation` under this name. */
export const conversationColumns = (name = "conversation"): string =>
  columns.map((column) => `${name}.${column}`).join(", ")

const leafJson = `json_build_array(
  leaf.leaf_index, leaf.device_id, leaf.user_id, encode(leaf.credential_hash, 'hex'), leaf.joined_epoch)`

/** The leaves of a conversation, by index, in the statement of its row: both are from one snapshot. */
export const rosterColumn = `(select json_agg(${leafJson} order by leaf.leaf_index)
  from conversation_leaf leaf where leaf.conversation_id = conversation.id and leaf.to_seq is null) as roster`

/** As `rosterColumn`, but null if the receipt's hash equals the known one. */
export const rosterUnless = (receiptHash: string): string =>
  `case when conversation.receipt_hash = ${receiptHash}::bytea then null else ${rosterColumn.replace(/ as roster$/, "")} end as roster`

/** The leaf of one device. */
export const ownLeafColumn = (device: string): string => `(select json_agg(${leafJson})
  from conversation_leaf leaf
  where leaf.conversation_id = conversation.id and leaf.device_id = ${device} and leaf.to_seq is null) as roster`

export interface WithRoster {
  roster: readonly LeafJson[] | null
}

/** @param roster The known roster, for a row without one. */
export const conversationOf = (
  row: ConversationRow & WithRoster,
  roster: readonly Leaf[] = (row.roster ?? []).map(leafOf),
): Conversation => ({
  id: row.id,
  appId: row.app_id,
  tenantId: tenantOf(row.tenant_id),
  mlsGroupId: bytes(row.mls_group_id),
  kind: row.kind,
  status: row.status,
  creatorUserId: row.creator_user_id,
  userIds: row.user_ids,
  epoch: BigInt(row.epoch),
  headSeq: BigInt(row.head_seq),
  firstSeq: BigInt(row.first_seq),
  headAtMs: row.head_at.getTime(),
  state: stateOf(row),
  roster,
  directives: row.directives,
  forkReports: row.fork_reports.map(reportOf),
  maxLeaves: row.max_leaves,
  createdAtMs: row.created_at.getTime(),
})

function stateOf(row: ConversationRow): EpochState | null {
  const { state_tag, receipt_hash, group_context, interim_transcript_hash } = row
  if (state_tag === null || receipt_hash === null || group_context === null || interim_transcript_hash === null) {
    return null
  }
  return {
    stateTag: bytes(state_tag),
    receiptHash: bytes(receipt_hash),
    groupContext: bytes(group_context),
    interimTranscriptHash: bytes(interim_transcript_hash),
    treeHash: bytesOrNull(row.tree_hash),
  }
}

const fromHex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "hex"))

const leafOf = ([leafIndex, deviceId, userId, credentialHash, joinedEpoch]: LeafJson): Leaf => ({
  leafIndex,
  deviceId,
  userId,
  credentialHash: fromHex(credentialHash),
  joinedEpoch: BigInt(joinedEpoch),
})

interface ReportJson extends Omit<ForkReport, "epoch" | "seq" | "stateTag"> {
  readonly epoch: string
  readonly seq: string
  readonly stateTag: string | null
}

const reportOf = (json: ReportJson): ForkReport => ({
  ...json,
  epoch: BigInt(json.epoch),
  seq: BigInt(json.seq),
  stateTag: json.stateTag === null ? null : fromHex(json.stateTag),
})

export const reportJson = (report: ForkReport): ReportJson => ({
  ...report,
  epoch: String(report.epoch),
  seq: String(report.seq),
  stateTag: report.stateTag === null ? null : hex(report.stateTag),
})

/**
 * Condition for the conversations of the device `$1` of the user `$2` at the place `$3`, `$4`, as `list` returns them.
 */
export const ofDevice = `conversation.id in (
    select conversation_id from conversation_leaf where device_id = $1 and to_seq is null
    union select conversation_id from conversation_asked where user_id = $2)
  and app_id = $3 and tenant_id = $4`

/** As `ofDevice`, for the active conversations in which the user has a leaf and the device has none. */
export const notOfDevice = `conversation.id in (
    select conversation_id from conversation_leaf where user_id = $2 and to_seq is null
    except select conversation_id from conversation_leaf where device_id = $1 and to_seq is null)
  and status = 'ACTIVE' and app_id = $3 and tenant_id = $4`

/** The changing values of a conversation after its id: `$1` to `$13` of `updateText` and `changedColumns`. */
export const changedValues = (conversation: Conversation): readonly unknown[] => [
  conversation.id,
  conversation.status,
  conversation.epoch,
  conversation.headSeq,
  at(conversation.headAtMs),
  conversation.state?.stateTag ?? null,
  conversation.state?.receiptHash ?? null,
  conversation.state?.groupContext ?? null,
  conversation.state?.interimTranscriptHash ?? null,
  conversation.state?.treeHash ?? null,
  JSON.stringify(conversation.directives),
  JSON.stringify(conversation.forkReports.map(reportJson)),
  conversation.mlsGroupId,
]

export const changedColumns = `status = $2, epoch = $3, head_seq = $4, head_at = $5, state_tag = $6, receipt_hash = $7,
  group_context = $8, interim_transcript_hash = $9, tree_hash = $10, directives = $11, fork_reports = $12,
  mls_group_id = $13`

export const updateText = `update conversation set ${changedColumns} where id = $1`

/** SQL of the time at which the log is pruned next, when an envelope is appended at `time`. */
export const pruneAt = (time: string): string =>
  `coalesce(prune_at, ${time} + interval '${lifetimeMs.log} milliseconds')`

/** The columns of a new conversation. */
export const insertColumns = [
  "id",
  "app_id",
  "tenant_id",
  "mls_group_id",
  "kind",
  "status",
  "creator_user_id",
  "user_ids",
  "epoch",
  "head_seq",
  "first_seq",
  "head_at",
  "directives",
  "fork_reports",
  "max_leaves",
  "created_at",
] as const

export const insertValues = (conversation: Conversation): readonly unknown[] => [
  conversation.id,
  conversation.appId,
  conversation.tenantId ?? "",
  conversation.mlsGroupId,
  conversation.kind,
  conversation.status,
  conversation.creatorUserId,
  conversation.userIds,
  conversation.epoch,
  conversation.headSeq,
  conversation.firstSeq,
  at(conversation.headAtMs),
  "[]",
  "[]",
  conversation.maxLeaves,
  at(conversation.createdAtMs),
]
