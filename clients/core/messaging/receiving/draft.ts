import { AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import type { Context, ReadConversation } from "../context.ts"
import type { DraftPart } from "../conversation/event.ts"
import { MessagingError } from "../errors.ts"
import type { MessengerEvent, TimelineEntry } from "../events.ts"
import { removeIntent } from "../sending/intent-rows.ts"
import { dropAll, outboxIn } from "../sending/outbox-rows.ts"
import type { Change } from "../state/conversation-state.ts"
import { type PendingChange, type PendingTable, pendingIn } from "../state/pending-rows.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import { envelopesOf } from "../state/tail.ts"
import { keyOfSeq, timelineOp } from "../state/timeline.ts"
import type { Op } from "../store/store.ts"
import { type KeyWatch, watchKeys } from "../verification/new-keys.ts"
import { deviceKeysIn, noticeKeys } from "../verification/noticing.ts"

/** The accumulated writes and events of one transaction. */
export interface Draft {
  readonly conversationId: string
  /** The state after the decisions so far. */
  stored: StoredConversation
  readonly ops: Op[]
  readonly due: PendingChange[]
  readonly entries: TimelineEntry[]
  readonly wipe: (() => void)[]
  /** Emitted before the entries. */
  readonly warnings: MessengerEvent[]
  readonly keys: KeyWatch
  /** The envelopes that it adds to the tail. */
  readonly applied: Envelope[]
  /** This device's own envelopes in the stored tail. They are read once. */
  ownTail(): Promise<readonly Envelope[]>
}

export function openDraft(conversation: ReadConversation, stored: StoredConversation): Draft {
  const { id, device } = conversation
  let ownTail: Promise<readonly Envelope[]> | undefined
  return {
    conversationId: id,
    stored,
    ops: [],
    due: [],
    entries: [],
    wipe: [],
    warnings: [],
    keys: watchKeys(conversation, id),
    applied: [],
    ownTail() {
      ownTail ??= device.id === undefined ? Promise.resolve([]) : envelopesOf(conversation, id, device.id)
      return ownTail
    },
  }
}

/** Adds what an effect writes, wipes or emits to the draft. */
export async function perform(context: Context, draft: Draft, effect: DraftPart): Promise<void> {
  switch (effect.do) {
    case "entry":
      draft.entries.push(effect.entry)
      return
    case "storeEntry":
      draft.ops.push(await timelineOp(context.rows, draft.conversationId, effect.entry))
      return
    case "putManifest": {
      // The manifest contains the file key, so it is stored separately from the entry.
      const place = { space: draft.conversationId, table: "attachment", key: keyOfSeq(effect.seq) } as const
      draft.ops.push(await context.rows.put(place, AttachmentManifestSchema, effect.manifest))
      return
    }
    case "markResent":
      draft.ops.push({ op: "put", table: "resent", key: effect.key, value: Uint8Array.of(1) })
      return
    case "changePending":
      draft.due.push(effect.change)
      return
    case "dropPending": {
      const { conversationId } = draft
      const { due, emit } = dropAll(conversationId, waitingIn(draft, "outbox"), notMember("not sent"))
      const intents = waitingIn(draft, "intent")
      draft.due.push(...due, ...intents.map(removeIntent))
      const error = notMember("not carried out")
      draft.warnings.push(...emit, ...intents.map(() => ({ is: "failed", conversationId, error }) as const))
      return
    }
    case "dropUncertain": {
      const { conversationId, stored } = draft
      const waiting = new Set(waitingIn(draft, "outbox"))
      const rows = (await outboxIn(context, conversationId, stored)).filter(({ id }) => waiting.has(id))
      const uncertain = rows.filter(({ record }) => record.writtenAtMs <= BigInt(effect.untilMs)).map(({ id }) => id)
      const { due, emit } = dropAll(conversationId, uncertain, mayBeSent())
      draft.due.push(...due)
      draft.warnings.push(...emit)
      return
    }
    case "seeKeys":
      draft.entries.push(...(await draft.keys.see(effect.before, effect.group, effect.at)))
      return
    case "noticeKeys": {
      const { ops, events } = await noticeKeys(context, deviceKeysIn(context, effect.group))
      draft.ops.push(...ops)
      draft.warnings.push(...events)
      return
    }
    case "wipe":
      draft.wipe.push(effect.wipe)
  }
}

/** The rows that wait after the decisions so far. */
function waitingIn({ stored, due }: Draft, table: PendingTable): string[] {
  const done = due.filter((one) => one.table === table && one.bytes === undefined).map(({ key }) => key)
  return pendingIn(stored.record, table).flatMap(({ key }) => (done.includes(key) ? [] : [key]))
}

const notMember = (result: string): MessagingError =>
  new MessagingError("CONVERSATION_NOT_ACTIVE", `${result}: this device is no longer a member of the conversation`)

const mayBeSent = (): MessagingError =>
  new MessagingError("STATE_ROLLBACK", "not sent by this older state, and perhaps by the newer one that it lacks")

/** The transaction of a draft. */
export async function changeOf<Result>(
  { rows }: Pick<Context, "rows">,
  { conversationId, stored, ops, due, entries, wipe, warnings, keys }: Omit<Draft, "applied" | "ownTail">,
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
