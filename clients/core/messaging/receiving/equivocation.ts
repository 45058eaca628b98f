// Detects an equivocation: the log now has another commit for an epoch than the one that this device has applied. Such
// a service refuses this device's later messages and commits.
import { equalBytes } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import { type Envelope, Envelope_Kind } from "@signet/proto/messaging/v1/records"
import { failureOf } from "../../errors.ts"
import { verifyEvidence } from "../checks/evidence.ts"
import { Forked } from "../checks/verdict.ts"
import type { Conversation } from "../context.ts"
import { quarantine } from "../conversation/envelope.ts"
import { isReading, rejoinsByItself } from "../conversation/status.ts"
import { stateTag } from "../mls.ts"
import { rethrowAs } from "../rethrow.ts"
import type { LocalGroup, StoredConversation } from "../state/stored-conversation.ts"
import { reportQuarantine, requestRejoin } from "./log.ts"

/** True for a refusal that can mean that the service has another commit or state for the epoch of this device. */
export function mayBeEquivocation(error: unknown): boolean {
  const failure = failureOf(error)
  return failure?.reason === "PROOF_STALE" || failure?.metadata.code === "AAD_WRONG_RECEIPT"
}

/**
 * Reads the commit that began this epoch from the log again. If the log has another commit with a valid receipt, the
 * service has equivocated: quarantines the conversation with that envelope as evidence, reports it, and requests a
 * rejoin. Queued messages are kept. A claim of the service without a valid receipt changes nothing.
 *
 * @returns True for an equivocation. Runs in the turn of the conversation.
 * @throws MessagingError ANSWER_REFUSED for a receipt that does not verify.
 */
export async function handleEquivocation(conversation: Conversation): Promise<boolean> {
  const stored = await conversation.stored()
  const told = await findEquivocation(conversation, stored)
  if (told === undefined) return false
  const isDone = await conversation.change(async (now) => {
    const { record, local } = now
    const isStill = local !== undefined && local.group.epoch === stored.local?.group.epoch && isReading(record)
    if (!isStill) return { result: false }
    const verdict = new Forked("RECEIPT_TOLD_DIFFERS", { stateTag: stateTag(local.group) })
    return { next: quarantine(now, told, verdict), result: true }
  })
  if (isDone) await reportAndRejoin(conversation)
  return isDone
}

/** Reports the equivocation and requests a rejoin. The next sync completes the rest after a failure. */
export async function reportAndRejoin(conversation: Conversation): Promise<void> {
  await reportQuarantine(conversation)
  await requestRejoin(conversation)
}

/** Requests the rejoin that needs no request of the app. Runs in the turn of the conversation. */
export async function rejoinIfDue(conversation: Conversation): Promise<void> {
  if (rejoinsByItself(await conversation.record())) await reportAndRejoin(conversation)
}

/** Finds another commit at the position of the applied one. @returns Undefined for the same commit, or none. */
async function findEquivocation(
  conversation: Conversation,
  { record, local }: StoredConversation,
): Promise<Envelope | undefined> {
  if (local === undefined || local.receipt === "first" || !isReading(record)) return undefined
  const envelope = await commitBefore(conversation, local, record?.joinedSeq ?? 0n)
  if (envelope === undefined) return undefined
  if (equalBytes(hash("commit-receipt", envelope.receipt), local.receipt.hash)) return undefined
  await conversation.issuer.refresh()
  await rethrowAs("ANSWER_REFUSED", async () => verifyEvidence(conversation, conversation.id, local.group, envelope))
  return envelope
}

const pageSize = 200n

/** Finds the commit that began the local epoch in the log, backwards from this device's position. */
async function commitBefore(
  { calls, id: conversationId }: Conversation,
  { processedSeq, group }: LocalGroup,
  joinedSeq: bigint,
): Promise<Envelope | undefined> {
  const first = joinedSeq > 0n ? joinedSeq - 1n : 0n
  for (let upTo = processedSeq; upTo > first; ) {
    const start = upTo - pageSize > first ? upTo - pageSize : first
    for (let afterSeq = start; afterSeq < upTo; ) {
      const page = { conversationId, afterSeq, limit: Number(upTo - afterSeq) }
      const { envelopes } = await calls.conversations.listMessages(page)
      const found = envelopes.find(({ kind, epoch }) => kind === Envelope_Kind.COMMIT && epoch === group.epoch - 1n)
      if (found !== undefined) return found
      const last = envelopes.at(-1)?.seq ?? upTo
      afterSeq = last > afterSeq ? last : upTo
    }
    upTo = start
  }
  return undefined
}
