// Maps imported records to rows.
import type { Place } from "@signet/kernel/messaging/records"
import { at, atOrNull } from "../../sql.ts"
import { attachmentColumns } from "../attachments.ts"
import { reportJson } from "../conversation-rows.ts"
import { directKeyOf } from "../create.ts"
import { deviceColumns, deviceValues } from "../device-rows.ts"
import { type Column, inserting, type RecordOf } from "./insert.ts"

/** A device, list or conversation is inserted at the imported place, whatever its record says. */
interface Placed<Row> {
  readonly place: Place
  readonly record: Row
}

const text = <Row>(name: string, of: (row: Row) => string | null): Column<Row> => ({ name, type: "text", of })
const bytea = <Row>(name: string, of: (row: Row) => Uint8Array | null): Column<Row> => ({ name, type: "bytea", of })
const number = <Row>(name: string, of: (row: Row) => bigint | null): Column<Row> => ({ name, type: "bigint", of })
const integer = <Row>(name: string, of: (row: Row) => number): Column<Row> => ({ name, type: "integer", of })
const time = <Row>(name: string, of: (row: Row) => number | null): Column<Row> => ({
  name,
  type: "timestamptz",
  of: (row) => atOrNull(of(row)),
})
const appId = <Row>() => text<Placed<Row>>("app_id", ({ place }) => place.appId)
const tenantId = <Row>() => text<Placed<Row>>("tenant_id", ({ place }) => place.tenantId ?? "")

type DeviceRecord = Placed<RecordOf<"device">>
const typeOfDevice = (name: string): Column<DeviceRecord>["type"] => {
  if (name.endsWith("_at")) return "timestamptz"
  return /key|credential/.test(name) ? "bytea" : "text"
}
const device = inserting<DeviceRecord>(
  "messaging_device",
  deviceColumns.map((name, i) => ({
    name,
    type: typeOfDevice(name),
    of: ({ place, record }) => deviceValues({ ...record.device, ...place })[i],
  })),
)
const leafKeys = inserting<{ leafKey: Uint8Array; deviceId: string }>("messaging_device_key", [
  bytea("leaf_key", ({ leafKey }) => leafKey),
  text("device_id", ({ deviceId }) => deviceId),
])
const effects = inserting<RecordOf<"device">["device"]>("revocation_effect", [
  text("device_id", ({ id }) => id),
  text("user_id", ({ userId }) => userId),
  time("revoked_at", ({ revokedAtMs, changedAtMs }) => revokedAtMs ?? changedAtMs),
])

type ListRecord = Placed<RecordOf<"deviceList">>
const deviceList = inserting<ListRecord>("device_list", [
  text("user_id", ({ record }) => record.userId),
  appId(),
  tenantId(),
  number("version", ({ record }) => record.list.version),
  bytea("signed", ({ record }) => record.list.bytes),
  bytea("hash", ({ record }) => record.list.hash),
])

type BlockListRecord = Placed<RecordOf<"blockList">>
const blockList = inserting<BlockListRecord>("block_list", [
  text("user_id", ({ record }) => record.userId),
  appId(),
  tenantId(),
  number("version", ({ record }) => record.list.version),
  { name: "blocked_user_ids", type: "texts", of: ({ record }) => record.list.userIds },
])

const proofNonce = inserting<RecordOf<"proofNonce">>("proof_nonce", [
  text("device_id", ({ deviceId }) => deviceId),
  bytea("nonce", ({ nonce }) => nonce),
  time("expires_at", ({ expiresAtMs }) => expiresAtMs),
])

const keyPackage = inserting<RecordOf<"keyPackage">["keyPackage"]>("key_package", [
  bytea("ref", ({ ref }) => ref),
  bytea("init_key", ({ initKey }) => initKey),
  text("device_id", ({ deviceId }) => deviceId),
  text("user_id", ({ userId }) => userId),
  bytea("credential_hash", ({ credentialHash }) => credentialHash),
  bytea("package", ({ bytes }) => bytes),
  { name: "is_last_resort", type: "boolean", of: ({ isLastResort }) => isLastResort },
  time("not_before", ({ notBeforeMs }) => notBeforeMs),
  time("not_after", ({ notAfterMs }) => notAfterMs),
  text("status", ({ status }) => status),
])

const initKey = inserting<RecordOf<"initKey">>("key_package_init_key", [
  bytea("init_key", ({ initKey }) => initKey),
  text("device_id", ({ deviceId }) => deviceId),
  bytea("package_hash", ({ packageHash }) => packageHash),
])

type ConversationRecord = Placed<RecordOf<"conversation">>
const conversation = inserting<ConversationRecord>("conversation", [
  text("id", ({ record }) => record.conversation.id),
  appId(),
  tenantId(),
  bytea("mls_group_id", ({ record }) => record.conversation.mlsGroupId),
  text("kind", ({ record }) => record.conversation.kind),
  text("status", ({ record }) => record.conversation.status),
  text("creator_user_id", ({ record }) => record.conversation.creatorUserId),
  { name: "user_ids", type: "texts", of: ({ record }) => record.conversation.userIds },
  text("direct_key", ({ place, record }) => directKeyOf({ ...record.conversation, ...place })),
  // Only a group has a creator's key. A direct conversation is found by its users.
  text("creator_device_id", () => ""),
  bytea("creator_key", ({ record }) => record.conversation.mlsGroupId),
  bytea("request_hash", () => new Uint8Array()),
  number("epoch", ({ record }) => record.conversation.epoch),
  number("head_seq", ({ record }) => record.conversation.headSeq),
  number("first_seq", ({ record }) => record.conversation.firstSeq),
  time("head_at", ({ record }) => record.conversation.headAtMs),
  bytea("state_tag", ({ record }) => record.conversation.state?.stateTag ?? null),
  bytea("receipt_hash", ({ record }) => record.conversation.state?.receiptHash ?? null),
  bytea("group_context", ({ record }) => record.conversation.state?.groupContext ?? null),
  bytea("interim_transcript_hash", ({ record }) => record.conversation.state?.interimTranscriptHash ?? null),
  bytea("tree_hash", ({ record }) => record.conversation.state?.treeHash ?? null),
  { name: "directives", type: "jsonb", of: ({ record }) => record.conversation.directives },
  { name: "fork_reports", type: "jsonb", of: ({ record }) => record.conversation.forkReports.map(reportJson) },
  integer("max_leaves", ({ record }) => record.conversation.maxLeaves),
  // Checked soon: the sweep then computes when pruning is due.
  time("prune_at", ({ record: { conversation: one } }) => (one.headSeq === 0n ? null : one.headAtMs)),
  time("created_at", ({ record }) => record.conversation.createdAtMs),
])
const asked = inserting<{ conversationId: string; userId: string }>("conversation_asked", [
  text("conversation_id", ({ conversationId }) => conversationId),
  text("user_id", ({ userId }) => userId),
])

const leaf = inserting<RecordOf<"leaf">>("conversation_leaf", [
  text("conversation_id", ({ conversationId }) => conversationId),
  text("device_id", (one) => one.leaf.deviceId),
  number("from_seq", ({ fromSeq }) => fromSeq),
  number("to_seq", ({ toSeq }) => toSeq),
  integer("leaf_index", (one) => one.leaf.leafIndex),
  text("user_id", (one) => one.leaf.userId),
  bytea("credential_hash", (one) => one.leaf.credentialHash),
  number("joined_epoch", (one) => one.leaf.joinedEpoch),
])

const envelope = inserting<RecordOf<"envelope">>("conversation_log", [
  text("conversation_id", ({ conversationId }) => conversationId),
  number("seq", (one) => one.envelope.seq),
  number("epoch", (one) => one.envelope.epoch),
  text("kind", (one) => one.envelope.kind),
  bytea("message", (one) => one.envelope.message),
  bytea("content_hash", (one) => one.envelope.contentHash),
  text("sender_device_id", (one) => one.envelope.senderDeviceId),
  bytea("idempotency_key", (one) => one.envelope.idempotencyKey),
  time("accepted_at", (one) => one.envelope.acceptedAtMs),
  bytea("receipt", (one) => one.envelope.receipt),
])

const groupInfo = inserting<RecordOf<"groupInfo">>("group_info", [
  text("conversation_id", ({ conversationId }) => conversationId),
  number("epoch", ({ epoch }) => epoch),
  bytea("info", ({ info }) => info),
])

const treeChunk = inserting<RecordOf<"treeChunk">>("tree_chunk", [
  text("conversation_id", ({ conversationId }) => conversationId),
  bytea("hash", ({ hash }) => hash),
  integer("index", ({ index }) => index),
  bytea("chunk", ({ chunk }) => chunk),
])
// The sweep soon checks whether a welcome still needs the tree. The epoch's tree is set after all trees are inserted.
const tree = inserting<RecordOf<"treeChunk">>("tree", [
  text("conversation_id", ({ conversationId }) => conversationId),
  bytea("hash", ({ hash }) => hash),
  integer("size", ({ size }) => size),
  { name: "check_at", type: "timestamptz", of: () => at(0) },
])

const cursor = inserting<RecordOf<"cursor">>("device_cursor", [
  text("conversation_id", ({ conversationId }) => conversationId),
  text("device_id", ({ deviceId }) => deviceId),
  number("processed_seq", (one) => one.cursor.processedSeq),
  number("processed_epoch", (one) => one.cursor.processedEpoch),
  time("seen_at", ({ seenAtMs }) => seenAtMs),
])

type WelcomeOf = RecordOf<"welcome">["welcome"]
// Each welcome has its whole bytes, so the shared tail of its commit is empty.
const welcomeCommit = inserting<WelcomeOf>("welcome_commit", [
  text("conversation_id", ({ conversationId }) => conversationId),
  number("commit_seq", ({ commitSeq }) => commitSeq),
  number("epoch", ({ epoch }) => epoch),
  bytea("tail", () => new Uint8Array()),
  bytea("tree_hash", ({ treeHash }) => treeHash),
  bytea("receipt", ({ receipt }) => receipt),
  bytea("proof", ({ proof }) => proof),
  text("adder_device_id", ({ adderDeviceId }) => adderDeviceId),
])
const welcome = inserting<WelcomeOf>("welcome", [
  text("id", ({ id }) => id),
  text("device_id", ({ deviceId }) => deviceId),
  text("conversation_id", ({ conversationId }) => conversationId),
  number("commit_seq", ({ commitSeq }) => commitSeq),
  bytea("key_package_ref", ({ keyPackageRef }) => keyPackageRef),
  bytea("head", (one) => one.welcome),
  text("status", ({ status }) => status),
  bytea("consumed_with_key", ({ consumedWithKey }) => consumedWithKey),
  time("created_at", ({ createdAtMs }) => createdAtMs),
  time("expires_at", ({ expiresAtMs }) => expiresAtMs),
])

const claim = inserting<RecordOf<"claim">["claim"]>("claim", [
  text("id", ({ id }) => id),
  text("requester_device_id", ({ requesterDeviceId }) => requesterDeviceId),
  text("conversation_id", ({ conversationId }) => conversationId),
  bytea("request_hash", ({ requestHash }) => requestHash),
  { name: "without_device_ids", type: "texts", of: ({ withoutDeviceIds }) => withoutDeviceIds },
  time("claimed_at", ({ claimedAtMs }) => claimedAtMs),
])
const claimPackage = inserting<{ requesterDeviceId: string; claimId: string; ref: Uint8Array }>("claim_package", [
  text("requester_device_id", ({ requesterDeviceId }) => requesterDeviceId),
  text("claim_id", ({ claimId }) => claimId),
  bytea("ref", ({ ref }) => ref),
])

type AttachmentOf = RecordOf<"attachment">["attachment"]
const attachmentValues: Record<(typeof attachmentColumns)[number], Omit<Column<AttachmentOf>, "name">> = {
  id: { type: "text", of: ({ id }) => id },
  conversation_id: { type: "text", of: ({ conversationId }) => conversationId },
  owner_device_id: { type: "text", of: ({ ownerDeviceId }) => ownerDeviceId },
  owner_user_id: { type: "text", of: ({ ownerUserId }) => ownerUserId },
  status: { type: "text", of: ({ status }) => status },
  size: { type: "bigint", of: ({ size }) => size },
  sha256: { type: "bytea", of: ({ sha256 }) => sha256 },
  part_size: { type: "integer", of: ({ partSize }) => partSize },
  parts: { type: "integers", of: ({ parts }) => parts },
  idempotency_key: { type: "bytea", of: ({ idempotencyKey }) => idempotencyKey },
  created_at: { type: "timestamptz", of: ({ createdAtMs }) => at(createdAtMs) },
  expires_at: { type: "timestamptz", of: ({ expiresAtMs }) => at(expiresAtMs) },
}
const attachment = inserting<AttachmentOf>(
  "attachment",
  attachmentColumns.map((name) => ({ name, ...attachmentValues[name] })),
)

export const into = {
  device,
  leafKeys,
  effects,
  deviceList,
  blockList,
  proofNonce,
  keyPackage,
  initKey,
  conversation,
  asked,
  leaf,
  envelope,
  groupInfo,
  tree,
  treeChunk,
  cursor,
  welcomeCommit,
  welcome,
  claim,
  claimPackage,
  attachment,
} as const
