// Decides which welcomes this device joins by, and the state changes of a join. Pure: `joining/welcomes.ts` performs
// them.
import { type ConversationRecord, ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import type { Welcome } from "@signet/proto/messaging/v1/records"
import { personOf } from "../checks/credential.ts"
import { difference } from "../checks/roster.ts"
import { checkWelcomeOrder } from "../checks/welcome-order.ts"
import type { Person } from "../events.ts"
import type { Member } from "../mls.ts"
import { type LocalGroup, type StoredConversation, withRecord } from "../state/stored-conversation.ts"
import { tailOf } from "../state/tail.ts"
import { type Accepted, showAccepted } from "./accepted.ts"
import type { At, Decision, DraftPart } from "./event.ts"

/**
 * `consume`: this device has joined by the welcome, and must confirm it to the service. `consumeAgain`: the same for a
 * copy of the welcome under another id. `readLog`: join only if the log shows this device's removal, or an
 * equivocation.
 */
export type WelcomeStep = "consume" | "consumeAgain" | "readLog" | "join"

export function stepFor(
  { record }: Pick<StoredConversation, "record">,
  { id, commitSeq }: Pick<Welcome, "id" | "commitSeq">,
): WelcomeStep {
  if (record?.pendingConsume?.welcomeId === id) return "consume"
  if (record?.status !== Status.ACTIVE && record?.status !== Status.LEAVING) return "join"
  return record.joinedSeq === commitSeq ? "consumeAgain" : "readLog"
}

/** A verified join, and facts about the state before it. */
export interface Join {
  readonly welcome: Pick<Welcome, "conversationKind" | "commitSeq" | "mlsGroupId">
  readonly record: ConversationRecord
  readonly local: LocalGroup
  readonly members: readonly Member[]
  readonly at: At
  /** The committer of the welcome. */
  readonly adder: Person
  /** True if the welcome is of the first commit of its group. */
  readonly isFirst: boolean
  /** True if the timeline has an entry after `lastSeqBefore`. */
  readonly hasLaterEntry: boolean
  /** The last sequence number that was read. */
  readonly readSeq: bigint
  /** Own messages that the service accepted in the unread part of the log. */
  readonly accepted: readonly Accepted[]
  /** Present if the welcome is for another group than the stored one. */
  readonly reset: { readonly asksConfirmation: boolean } | undefined
}

/** @throws MessagingError WELCOME_REFUSED; Forked */
export function decideJoin(before: StoredConversation, join: Join): Decision<DraftPart> {
  const { welcome, record, local, members, at, reset } = join
  const { record: former } = before
  const effects: DraftPart[] = [{ do: "noticeKeys", group: local.group }]
  const seeKeys = { do: "seeKeys", before, group: local.group, at } as const
  const users = [...new Set(members.map(({ credential }) => personOf(credential).userId))]
  // The two users of a direct conversation are stored once both are known, to reject any third one.
  const both = record.isDirect && users.length === 2 ? users : []
  const joined = { record, local, staged: undefined }
  if (former === undefined) {
    return { state: withRecord(joined, { directUserIds: both }), effects: [...effects, seeKeys] }
  }
  const { hasLaterEntry } = join
  checkWelcomeOrder(welcome, { record: former, processedSeq: before.local?.processedSeq, hasLaterEntry }, members)
  const shown = showAccepted(join.accepted, { afterSeq: join.readSeq, beforeSeq: at.seq })
  effects.push(...shown.effects)
  // If the log has shown the reset before, its entry exists and the app may have read past it. The keys are then
  // announced at the next position.
  if (former.resetSeq !== at.seq) {
    const gap = { ...at, is: "gap", afterSeq: shown.lastSeq } as const
    const isGap = shown.lastSeq + 1n < at.seq
    // Messages between two resets cannot be read.
    if (reset && isGap) effects.push({ do: "entry", entry: gap })
    effects.push(seeKeys)
    if (reset) effects.push({ do: "entry", entry: { ...at, is: "reset", by: join.isFirst ? join.adder : undefined } })
    else effects.push(...(isGap ? [{ do: "storeEntry", entry: gap } as const] : []), ...changed(before, join))
  }
  const state = withRecord(joined, {
    directUserIds: former.directUserIds.length === 2 ? former.directUserIds : both,
    resetSeq: reset ? at.seq : former.resetSeq,
    asksConfirmation: reset ? reset.asksConfirmation : former.asksConfirmation,
    seenKeysHash: former.seenKeysHash,
    // Its rows stay.
    ...tailOf(former),
  })
  return { state, effects }
}

/**
 * The members that came and went in the unread part of the log. Without the entry, a member whose removal the service
 * has lost would return unseen.
 */
function changed({ local: before }: StoredConversation, { local, adder, at }: Join): readonly DraftPart[] {
  if (before === undefined) return []
  const { added, removed } = difference(before.group, local.group)
  if (added.length + removed.length === 0) return []
  return [{ do: "entry", entry: { ...at, is: "membership", committer: adder, added, removed } }]
}
