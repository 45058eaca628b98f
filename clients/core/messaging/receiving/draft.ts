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
import { type Waiting, waitingHere } from "../sending/outbox-rows.ts"
import type { Change } from "../state/door.ts"
import type { DueChange } from "../state/due.ts"
import type { Held } from "../state/held.ts"
import { timelineOp } from "../state/timeline.ts"
import type { Op } from "../store/store.ts"
import { type KeyWatch, watchKeys } from "../verification/new-keys.ts"

/** The origin of envelopes: the log of the service, or any caller. */
export type Source = "log" | "caller"

/** What a batch of envelopes makes of a conversation, before its one transaction. */
export interface Draft {
  readonly conversationId: string
  /** The state after the envelopes so far. */
  held: Held
  readonly ops: Op[]
  readonly due: DueChange[]
  readonly entries: TimelineEntry[]
  readonly wipe: (() => void)[]
  /** Emitted before the entries. */
  readonly warnings: MessengerEvent[]
  readonly keys: KeyWatch
  /** Own messages that the log has not brought back yet. */
  readonly waiting: readonly Waiting[]
}

export async function openDraft(conversation: Conversation, held: Held): Promise<Draft> {
  return {
    conversationId: conversation.id,
    held,
    ops: [],
    due: [],
    entries: [],
    wipe: [],
    warnings: [],
    keys: watchKeys(conversation, conversation.id),
    waiting: await waitingHere(conversation, conversation.id, held),
  }
}

/** The transaction of a draft. */
export async function changeOf<Result>(
  { rows }: Pick<Context, "rows">,
  { conversationId, held, ops, due, entries, wipe, warnings, keys }: Draft,
  result: Result,
): Promise<Change<Result>> {
  const { record, ops: keyOps } = await keys.written(held.record)
  const entryOps = await Promise.all(entries.map((entry) => timelineOp(rows, conversationId, entry)))
  return {
    next: record === held.record ? held : { ...held, record },
    ops: [...ops, ...keyOps, ...entryOps],
    due,
    wipe,
    emit: [...warnings, ...entries.map((entry) => ({ is: "entry", conversationId, entry }) as const)],
    result,
  }
}

export function setStatus(draft: Draft, status: Status): void {
  const { record } = draft.held
  if (record === undefined || isAway(record)) return
  draft.held = { ...draft.held, record: create(ConversationRecordSchema, { ...record, status }) }
}

/** Leaves the log: the envelopes that follow lead from another state than the stored one. */
export function leave(draft: Draft, status: Status): void {
  setStatus(draft, status)
  draft.held = { ...draft.held, seat: undefined, staged: undefined }
}

/** Stops reading, and stores the envelope as evidence. The state stays. */
export function quarantine(draft: Draft, envelope: Envelope, verdict: Verdict): void {
  const { record } = draft.held
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
  draft.held = { ...draft.held, record: create(ConversationRecordSchema, next) }
}
