import { type Envelope, Envelope_Kind } from "@signet/proto/messaging/v1/records"
import { isVerdict, mayBeOwnClock, mayBeStaleKeys } from "../checks/verdict.ts"
import type { Context, Conversation } from "../context.ts"
import { actionFor } from "../conversation/order.ts"
import { MessagingError } from "../errors.ts"
import type { TimelineEntry } from "../events.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import { applyCommit } from "./apply-commit.ts"
import { applyMessage } from "./apply-message.ts"
import { changeOf, type Draft, openDraft, quarantine, type Source } from "./draft.ts"

/** The outcome of a batch of envelopes. */
export interface Applied {
  readonly entries: readonly TimelineEntry[]
  /** Undefined for a device that is not in the group. */
  readonly processedSeq: bigint | undefined
}

/** Envelopes of one transaction. */
export const batchSize = 50

/** Why a batch ended: at its end, or before an envelope whose verification needs newer issuer keys. */
type End = "end" | "needsIssuerKeys"

/**
 * Applies envelopes in log order. An envelope that was applied before changes nothing, and none is applied beyond a gap.
 *
 * A commit of the log that fails its checks quarantines the conversation, with the evidence; a message becomes an
 * `unreadable` entry. An envelope of a caller that fails its checks changes nothing.
 *
 * @param envelopes ascending.
 * @throws MessagingError ENVELOPE_INVALID for an envelope of a caller; CLOCK_WRONG
 */
export async function applyEnvelopes(
  conversation: Conversation,
  envelopes: readonly Envelope[],
  source: Source = "log",
): Promise<Applied> {
  const applied = await applyOnce(conversation, envelopes, source, true)
  if (applied.end === "end") return applied
  // The envelopes before that one are applied and stored.
  await conversation.issuer.refresh()
  return applyOnce(conversation, envelopes, source, false)
}

/** @param mayRefresh a verdict that newer issuer keys may change ends the batch, instead of counting. */
function applyOnce(
  conversation: Conversation,
  envelopes: readonly Envelope[],
  source: Source,
  mayRefresh: boolean,
): Promise<Applied & { readonly end: End }> {
  return conversation.change(async (stored) => {
    const draft = await openDraft(conversation, stored)
    const end = await applyInOrder(conversation, draft, envelopes, source, mayRefresh)
    const { entries } = draft
    return changeOf(conversation, draft, { entries, processedSeq: draft.stored.local?.processedSeq, end })
  })
}

async function applyInOrder(
  context: Context,
  draft: Draft,
  envelopes: readonly Envelope[],
  source: Source,
  mayRefresh: boolean,
): Promise<End> {
  const before = draft.stored
  for (const envelope of envelopes) {
    const position = actionFor(draft.stored, envelope)
    if (position === "skip") continue
    if (position !== "next") return "end"
    try {
      if (envelope.kind === Envelope_Kind.COMMIT) await applyCommit(context, draft, envelope, source)
      else await applyMessage(context, draft, envelope, source)
    } catch (error) {
      if (!isVerdict(error)) throw error
      if (mayRefresh && mayBeStaleKeys(error)) return "needsIssuerKeys"
      if (mayBeOwnClock(error)) throw new MessagingError("CLOCK_WRONG", "the clock is behind", { cause: error })
      if (source === "caller") return refuseUnlessAdvanced(before, draft.stored, error)
      quarantine(draft, envelope, error)
    }
  }
  return "end"
}

/** Ends a batch of a caller: the valid envelopes before the refused one count. @throws MessagingError ENVELOPE_INVALID */
function refuseUnlessAdvanced(before: StoredConversation, now: StoredConversation, cause: unknown): End {
  if (now !== before) return "end"
  throw new MessagingError("ENVELOPE_INVALID", "the envelope fails its checks", { cause })
}
