// Export and import of a conversation's records, inside its object.
import type { DeviceId, PrincipalId } from "@signet/kernel/ids"
import type { StoredRecord } from "@signet/kernel/messaging/moving"
import type { Conversation, WelcomeRecord } from "@signet/kernel/messaging/records"
import { type EnvelopeRow, envelopeColumns, envelopeOf } from "../conversation/log.ts"
import type { Delivery } from "../conversation/notices.ts"
import { toText } from "../plain.ts"
import type { Sql, Value } from "../sql.ts"
import type { Part } from "./pages.ts"

interface LeafRow {
  device_id: DeviceId
  from_seq: number
  to_seq: number | null
  leaf_index: number
  user_id: PrincipalId
  credential_hash: Uint8Array
  joined_epoch: number
}
interface CursorRow {
  device_id: DeviceId
  processed_seq: number
  processed_epoch: number
  seen_at: number | null
}
interface ChunkRow {
  hash: Uint8Array
  size: number
  position: number
  chunk: Uint8Array
}

const none = [""] as const
const leavesText = "select * from leaf where (device_id, from_seq) > (?, ?) order by device_id, from_seq limit ?"
const logText = `select ${envelopeColumns} from log where seq > ? order by seq limit ?`
const chunksText = `select tree_chunk.hash, size, position, chunk from tree_chunk join tree on tree.hash = tree_chunk.hash
where (tree_chunk.hash, position) > (?, ?) order by tree_chunk.hash, position limit ?`
const cursorsText = "select * from cursor where device_id > ? order by device_id limit ?"
/** Rows of up to 1.5 MB are read a few at a time. */
const largeAtOnce = 16

export function conversationParts(sql: Sql, conversation: Conversation): readonly Part[] {
  const { id: conversationId } = conversation
  const once = (record: () => StoredRecord | undefined): Part => ({
    rows: (after) => {
      const found = after === null ? record() : undefined
      return found === undefined ? [] : [{ key: [1], record: found }]
    },
  })
  return [
    once(() => ({ is: "conversation", conversation: { ...conversation, roster: [] } })),
    {
      rows: (after, limit) =>
        sql.rows<LeafRow>(leavesText, ...(after ?? ["", 0]), limit).map((row) => ({
          key: [row.device_id, row.from_seq],
          record: {
            is: "leaf",
            conversationId,
            leaf: {
              leafIndex: row.leaf_index,
              deviceId: row.device_id,
              userId: row.user_id,
              credentialHash: row.credential_hash,
              joinedEpoch: BigInt(row.joined_epoch),
            },
            fromSeq: BigInt(row.from_seq),
            toSeq: row.to_seq === null ? null : BigInt(row.to_seq),
          },
        })),
    },
    {
      rows: (after, limit) =>
        sql.rows<EnvelopeRow>(logText, ...(after ?? [0]), Math.min(limit, largeAtOnce)).map((row) => ({
          key: [row.seq],
          record: { is: "envelope", conversationId, envelope: envelopeOf(row) },
        })),
    },
    once(() => {
      const row = sql.row<{ epoch: number; info: Uint8Array }>("select epoch, info from group_info")
      return row && { is: "groupInfo", conversationId, epoch: BigInt(row.epoch), info: row.info }
    }),
    {
      rows: (after, limit) => {
        const rows = sql.rows<ChunkRow>(chunksText, ...(after ?? [new Uint8Array(), -1]), Math.min(limit, largeAtOnce))
        return rows.map(({ hash, size, position, chunk }) => ({
          key: [hash, position],
          record: { is: "treeChunk", conversationId, hash, size, index: position, chunk },
        }))
      },
    },
    {
      rows: (after, limit) =>
        sql.rows<CursorRow>(cursorsText, ...(after ?? none), limit).map((row) => ({
          key: [row.device_id],
          record: {
            is: "cursor",
            conversationId,
            deviceId: row.device_id,
            cursor: { processedSeq: BigInt(row.processed_seq), processedEpoch: BigInt(row.processed_epoch) },
            seenAtMs: row.seen_at,
          },
        })),
    },
  ]
}

export type ConversationRecord = Extract<
  StoredRecord,
  { readonly is: "conversation" | "leaf" | "envelope" | "groupInfo" | "treeChunk" | "cursor" | "welcome" }
>

/** Requires a transaction. Existing rows stay unchanged. */
export function importConversation(sql: Sql, record: ConversationRecord) {
  const put = (table: string, values: Readonly<Record<string, Value>>) => {
    const names = Object.keys(values)
    const marks = names.map(() => "?").join(", ")
    sql.run(`insert or ignore into ${table} (${names.join(", ")}) values (${marks})`, ...Object.values(values))
  }
  switch (record.is) {
    case "conversation":
      return put("head", headOf(record.conversation))
    case "leaf":
      return put("leaf", {
        device_id: record.leaf.deviceId,
        from_seq: record.fromSeq,
        to_seq: record.toSeq,
        leaf_index: record.leaf.leafIndex,
        user_id: record.leaf.userId,
        credential_hash: record.leaf.credentialHash,
        joined_epoch: record.leaf.joinedEpoch,
      })
    case "envelope": {
      const { envelope } = record
      return put("log", {
        seq: envelope.seq,
        epoch: envelope.epoch,
        kind: envelope.kind,
        message: envelope.message,
        content_hash: envelope.contentHash,
        sender_device_id: envelope.senderDeviceId,
        idempotency_key: envelope.idempotencyKey,
        accepted_at: envelope.acceptedAtMs,
        receipt: envelope.receipt,
      })
    }
    case "groupInfo":
      return put("group_info", { k: 1, epoch: record.epoch, info: record.info })
    case "treeChunk": {
      const { hash, size, index, chunk } = record
      const current = "case when exists (select 1 from head where tree_hash = ?) then null else 0 end"
      sql.run(`insert or ignore into tree (hash, size, check_at) values (?, ?, ${current})`, hash, size, hash)
      return put("tree_chunk", { hash, position: index, chunk })
    }
    case "cursor":
      return put("cursor", {
        device_id: record.deviceId,
        processed_seq: record.cursor.processedSeq,
        processed_epoch: record.cursor.processedEpoch,
        seen_at: record.seenAtMs,
      })
    case "welcome":
      putWelcome(record.welcome)
  }

  /** Stores which packages were used and which trees are needed. The welcome itself is in the device's object. */
  function putWelcome(welcome: WelcomeRecord): void {
    put("welcome_commit", {
      commit_seq: welcome.commitSeq,
      epoch: welcome.epoch,
      tree_hash: welcome.treeHash,
      receipt: welcome.receipt,
      proof: welcome.proof,
      adder_device_id: welcome.adderDeviceId,
      created_at: welcome.createdAtMs,
    })
    put("welcome", {
      id: welcome.id,
      commit_seq: welcome.commitSeq,
      device_id: welcome.deviceId,
      key_package_ref: welcome.keyPackageRef,
      status: welcome.status === "PENDING" ? "SENT" : "ENDED",
      welcome: new Uint8Array(),
      expires_at: welcome.expiresAtMs,
    })
  }
}

const headOf = (of: Conversation): Readonly<Record<string, Value>> => ({
  k: 1,
  id: of.id,
  app_id: of.appId,
  tenant_id: of.tenantId,
  mls_group_id: of.mlsGroupId,
  kind: of.kind,
  creator_user_id: of.creatorUserId,
  user_ids: JSON.stringify(of.userIds),
  max_leaves: of.maxLeaves,
  created_at: of.createdAtMs,
  revision: 1,
  status: of.status,
  epoch: of.epoch,
  first_seq: of.firstSeq,
  state_tag: of.state?.stateTag ?? null,
  receipt_hash: of.state?.receiptHash ?? null,
  group_context: of.state?.groupContext ?? null,
  interim_transcript_hash: of.state?.interimTranscriptHash ?? null,
  tree_hash: of.state?.treeHash ?? null,
  directives: toText(of.directives),
  fork_reports: toText(of.forkReports),
  // Due when the object is opened, which then computes the real time.
  prune_at: of.headSeq === 0n ? null : of.headAtMs,
})

/** The notices of an imported conversation, from which the indexes of its devices and users are built. */
export function arrivedDeliveries(conversation: Conversation, revision: number): readonly Delivery[] {
  const { id: conversationId, createdAtMs, roster, status, epoch, userIds } = conversation
  const facts = { conversationId, createdAtMs, revision }
  const isClosed = status === "CLOSED"
  const devices = roster.map(({ deviceId, userId }): Delivery => {
    const notice = { ...facts, isMember: true, isClosed, voidBeforeSeq: null }
    return { kind: "device", deviceId, userId, notice, welcomeId: null }
  })
  const members = new Set(roster.map(({ userId }) => userId))
  const asked = epoch === 0n ? userIds : []
  const users = [...new Set([...members, ...asked])].map((userId): Delivery => {
    const notice = { ...facts, isMember: members.has(userId), isAsked: epoch === 0n && asked.includes(userId) }
    return { kind: "user", userId, notice }
  })
  return [...devices, ...users]
}
