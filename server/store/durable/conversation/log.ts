// The log of a conversation, and the answers of its appends.
import type { DeviceId } from "@signet/kernel/ids"
import { decideReplay } from "@signet/kernel/messaging/append"
import type { AppendAnswer, AppendOutcome, Conversations } from "@signet/kernel/messaging/ports"
import type { Envelope } from "@signet/kernel/messaging/records"
import type { VerifiedAppend } from "@signet/kernel/messaging/verified"
import type { Sql } from "../sql.ts"

export interface EnvelopeRow {
  seq: number
  epoch: number
  kind: Envelope["kind"]
  message: Uint8Array
  content_hash: Uint8Array
  sender_device_id: DeviceId
  idempotency_key: Uint8Array
  accepted_at: number
  receipt: Uint8Array | null
}

export interface Answered {
  readonly contentHash: Uint8Array
  readonly answer: AppendAnswer
}

export const envelopeColumns =
  "seq, epoch, kind, message, content_hash, sender_device_id, idempotency_key, accepted_at, receipt"
const insertText = `insert into log (${envelopeColumns}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict do nothing returning seq`
const answerColumns = "seq, epoch, kind, content_hash, accepted_at, receipt"
const byKeyText = `select ${answerColumns} from log where sender_device_id = ? and idempotency_key = ?`
const byContentText = `select ${answerColumns} from log where content_hash = ?`
const commitText = `select ${envelopeColumns} from log where epoch = ? and kind = 'COMMIT'`
// The page is cut by the messages' lengths before they are read.
const sizesText = `select seq, length(message) + coalesce(length(receipt), 0) as size from log
where seq > ? order by seq limit ?`
const pageText = `select ${envelopeColumns} from log where seq > ? and seq <= ? order by seq`

/**
 * Requires a transaction. @returns False when key, content or epoch are in the log already; nothing was written then.
 */
export function insertEnvelope(sql: Sql, envelope: Envelope): boolean {
  const { seq, epoch, kind, message, contentHash, senderDeviceId, idempotencyKey, acceptedAtMs, receipt } = envelope
  const values = [seq, epoch, kind, message, contentHash] as const
  return sql.row(insertText, ...values, senderDeviceId, idempotencyKey, acceptedAtMs, receipt) !== undefined
}

/** The answer to an append with this key of this device. */
export function findAnswered(sql: Sql, deviceId: DeviceId, key: Uint8Array): Answered | undefined {
  const row = sql.row<EnvelopeRow>(byKeyText, deviceId, key)
  return row && answeredOf(row)
}

/** The outcome of an earlier append. The idempotency key decides before equal content. */
export function findReplay(
  sql: Sql,
  { deviceId, idempotencyKey, contentHash }: Pick<VerifiedAppend, "deviceId" | "idempotencyKey" | "contentHash">,
): Extract<AppendOutcome, { is: "replayed" | "mismatch" }> | undefined {
  const answered = findAnswered(sql, deviceId, idempotencyKey) ?? findContent(sql, contentHash)
  if (answered === undefined) return undefined
  return decideReplay(answered, contentHash) === "mismatch"
    ? { is: "mismatch" }
    : { is: "replayed", answer: answered.answer }
}

function findContent(sql: Sql, contentHash: Uint8Array): Answered | undefined {
  const row = sql.row<EnvelopeRow>(byContentText, contentHash)
  return row && answeredOf(row)
}

const answeredOf = (
  row: Pick<EnvelopeRow, "seq" | "epoch" | "kind" | "content_hash" | "accepted_at" | "receipt">,
): Answered => ({
  contentHash: row.content_hash,
  answer: {
    seq: BigInt(row.seq),
    epoch: BigInt(row.kind === "COMMIT" ? row.epoch + 1 : row.epoch),
    acceptedAtMs: row.accepted_at,
    receipt: row.receipt,
  },
})

export function commitOf(sql: Sql, epoch: bigint): Envelope | undefined {
  const row = sql.row<EnvelopeRow>(commitText, epoch)
  return row && envelopeOf(row)
}

/** As `Conversations.messages`. */
export function envelopesAfter(
  sql: Sql,
  afterSeq: bigint,
  { limit, maxBytes }: Parameters<Conversations["messages"]>[2],
): readonly Envelope[] {
  let bytes = 0
  let last: number | undefined
  for (const { seq, size } of sql.rows<{ seq: number; size: number }>(sizesText, afterSeq, limit)) {
    bytes += size
    if (last !== undefined && bytes > maxBytes) break
    last = seq
  }
  return last === undefined ? [] : sql.rows<EnvelopeRow>(pageText, afterSeq, last).map(envelopeOf)
}

export const envelopeOf = (row: EnvelopeRow): Envelope => ({
  seq: BigInt(row.seq),
  epoch: BigInt(row.epoch),
  kind: row.kind,
  message: row.message,
  contentHash: row.content_hash,
  senderDeviceId: row.sender_device_id,
  acceptedAtMs: row.accepted_at,
  receipt: row.receipt,
  idempotencyKey: row.idempotency_key,
})
