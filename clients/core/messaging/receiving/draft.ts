import { create, toBinary } from "@bufbuild/protobuf"
import {
  ConversationRecord_QuarantineSchema,
  ConversationRecordSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { type Envelope, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { Forked, faultOf, type Verdict, verdictReason } from "../checks/verdict.ts"
import type { Context, Conversation } from "../context.ts"
import { isAway } from "../conversation/status.ts"
import type { MessengerEvent, TimelineEntry } from "../events.ts"
import { type OutboxItem, outboxIn } from "../sending/outbox-rows.ts"
import type { Change } from "../state/conversation-state.ts"
import type { PendingChange } from "../state/pending-rows.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import { timelineOp } from "../state/timeline.ts"
import type { Op } from "../store/store.ts"
import { type KeyWatch, watchKeys } from "../verification/new-keys.ts"

/** The origin of envelopes: the log of the service, or any caller. */
export type Source = "log" | "caller"

/** What a batch of envelopes makes of a conversation, before its one transaction. */
export interface Draft {
  readonly conversationId: string
  /** The state after the envelopes so far. */
  stored: StoredConversation
  readonly ops: Op[]
  readonly due: PendingChange[]
  readonly entries: TimelineEntry[]
  readonly wipe: (() => void)[]
  /** Emitted before the entries. */
  readonly warnings: MessengerEvent[]
  readonly keys: KeyWatch
  /** Own messages that the log has not brought back yet. */
  readonly waiting: readonly OutboxItem[]
}

export async function openDraft(conversation: Conversation, stored: StoredConversation): Promise<Draft> {
  return {
    conversationId: conversation.id,
    stored,
    ops: [],
    due: [],
    entries: [],
    wipe: [],
    warnings: [],
    keys: watchKeys(conversation, conversation.id),
    waiting: await outboxIn(conversation, conversation.id, stored),
  }
}

/** The transaction of a draft. */
export async function changeOf<Result>(
  { rows }: Pick<Context, "rows">,
  { conversationId, stored, ops, due, entries, wipe, warnings, keys }: Draft,
  result: Result,
): Promise<Change<Result>> {
  const { record, ops: keyOps } = await keys.written(stored.record)
  const entryOps = await Promise.all(entries.map((entry) => timelineOp(rows, conversationId, entry)))
  return {
    next: record === stored.record ? stored : { ...stored, record },
    ops: [...ops, ...keyOps, ...entryOps],
    due,
    wipe,
    emit: [...warnings, ...entries.map((entry) => ({ is: "entry", conversationId, entry }) as const)],
    result,
  }
}

export function setStatus(draft: Draft, status: Status): void {
  const { record } = draft.stored
  if (record === undefined || isAway(record)) return
  draft.stored = { ...draft.stored, record: create(ConversationRecordSchema, { ...record, status }) }
}

/** Leaves the log: the envelopes that follow lead from another state than the stored one. */
export function leave(draft: Draft, status: Status): void {
  setStatus(draft, status)
  draft.stored = { ...draft.stored, local: undefined, staged: undefined }
}

/** Stops reading, and stores the envelope as evidence. The state stays. */
export function quarantine(draft: Draft, envelope: Envelope, verdict: Verdict): void {
  const { record } = draft.stored
  if (record === undefined) return
  const evidence = create(ConversationRecord_QuarantineSchema, {
    reason: verdictReason(verdict),
    seq: envelope.seq,
    epoch: envelope.epoch,
    envelope: toBinary(EnvelopeSchema, envelope),
    stateTag: verdict instanceof Forked ? verdict.stateTag : new Uint8Array(),
    fault: faultOf(verdict),
  })
  const next = { ...record, status: Status.QUARANTINED, quarantine: evidence }
  draft.stored = { ...draft.stored, record: create(ConversationRecordSchema, next) }
}
