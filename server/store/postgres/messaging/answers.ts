// The answers of earlier appends, read from the log: it keeps an envelope longer than the 14 days of an idempotency
// key.
import type { DeviceId } from "@signet/kernel/ids"
import { decideReplay } from "@signet/kernel/messaging/append"
import type { AppendAnswer, AppendOutcome } from "@signet/kernel/messaging/ports"
import type { Envelope } from "@signet/kernel/messaging/records"
import type { VerifiedAppend } from "@signet/kernel/messaging/verified"
import { bytes, bytesOrNull } from "../sql.ts"

export interface AnswerRow {
  seq: number
  epoch: number
  kind: Envelope["kind"]
  content_hash: Uint8Array
  accepted_at: Date
  receipt: Uint8Array | null
}

/** The columns of the table `conversation_log` under this name. */
export const answerColumns = (name: string): string =>
  ["seq", "epoch", "kind", "content_hash", "accepted_at", "receipt"].map((column) => `${name}.${column}`).join(", ")

export const answerOf = (row: AnswerRow): { contentHash: Uint8Array; answer: AppendAnswer } => ({
  contentHash: bytes(row.content_hash),
  answer: {
    seq: BigInt(row.seq),
    epoch: BigInt(row.kind === "COMMIT" ? row.epoch + 1 : row.epoch),
    acceptedAtMs: row.accepted_at.getTime(),
    receipt: bytesOrNull(row.receipt),
  },
})

// The idempotency key decides before equal content.
const findText = `select ${answerColumns("log")}, log.sender_device_id, log.idempotency_key from conversation_log log
where conversation_id = $1 and ((sender_device_id = $2 and idempotency_key = $3) or content_hash = $4)
order by (sender_device_id = $2 and idempotency_key = $3) desc limit 1`

/** The outcome of an earlier append with this key or content. */
export async function findReplay(
  ask: (text: string, values: readonly unknown[]) => Promise<readonly AnswerRow[]>,
  {
    conversationId,
    deviceId,
    idempotencyKey,
    contentHash,
  }: Pick<VerifiedAppend, "conversationId" | "contentHash"> & {
    deviceId: DeviceId
    idempotencyKey: Uint8Array
  },
): Promise<Extract<AppendOutcome, { is: "replayed" | "mismatch" }> | undefined> {
  const [row] = await ask(findText, [conversationId, deviceId, idempotencyKey, contentHash])
  const answered = row && answerOf(row)
  if (answered === undefined || decideReplay(answered, contentHash) === "new") return undefined
  return decideReplay(answered, contentHash) === "mismatch"
    ? { is: "mismatch" }
    : { is: "replayed", answer: answered.answer }
}
