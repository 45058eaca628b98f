// Appends to a conversation. The lock on its row is its sequencer: sequence order is commit order, so a cursor skips
// nothing.
import type { AuditEvent } from "@signet/kernel/audit/event"
import { conversationAfter, receiptFacts } from "@signet/kernel/messaging/after"
import { type AppendDecision, attemptOf, decideAppend } from "@signet/kernel/messaging/append"
import type { ReceiptSigner } from "@signet/kernel/messaging/authority"
import type { AppendOutcome, Conversations } from "@signet/kernel/messaging/ports"
import type { Conversation } from "@signet/kernel/messaging/records"
import type { VerifiedAppend } from "@signet/kernel/messaging/verified"
import { batched } from "../batches.ts"
import { at, type Database, run } from "../sql.ts"
import { type Access, type AuditAppender, appendAudit, isTaken } from "./access.ts"
import { type AnswerRow, findReplay } from "./answers.ts"
import { appendAll, isPlain, type SeenAppend } from "./append-several.ts"
import {
  type ConversationRow,
  conversationColumns,
  conversationOf,
  ownLeafColumn,
  pruneAt,
  type WithRoster,
} from "./conversation-rows.ts"
import { loadLocked } from "./load.ts"
import { joinGate, refuseIfExists } from "./moving/gates.ts"
import { createTurns } from "./turns.ts"
import { writeCommit } from "./write-commit.ts"

// The leaf and `seen_epoch` are read before the wait for the lock. While the epoch is unchanged, the leaf is too.
const lockText = `select ${conversationColumns()}, ${ownLeafColumn("$2")},
  (select epoch from conversation seen where seen.id = $1) as seen_epoch
from conversation ${joinGate} where id = $1 for update of conversation for share of gate`
const ownLeafText = `select ${ownLeafColumn("$2")} from conversation where id = $1`
// Head and envelope in one statement: an application message changes nothing else.
const appendText = `with head as (
  update conversation set head_seq = $2::bigint, head_at = $8::timestamptz, prune_at = ${pruneAt("$8::timestamptz")}
  where id = $1 returning id
)
insert into conversation_log
  (conversation_id, seq, epoch, kind, message, content_hash, sender_device_id, idempotency_key, accepted_at)
select id, $2::bigint, $3::bigint, 'APPLICATION', $4::bytea, $5::bytea, $6::text, $7::bytea, $8::timestamptz
from head`

export function appendMessage(access: Access): Conversations["append"] {
  const turns = createTurns()
  const appendAlone = (...[append, sign, nowMs, audit]: Parameters<Conversations["append"]>) =>
    turns(append.conversationId, () => appendInTurn(access, append, sign, nowMs, audit))
  const appendSeen = batched<SeenAppend, AppendOutcome>({
    runAll: (calls) => appendAll(access, calls),
    runAlone: ({ append, nowMs }) => appendAlone(append, noReceipt, nowMs, []),
  })
  return (append, sign, nowMs, audit, seen) => {
    const call = seen && { append, seen, nowMs }
    return call && audit.length === 0 && isPlain(call) ? appendSeen(call) : appendAlone(append, sign, nowMs, audit)
  }
}

const noReceipt: ReceiptSigner = () => {
  throw new Error("an application message has no receipt")
}

async function appendInTurn(
  { ask, transact }: Access,
  append: VerifiedAppend,
  sign: ReceiptSigner,
  nowMs: number,
  audit: readonly AuditEvent[],
): Promise<AppendOutcome> {
  try {
    return await transact(async (trx, log) => {
      const conversation = await lock(trx, append)
      const decision = decideAppend(conversation, attemptOf(append), nowMs)
      if (decision.is !== "append") {
        const replay = await findReplay((text, values) => run<AnswerRow>(trx, text, values), append)
        return replay ?? { is: "refused", decision, conversation }
      }
      return await write(trx, log, { conversation, append, decision, sign, audit })
    })
  } catch (error) {
    if (!isTaken(error)) throw error
    // The transaction was rolled back, so no sequence number is lost.
    const replay = await findReplay((text, values) => ask<AnswerRow>(text, values), append)
    if (replay === undefined) throw error
    return replay
  }
}

/**
 * Locks the conversation. For an application message the roster has only the caller's leaf, which is all that its
 * decision needs.
 */
async function lock(trx: Database, { conversationId, deviceId, commit }: VerifiedAppend): Promise<Conversation> {
  if (commit !== null) return there(await loadLocked(trx, conversationId))
  type Row = ConversationRow & WithRoster & { seen_epoch: number }
  const [row] = await run<Row>(trx, lockText, [conversationId, deviceId])
  if (row === undefined) await refuseIfExists(trx, "conversation", conversationId)
  if (row === undefined || row.seen_epoch === row.epoch) return there(row && conversationOf(row))
  const [own] = await run<WithRoster>(trx, ownLeafText, [conversationId, deviceId])
  return conversationOf({ ...row, roster: own?.roster ?? null })
}

/** The caller has opened the conversation, and conversations are never deleted. */
function there(conversation: Conversation | undefined): Conversation {
  if (conversation === undefined) throw new Error("the conversation does not exist")
  return conversation
}

interface Write {
  conversation: Conversation
  append: VerifiedAppend
  decision: Extract<AppendDecision, { is: "append" }>
  sign: ReceiptSigner
  audit: readonly AuditEvent[]
}

async function write(
  trx: Database,
  log: AuditAppender,
  { conversation, append, decision, sign, audit }: Write,
): Promise<AppendOutcome> {
  const { commit } = append
  const receipt = commit && (append.resubmitted?.receipt ?? sign(receiptFacts(conversation, append, commit, decision)))
  const after = conversationAfter(conversation, append, decision, receipt?.hash ?? new Uint8Array())
  if (commit !== null && receipt !== null) {
    const [before, bytes] = [conversation, receipt.bytes]
    const written = { before, after: after.conversation, append, commit, decision, receipt: bytes }
    await writeCommit(trx, written, audit.length === 0)
  } else {
    await run(trx, appendText, [
      append.conversationId,
      decision.seq,
      append.epoch,
      append.message,
      append.contentHash,
      append.deviceId,
      append.idempotencyKey,
      at(decision.acceptedAtMs),
    ])
  }
  await appendAudit(log, audit)
  const answer = {
    seq: decision.seq,
    epoch: decision.nextEpoch,
    acceptedAtMs: decision.acceptedAtMs,
    receipt: receipt?.bytes ?? null,
  }
  return { is: "appended", answer, conversation: after.conversation, directives: after.directives }
}
