import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import { isVerdict } from "../checks/verdict.ts"
import type { Conversation, ReadConversation } from "../context.ts"
import { decideEnvelope } from "../conversation/envelope.ts"
import type { Arrival, DraftPart, End, EnvelopeEvent, Source } from "../conversation/event.ts"
import { isStagedCommit } from "../conversation/order.ts"
import { isMessagingError } from "../errors.ts"
import type { TimelineEntry } from "../events.ts"
import { treeOf } from "../mls.ts"
import { type OutboxItem, outboxIn } from "../sending/outbox-rows.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import { extendTail, withBeginning } from "../state/tail.ts"
import { changeOf, type Draft, openDraft, perform } from "./draft.ts"
import { openMessage } from "./open-message.ts"
import { isOwnRepeated, ownRepeated } from "./own-repeated.ts"
import { verifyArrived } from "./verify-commit.ts"

/** The outcome of a batch of envelopes. */
export interface Applied {
  readonly entries: readonly TimelineEntry[]
  /** Undefined for a device that is no member. */
  readonly processedSeq: bigint | undefined
}

/** Envelopes of one transaction. */
export const batchSize = 50

/**
 * Applies envelopes in log order. An envelope that was applied before changes nothing, and none is applied beyond a
 * gap.
 *
 * A commit of the log that fails its checks quarantines the conversation, with the evidence; a message becomes an
 * `unreadable` entry. An envelope of a caller that fails its checks changes nothing.
 *
 * @param envelopes In ascending order.
 * @param isDense The envelopes are all that the log has after the last one that was read.
 * @throws MessagingError ENVELOPE_INVALID for an envelope of a caller; CLOCK_WRONG
 */
export async function applyEnvelopes(
  conversation: Conversation,
  envelopes: readonly Envelope[],
  source: Source = "log",
  isDense = false,
): Promise<Applied> {
  const applied = await applyOnce(conversation, envelopes, { source, hasFreshKeys: false, isNextInLog: isDense })
  if (applied.end === "end") return applied
  // The earlier envelopes of the batch are applied and stored.
  await conversation.issuer.refresh()
  return applyOnce(conversation, envelopes, { source, hasFreshKeys: true, isNextInLog: isDense })
}

function applyOnce(
  conversation: Conversation,
  envelopes: readonly Envelope[],
  facts: Pick<Arrival, "source" | "hasFreshKeys" | "isNextInLog">,
): Promise<Applied & { readonly end: End }> {
  return conversation.change(async (stored) => {
    const draft = openDraft(conversation, stored)
    const outbox = await outboxIn(conversation, conversation.id, stored)
    let end: End = "end"
    for (const envelope of envelopes) {
      const before = draft.stored
      const isOwn = envelope.senderDeviceId === conversation.device.id
      const arrival = { ...facts, envelope, isOwn, hasAdvanced: draft.stored !== stored }
      const ended = await applyNext(conversation, draft, outbox, arrival, (part) => perform(conversation, draft, part))
      const isApplied = draft.stored.local?.processedSeq === envelope.seq && draft.stored.local !== before.local
      if (isApplied) draft.applied.push(returnable(before, draft.stored, envelope))
      if (ended === undefined) continue
      end = ended
      break
    }
    const tail = await extendTail(conversation, conversation.id, draft.stored, draft.applied)
    draft.stored = tail.state
    draft.ops.push(...tail.ops)
    const { entries } = draft
    return changeOf(conversation, draft, { entries, processedSeq: draft.stored.local?.processedSeq, end })
  })
}

/** An envelope that the service gets back if it loses it: the first own commit of a group, with what it leads to. */
function returnable(before: StoredConversation, { local }: StoredConversation, envelope: Envelope): Envelope {
  const isFirst = before.record?.status === Status.CREATING && isStagedCommit(before, envelope)
  if (!isFirst || before.staged === undefined || local === undefined) return envelope
  return withBeginning(envelope, { groupInfo: before.staged.groupInfo, tree: treeOf(local.group) })
}

/**
 * Applies one envelope to `draft.stored`: decides, and performs each part, until no event follows.
 *
 * @returns The end of the batch.
 */
export async function applyNext(
  conversation: ReadConversation,
  draft: Pick<Draft, "stored" | "applied" | "ownTail">,
  outbox: readonly OutboxItem[],
  arrival: Arrival,
  performPart: (part: DraftPart) => Promise<void>,
): Promise<End | undefined> {
  for (let event: EnvelopeEvent | undefined = { on: "envelope", arrival }; event !== undefined; ) {
    const { state, effects } = decideEnvelope(draft.stored, event)
    draft.stored = state
    event = undefined
    for (const effect of effects) {
      if (effect.do === "end") return effect.why
      try {
        if (effect.do === "openMessage") event = await openMessage(conversation, state, outbox, arrival)
        else if (effect.do === "verifyCommit") event = await verifyArrived(conversation, state, arrival)
        else await performPart(effect)
      } catch (error) {
        if (!arrival.hasFreshKeys && isMessagingError(error, "ISSUER_KEYS_REFUSED")) return "needsIssuerKeys"
        if (!isVerdict(error)) throw error
        const verdict = (await isOwnRepeated(conversation, draft, arrival)) ? ownRepeated(error) : error
        event = { on: "rejected", arrival, verdict }
        break
      }
    }
  }
  return undefined
}
