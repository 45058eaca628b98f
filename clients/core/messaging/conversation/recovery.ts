// Decides the next steps of a device in a conversation by the service's summary. Pure: `sync/settle.ts` performs them.
import { equalBytes } from "@signet/canonical/bytes"
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { Conversation_Status, type Conversation as ServiceConversation } from "@signet/proto/messaging/v1/records"
import { usersIn } from "../checks/roster.ts"
import { pendingIn } from "../state/pending-rows.ts"
import { type StoredConversation, withoutGroup, withRecord } from "../state/stored-conversation.ts"
import type { Decision } from "./event.ts"
import { isLeaving } from "./leaving.ts"
import { commitsForOthers, isAway, rejoinsByItself, withUsedKeys } from "./status.ts"

/** A step of `sync` for one conversation. The steps run in their order, in the turn of the conversation. */
export type RecoveryStep =
  /** Applies the log to its end, and decides again. */
  | "readLog"
  | "rejoin"
  /** Compares the log with what was applied. After an equivocation no further step runs. */
  | "checkEquivocation"
  /** Asks for the service's epoch again, and rejoins if it is earlier than this device's. Then no further step runs. */
  | "rejoinIfEpochLost"
  | "reportAndRejoin"
  | "lookForHelp"
  | "resetIfWanted"
  | "flushIfActive"
  /** Stops sending, because the user has left. */
  | "followLeave"
  /** Asks to leave again, or stays, if the service still does not know the leave. */
  | "confirmLeave"
  /** Marks the conversation as removed. */
  | "close"
  | "carryOutIntents"
  | "carryOutDirectives"
  | "flush"
  | "renewLeaf"
  | "renewOldLeaf"
  /** Reads the log again, and returns its lost end, if it still ends before the last envelope that was applied. */
  | "checkLogEnd"

type Shown = ServiceConversation | undefined

export type RecoveryEvent =
  /** The service's summary of the conversation, before and after the log is read; undefined without one. */
  | {
      readonly on: "shown" | "logRead"
      readonly shown: Shown
      readonly ownUserId: string
      /** The public key that the credential of this device names. */
      readonly ownKey: Uint8Array
    }
  /** The service refuses to list the log. */
  | { readonly on: "logRefused"; readonly reason: "RESOURCE_UNRESOLVED" | "LOG_PRUNED" }
  /** The members while this device waits to be added. `askedBy`: it has just requested a rejoin, for its app or itself. */
  | {
      readonly on: "membersShown"
      readonly shown: Shown
      readonly ownDeviceId: string | undefined
      readonly askedBy: "app" | "device" | undefined
    }

/** Beyond this a device rejoins: one rejoin costs less than processing all the commits. */
const maxCommitsBehind = 5_000n

export function decideRecovery(before: StoredConversation, event: RecoveryEvent): Decision<RecoveryStep> {
  const { record, local } = before
  switch (event.on) {
    case "shown": {
      const { shown } = event
      if (local === undefined || shown === undefined) return to(before, "readLog")
      const isRestored = isBehindCursor(before, shown)
      const state = isRestored ? withRecord(withUsedKeys(before), { status: Status.ROLLED_BACK }) : before
      const isFarBehind = shown.epoch - local.group.epoch > maxCommitsBehind
      if (isFarBehind && state.record?.status === Status.ACTIVE) return to(state, "rejoin")
      // A creating or leaving device reads the log at any distance: only the log ends its status.
      const isToRead = isFarBehind ? isInTransition(state.record) : local.processedSeq < shown.headSeq
      return isToRead ? to(state, "readLog") : to(state, ...stepsAfterLog(state, event))
    }
    case "logRead":
      return to(before, ...stepsAfterLog(before, event))
    case "logRefused":
      if (event.reason === "LOG_PRUNED") return to(before, "rejoin")
      // The service accepted the first commit of another device, which did not add this one.
      return to(withoutGroup(withRecord(before, { status: Status.WAITING })))
    case "membersShown": {
      const status = hasHelper(event) ? Status.WAITING : Status.STRANDED
      if (event.askedBy === undefined && !isAway(record)) return to(before)
      const commits = commitsAfter(record, event.askedBy)
      const isSame = record?.status === status && record.commitsForOthers === commits
      return to(isSame ? before : withRecord(before, { status, commitsForOthers: commits }))
    }
  }
}

/** A device with a fault that it has found itself commits nothing. A direct conversation is reset instead. */
function commitsAfter(record: StoredConversation["record"], askedBy: "app" | "device" | undefined): boolean {
  if (askedBy === "device" || record === undefined || record.isDirect) return false
  return commitsForOthers(record) || (askedBy === "app" && record.status === Status.ACTIVE)
}

type LogRead = Extract<RecoveryEvent, { on: "shown" | "logRead" }>

function stepsAfterLog(
  { record, local, staged }: StoredConversation,
  { shown, ownUserId, ownKey }: LogRead,
): RecoveryStep[] {
  const status = record?.status
  const isActive = status === Status.ACTIVE
  // The service reports a later epoch than its log leads to.
  const isHidden = isActive && local && shown && local.processedSeq >= shown.headSeq && local.group.epoch < shown.epoch
  if (status === Status.ROLLED_BACK || isHidden) return ["rejoin"]
  if (rejoinsByItself(record)) return ["reportAndRejoin"]
  if (isAway(record)) {
    const isDue = shown && commitsForOthers(record) && !isLeaving(shown, ownUserId) && shown.directives.length > 0
    const isInStep = local && shown && local.processedSeq === shown.headSeq && local.group.epoch === shown.epoch
    const helps = isDue && isInStep && isSameReceipt(local.receipt === "first" ? none : local.receipt.hash, shown)
    // A device that creates the group itself needs nobody to add it.
    return [
      ...when(shown || record?.creationId === "", "lookForHelp"),
      "resetIfWanted",
      "flushIfActive",
      ...when(helps, "carryOutDirectives"),
    ]
  }
  const receipt = local && local.receipt !== "first" && shown?.epoch === local.group.epoch && local.receipt.hash
  const isOther = isActive && shown && receipt && !isSameReceipt(receipt, shown)
  const steps = when(isOther, "checkEquivocation")
  const isClosed = shown?.status === Conversation_Status.CLOSED
  const isAlone = local && usersIn(local.group).every((userId) => userId === ownUserId)
  // The last user who leaves closes a conversation. While it has other members, the service alone cannot close it.
  if (isClosed && isAlone) return [...steps, ...when(isActive || status === Status.LEAVING, "close")]
  const isWaiting = pendingIn(record, "outbox").length > 0
  const hasIntent = pendingIn(record, "intent").length > 0
  if (shown && isLeaving(shown, ownUserId)) {
    const isPending = isWaiting || hasIntent
    return [...steps, ...when(isActive || (status === Status.LEAVING && isPending), "followLeave")]
  }
  // The service refuses each waiting change and message, which are then reported.
  if (isClosed) {
    return [...steps, ...when(isActive && hasIntent, "carryOutIntents"), ...when(isActive && isWaiting, "flush")]
  }
  // The log was read, and removes nobody.
  if (status === Status.LEAVING) return [...steps, ...when(local && shown, "confirmLeave")]
  if (local === undefined || (!isActive && status !== Status.CREATING)) return steps
  // A quarantined conversation accepts only the commits that directives request: that is how its quarantine ends.
  const isOpen = shown === undefined || shown.status === Conversation_Status.ACTIVE
  return [
    ...steps,
    ...when(isActive && shown && shown.epoch < local.group.epoch, "rejoinIfEpochLost"),
    // Before own requests: the service accepts no other commits while a removal is open.
    ...when(shown === undefined || shown.directives.length > 0, "carryOutDirectives"),
    ...when(isOpen && (staged || hasIntent), "carryOutIntents"),
    // Once the former credential has expired, the service accepts no other commit of this leaf.
    ...when(!hasIntent && !equalBytes(local.identityKey, ownKey), "renewLeaf"),
    ...when(isOpen && isWaiting, "flush"),
    ...when(isOpen, "renewOldLeaf"),
    ...when(shown && local.processedSeq > shown.headSeq, "checkLogEnd"),
  ]
}

const none = new Uint8Array()

const isInTransition = (record: StoredConversation["record"]): boolean =>
  record?.status === Status.CREATING || record?.status === Status.LEAVING

/**
 * True if the service has recorded a later position of this device: an older state was restored. Its ratchets were
 * used, so the next message would reuse a key and nonce.
 */
const isBehindCursor = ({ record, local }: StoredConversation, { cursor }: ServiceConversation): boolean =>
  (record?.status === Status.ACTIVE || commitsForOthers(record)) &&
  local !== undefined &&
  (cursor?.processedSeq ?? 0n) > local.processedSeq

/** True if the service reports the applied receipt. Earlier versions named none, which counts as equal. */
export const isSameReceipt = (receiptHead: Uint8Array, shown: Pick<ServiceConversation, "receiptHead">): boolean =>
  receiptHead.length === 0 || shown.receiptHead.length === 0 || equalBytes(receiptHead, shown.receiptHead)

/**
 * True if a member is neither to be removed nor to be added again. The service asserts this, so it has no final effect.
 */
function hasHelper({ shown, ownDeviceId }: Extract<RecoveryEvent, { on: "membersShown" }>): boolean {
  const { members = [], directives = [], status } = shown ?? {}
  // A closed conversation accepts no commit.
  if (status === Conversation_Status.CLOSED) return false
  return members.some(
    (member) =>
      member.deviceId !== ownDeviceId &&
      !directives.some(
        ({ userId, deviceId }) => userId === member.userId && (deviceId === "" || deviceId === member.deviceId),
      ),
  )
}

const to = (state: StoredConversation, ...effects: readonly RecoveryStep[]): Decision<RecoveryStep> => ({
  state,
  effects,
})

const when = (condition: unknown, step: RecoveryStep): RecoveryStep[] => (condition ? [step] : [])
