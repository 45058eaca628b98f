// The kinds of records of a place, in the order in which they can be imported.
import type { ClaimId, ConversationId, DeviceId, PrincipalId } from "@signet/kernel/ids"
import { bytes, msOrNull } from "../../sql.ts"
import { type AttachmentRow, attachmentColumns, attachmentOf } from "../attachments.ts"
import { type BlockListRow, blockListOf } from "../blocks.ts"
import { type ConversationRow, conversationColumns, conversationOf } from "../conversation-rows.ts"
import { type DeviceRow, deviceColumns, deviceOf, type ListRow, listOf } from "../device-rows.ts"
import { type KeyPackageRow, keyPackageColumns, keyPackageOf } from "../key-package-rows.ts"
import { type EnvelopeRow, envelopeColumns, envelopeOf } from "../log.ts"
import { type WelcomeRow, welcomeColumns, welcomeJoins, welcomeOf } from "../welcomes.ts"
import { type BackupRow, backupOf, backupsFrom, isBackup } from "./backups.ts"
import { type KeyColumn, type Section, section } from "./page.ts"

const named = (name: string, columns: readonly string[]) => columns.map((column) => `${name}.${column}`).join(", ")
const atPlace = (name: string) => `${name}.app_id = $1 and ${name}.tenant_id = $2`
const key = (name: string, of: string, type: KeyColumn["type"] = "text"): KeyColumn => ({ name, of, type })
const ofDevice = key("k_device", "device.id")
const ofConversation = key("k_conversation", "conversation.id")
const withDevice = (table: string, column = "device_id") =>
  `from ${table} join messaging_device device on device.id = ${table}.${column} where ${atPlace("device")}`
const inConversation = (table: string) =>
  `from conversation join ${table} on ${table}.conversation_id = conversation.id where ${atPlace("conversation")}`
const buffersOf = (all: readonly Uint8Array[]): readonly Uint8Array[] => all.map(bytes)

const device = section<DeviceRow & { leaf_keys: Uint8Array[]; is_revocation_due: boolean }>({
  columns: `${named("device", deviceColumns)}, array(
    select leaf_key from messaging_device_key of_device where of_device.device_id = device.id order by leaf_key) as leaf_keys,
    exists (select 1 from revocation_effect due where due.device_id = device.id) as is_revocation_due`,
  from: `from messaging_device device where ${atPlace("device")}`,
  key: [ofDevice],
  size: "512 + octet_length(credential)",
  recordOf: (row) => ({
    is: "device",
    device: deviceOf(row),
    leafKeys: buffersOf(row.leaf_keys),
    isRevocationDue: row.is_revocation_due,
  }),
})

const deviceList = section<ListRow & { user_id: PrincipalId }>({
  columns: "list.user_id, list.version, list.signed, list.hash",
  from: `from device_list list where ${atPlace("list")}`,
  key: [key("k_user", "list.user_id"), key("k_version", "list.version", "bigint")],
  size: "octet_length(list.signed)",
  recordOf: (row) => ({ is: "deviceList", userId: row.user_id, list: listOf(row) }),
})

const blockList = section<BlockListRow & { user_id: PrincipalId }>({
  columns: "list.user_id, list.version, list.blocked_user_ids",
  from: `from block_list list where ${atPlace("list")}`,
  key: [key("k_user", "list.user_id")],
  size: "32 * cardinality(list.blocked_user_ids)",
  recordOf: (row) => ({ is: "blockList", userId: row.user_id, list: blockListOf(row) }),
})

const proofNonce = section<{ device_id: DeviceId; nonce: Uint8Array; expires_at: Date }>({
  columns: "proof_nonce.device_id, proof_nonce.nonce, proof_nonce.expires_at",
  from: withDevice("proof_nonce"),
  key: [ofDevice, key("k_nonce", "proof_nonce.nonce", "bytea")],
  size: "0",
  recordOf: (row) => ({
    is: "proofNonce",
    deviceId: row.device_id,
    nonce: bytes(row.nonce),
    expiresAtMs: row.expires_at.getTime(),
  }),
})

const keyPackage = section<KeyPackageRow>({
  columns: named("key_package", keyPackageColumns),
  from: withDevice("key_package"),
  key: [ofDevice, key("k_ref", "key_package.ref", "bytea")],
  size: "128 + octet_length(package)",
  recordOf: (row) => ({ is: "keyPackage", keyPackage: keyPackageOf(row) }),
})

const initKey = section<{ device_id: DeviceId; init_key: Uint8Array; package_hash: Uint8Array }>({
  columns: "key_package_init_key.device_id, key_package_init_key.init_key, key_package_init_key.package_hash",
  from: withDevice("key_package_init_key"),
  key: [ofDevice, key("k_init", "key_package_init_key.init_key", "bytea")],
  size: "0",
  recordOf: (row) => ({
    is: "initKey",
    deviceId: row.device_id,
    initKey: bytes(row.init_key),
    packageHash: bytes(row.package_hash),
  }),
})

const conversation = section<ConversationRow>({
  columns: conversationColumns(),
  from: `from conversation where ${atPlace("conversation")}`,
  key: [ofConversation],
  size: `1024 + coalesce(octet_length(group_context), 0) + octet_length(directives::text)
    + octet_length(fork_reports::text)`,
  recordOf: (row) => ({ is: "conversation", conversation: conversationOf({ ...row, roster: null }) }),
})

interface GroupKeyRow {
  id: ConversationId
  creator_device_id: DeviceId
  creator_key: Uint8Array
  request_hash: Uint8Array
}
const groupKey = section<GroupKeyRow>({
  columns: "conversation.id, creator_device_id, creator_key, request_hash",
  from: `from conversation where ${atPlace("conversation")} and kind = 'GROUP'`,
  key: [ofConversation],
  size: "64",
  recordOf: (row) => ({
    is: "groupKey",
    deviceId: row.creator_device_id,
    key: bytes(row.creator_key),
    requestHash: bytes(row.request_hash),
    conversationId: row.id,
  }),
})

interface LeafRow {
  conversation_id: ConversationId
  device_id: DeviceId
  from_seq: number
  to_seq: number | null
  leaf_index: number
  user_id: PrincipalId
  credential_hash: Uint8Array
  joined_epoch: number
}
const leaf = section<LeafRow>({
  columns: "leaf.*",
  from: `from conversation join conversation_leaf leaf on leaf.conversation_id = conversation.id
    where ${atPlace("conversation")}`,
  key: [ofConversation, key("k_device", "leaf.device_id"), key("k_from", "leaf.from_seq", "bigint")],
  size: "128",
  recordOf: (row) => ({
    is: "leaf",
    conversationId: row.conversation_id,
    leaf: {
      leafIndex: row.leaf_index,
      deviceId: row.device_id,
      userId: row.user_id,
      credentialHash: bytes(row.credential_hash),
      joinedEpoch: BigInt(row.joined_epoch),
    },
    fromSeq: BigInt(row.from_seq),
    toSeq: row.to_seq === null ? null : BigInt(row.to_seq),
  }),
})

const envelope = section<EnvelopeRow & { conversation_id: ConversationId }>({
  columns: `log.conversation_id, ${envelopeColumns}`,
  from: `from conversation join conversation_log log on log.conversation_id = conversation.id
    where ${atPlace("conversation")}`,
  key: [ofConversation, key("k_seq", "log.seq", "bigint")],
  size: "octet_length(log.message) + coalesce(octet_length(log.receipt), 0)",
  recordOf: (row) => ({ is: "envelope", conversationId: row.conversation_id, envelope: envelopeOf(row) }),
})

const groupInfo = section<{ conversation_id: ConversationId; epoch: number; info: Uint8Array }>({
  columns: "group_info.conversation_id, group_info.epoch, group_info.info",
  from: inConversation("group_info"),
  key: [ofConversation],
  size: "octet_length(info)",
  recordOf: (row) => ({
    is: "groupInfo",
    conversationId: row.conversation_id,
    epoch: BigInt(row.epoch),
    info: bytes(row.info),
  }),
})

interface ChunkRow {
  conversation_id: ConversationId
  hash: Uint8Array
  size: number
  index: number
  chunk: Uint8Array
}
const treeChunk = section<ChunkRow>({
  columns: "tree.conversation_id, tree.hash, tree.size, tree_chunk.index, tree_chunk.chunk",
  from: `from conversation join tree on tree.conversation_id = conversation.id
    join tree_chunk on tree_chunk.conversation_id = tree.conversation_id and tree_chunk.hash = tree.hash
    where ${atPlace("conversation")}`,
  key: [ofConversation, key("k_hash", "tree.hash", "bytea"), key("k_index", "tree_chunk.index", "bigint")],
  size: "octet_length(chunk)",
  recordOf: (row) => ({
    is: "treeChunk",
    conversationId: row.conversation_id,
    hash: bytes(row.hash),
    size: row.size,
    index: row.index,
    chunk: bytes(row.chunk),
  }),
})

interface CursorRow {
  conversation_id: ConversationId
  device_id: DeviceId
  processed_seq: number
  processed_epoch: number
  seen_at: Date | null
}
const cursor = section<CursorRow>({
  columns: "device_cursor.*",
  from: inConversation("device_cursor"),
  key: [ofConversation, key("k_device", "device_cursor.device_id")],
  size: "0",
  recordOf: (row) => ({
    is: "cursor",
    conversationId: row.conversation_id,
    deviceId: row.device_id,
    cursor: { processedSeq: BigInt(row.processed_seq), processedEpoch: BigInt(row.processed_epoch) },
    seenAtMs: msOrNull(row.seen_at),
  }),
})

const welcome = section<WelcomeRow>({
  columns: welcomeColumns,
  from: `from welcome ${welcomeJoins} where ${atPlace("conversation")}`,
  key: [ofConversation, key("k_welcome", "welcome.id")],
  size: "octet_length(head) + octet_length(tail) + octet_length(receipt) + octet_length(proof)",
  recordOf: (row) => ({ is: "welcome", welcome: welcomeOf(row) }),
})

interface ClaimRow {
  id: ClaimId
  requester_device_id: DeviceId
  conversation_id: ConversationId
  request_hash: Uint8Array
  refs: Uint8Array[]
  owners: DeviceId[]
  without_device_ids: DeviceId[]
  claimed_at: Date
}
const given = (
  column: string,
) => `select ${column} from claim_package join key_package on key_package.ref = claim_package.ref
  where claim_package.requester_device_id = claim.requester_device_id and claim_package.claim_id = claim.id order by key_package.device_id collate "C"`
const claim = section<ClaimRow>({
  columns: `claim.*, array(${given("key_package.ref")}) as refs, array(${given("key_package.device_id")}) as owners`,
  from: withDevice("claim", "requester_device_id"),
  key: [ofDevice, key("k_claim", "claim.id")],
  size: "32 * cardinality(without_device_ids)",
  recordOf: (row) => ({
    is: "claim",
    claim: {
      id: row.id,
      requesterDeviceId: row.requester_device_id,
      conversationId: row.conversation_id,
      requestHash: bytes(row.request_hash),
      withoutDeviceIds: row.without_device_ids,
      claimedAtMs: row.claimed_at.getTime(),
    },
    packages: row.owners.flatMap((deviceId, i) => {
      const ref = row.refs[i]
      return ref === undefined ? [] : [{ deviceId, ref: bytes(ref) }]
    }),
  }),
})

const attachment = section<AttachmentRow>({
  columns: named("attachment", attachmentColumns),
  from: inConversation("attachment"),
  key: [ofConversation, key("k_attachment", "attachment.id")],
  size: "512",
  recordOf: (row) => ({ is: "attachment", attachment: attachmentOf(row) }),
})

const backup = section<BackupRow>({
  columns: "list.user_id, archive",
  from: `from ${backupsFrom} where ${atPlace("list")} and ${isBackup}`,
  key: [key("k_user", "list.user_id")],
  size: "octet_length(archive::text)",
  recordOf: (row) => ({ is: "backup", ...backupOf(row) }),
})

/** The order of the export and of the import. */
export const sections: readonly Section[] = [
  device,
  deviceList,
  blockList,
  proofNonce,
  keyPackage,
  initKey,
  conversation,
  groupKey,
  leaf,
  envelope,
  groupInfo,
  treeChunk,
  cursor,
  welcome,
  claim,
  attachment,
  backup,
]
