import { type ConversationRecord, ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import {
  Conversation_Status,
  Directive_Status,
  DirectiveKind,
  type Conversation as ServiceConversation,
} from "@signet/proto/messaging/v1/records"
import { failureOf, isFailure } from "../../errors.ts"
import type { Context, Conversation } from "../context.ts"
import { isUnreachable } from "../conversation/backoff.ts"
import { decideRecovery, type RecoveryEvent, type RecoveryStep } from "../conversation/recovery.ts"
import { isReading } from "../conversation/status.ts"
import { type RecordChanges, type StoredConversation, withRecord } from "../state/stored-conversation.ts"
import { applyEnvelopes, batchSize } from "./apply.ts"
import { resubmitTail } from "./resubmit.ts"

const pageSize = 200

/** Applies the log to its end. @returns The resulting state. */
export async function catchUp(conversation: Conversation): Promise<StoredConversation> {
  const { conversations } = conversation.calls
  let from: bigint | undefined
  for (;;) {
    const { record, local } = await conversation.stored()
    if (local === undefined || !isReading(record)) break
    from ??= local.processedSeq
    let page: Awaited<ReturnType<typeof conversations.listMessages>>
    try {
      page = await conversations.listMessages({
        conversationId: conversation.id,
        afterSeq: local.processedSeq,
        limit: pageSize,
      })
    } catch (error) {
      const reason = failureOf(error)?.reason
      // The service has lost the whole conversation.
      const isUnknown = reason === "RESOURCE_UNRESOLVED" && record?.status === Status.ACTIVE
      if (isUnknown && (await resubmitTail(conversation, 0n))) continue
      const isLost = reason === "RESOURCE_UNRESOLVED" && record?.status === Status.CREATING
      if (!isLost && reason !== "LOG_PRUNED") throw error
      const [step] = await decideOn(conversation, { on: "logRefused", reason })
      if (step !== undefined) await requestRejoin(conversation)
      break
    }
    if (page.headSeq < local.processedSeq) {
      const headSeq = await headBefore(conversation, local.processedSeq)
      if (headSeq !== undefined && !(await resubmitTail(conversation, headSeq))) await requestRejoin(conversation)
      break
    }
    for (let at = 0; at < page.envelopes.length; at += batchSize) {
      await applyEnvelopes(conversation, page.envelopes.slice(at, at + batchSize), "log", true)
    }
    const { local: now, record: after } = await conversation.stored()
    const [first] = page.envelopes
    // The log continues beyond a gap, and not at the distance that follows this device's position.
    const isElsewhere = first !== undefined && now !== undefined && first.seq > now.processedSeq + 1n
    if (isElsewhere && isReading(after) && after?.status === Status.ACTIVE) {
      await requestRejoin(conversation)
      break
    }
    if (page.envelopes.length === 0 || now === undefined || now.processedSeq === local.processedSeq) break
    if (now.processedSeq >= page.headSeq) break
  }
  await reportQuarantine(conversation)
  const stored = await conversation.stored()
  if (stored.local !== undefined && stored.local.processedSeq !== from) await acknowledge(conversation, stored.local)
  return stored
}

/**
 * The end of the log if it is before what this device has processed: the service has lost, withdrawn or renumbered
 * envelopes. A page may be stale, so the conversation is queried, too.
 */
async function headBefore({ calls, id: conversationId }: Conversation, processedSeq: bigint) {
  const { conversation } = await calls.conversations.getConversation({ conversationId })
  return conversation !== undefined && conversation.headSeq < processedSeq ? conversation.headSeq : undefined
}

/** Moves the device's cursor at the service. A failure is corrected by the next call. */
async function acknowledge(conversation: Conversation, local: NonNullable<StoredConversation["local"]>): Promise<void> {
  const { processedSeq, group } = local
  if (processedSeq === 0n) return
  try {
    const processedEpoch = group.epoch
    await conversation.calls.conversations.ackMessages({
      conversationId: conversation.id,
      processedSeq,
      processedEpoch,
    })
  } catch (error) {
    conversation.emit({ is: "failed", conversationId: conversation.id, error })
  }
}

/** Reports a quarantine to the service, until a report succeeds. */
export async function reportQuarantine(conversation: Conversation): Promise<void> {
  const { quarantine } = (await conversation.stored()).record ?? {}
  if (quarantine === undefined || quarantine.isReported) return
  const { epoch, seq, fault, stateTag, reason } = quarantine
  try {
    await conversation.calls.conversations.reportFork({ conversationId: conversation.id, epoch, seq, fault, stateTag })
  } catch (error) {
    conversation.emit({ is: "failed", conversationId: conversation.id, error })
    // A report that the service refuses, because its log differs now, is not repeated.
    if (isUnreachable(error) || failureOf(error) === undefined) return
  }
  await changeRecord(conversation, ({ quarantine: now }) =>
    now?.seq === seq && now.reason === reason ? { quarantine: { ...now, isReported: true } } : undefined,
  )
}

/**
 * Requests that another member removes and adds this device, because it cannot apply the log or must not send. The
 * stored data stays until the welcome arrives. If the service knows of no such member, the conversation is stranded,
 * and the app must create another one.
 *
 * @param by The app may request it for a device that has no fault.
 */
export async function requestRejoin(conversation: Conversation, by: "app" | "device" = "device"): Promise<void> {
  const processedSeq = (await conversation.stored()).local?.processedSeq ?? 0n
  await conversation.calls.conversations.requestRejoin({ conversationId: conversation.id, processedSeq })
  await findHelper(conversation, await showMembers(conversation), by)
}

/**
 * Requests a rejoin if the service is in an earlier epoch than this device: it has lost a commit, and has used the
 * sequence number of that commit again. The own state is read first, so that no later commit of another tab counts.
 */
export async function rejoinIfEpochLost(conversation: Conversation): Promise<boolean> {
  const { record, local } = await conversation.stored()
  if (record?.status !== Status.ACTIVE || local === undefined) return false
  const { conversation: shown } = await conversation.calls.conversations.getConversation({
    conversationId: conversation.id,
  })
  // A shorter log gets its end back first.
  const isLost = shown !== undefined && shown.epoch < local.group.epoch && shown.headSeq >= local.processedSeq
  if (isLost) await requestRejoin(conversation)
  return isLost
}

/**
 * Looks for a member that could add this device: others may have joined, left, or requested the same since.
 *
 * @param listed Undefined if the service's list lacks the conversation, because this device has no leaf in it.
 */
export async function lookForHelp(conversation: Conversation, listed: ServiceConversation | undefined): Promise<void> {
  if (listed !== undefined && !isHelpDue(conversation, listed)) return
  const shown = await showMembers(conversation)
  if (shown === undefined || isHelpDue(conversation, shown)) await findHelper(conversation, shown, undefined)
}

/** True if this device has requested to be added, or if the conversation is closed. */
const isHelpDue = ({ device, owner }: Context, { directives, status }: ServiceConversation): boolean =>
  status === Conversation_Status.CLOSED ||
  directives.some(
    (one) =>
      one.kind === DirectiveKind.REJOIN &&
      one.status !== Directive_Status.DONE &&
      one.userId === owner.userId &&
      one.deviceId === device.id,
  )

/** Undefined for a conversation that the service does not know, or whose members include no device of the user. */
export async function showMembers({
  calls,
  id: conversationId,
}: Pick<Conversation, "calls" | "id">): Promise<ServiceConversation | undefined> {
  try {
    return (await calls.conversations.getConversation({ conversationId })).conversation
  } catch (error) {
    if (!isFailure(error, "RESOURCE_UNRESOLVED")) throw error
    return undefined
  }
}

async function findHelper(
  conversation: Conversation,
  shown: ServiceConversation | undefined,
  askedBy: "app" | "device" | undefined,
): Promise<void> {
  await conversation.stored()
  await decideOn(conversation, { on: "membersShown", shown, ownDeviceId: conversation.device.id, askedBy })
}

/** Decides on the stored state, in one transaction. @returns The next steps. */
export const decideOn = (conversation: Conversation, event: RecoveryEvent): Promise<readonly RecoveryStep[]> =>
  conversation.change(async (stored) => {
    const { state, effects } = decideRecovery(stored, event)
    return { next: state, result: effects }
  })

/**
 * Changes fields of the stored record. `changesOf` gets the record as it is now, which another tab may have changed
 * during a call to the service; undefined changes nothing.
 */
export const changeRecord = (
  conversation: Conversation,
  changesOf: (record: ConversationRecord) => RecordChanges | undefined,
): Promise<void> =>
  conversation.change(async (stored) => {
    const changes = stored.record && changesOf(stored.record)
    return { next: changes ? withRecord(stored, changes) : stored, result: undefined }
  })
