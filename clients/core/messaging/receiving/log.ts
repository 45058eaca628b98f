import { create } from "@bufbuild/protobuf"
import {
  type ConversationRecord,
  ConversationRecordSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import {
  Directive_Status,
  DirectiveKind,
  type Conversation as ServiceConversation,
} from "@signet/proto/messaging/v1/records"
import { failureOf, isFailure } from "../../errors.ts"
import type { Conversation } from "../context.ts"
import { isUnreachable } from "../conversation/backoff.ts"
import { isAway, isReading } from "../conversation/status.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import { applyEnvelopes, batchSize } from "./apply.ts"

const pageSize = 200

/** Takes in everything that there is, and says how far it came. */
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
      if (isFailure(error, "RESOURCE_UNRESOLVED") && record?.status === Status.CREATING)
        await waitForWelcome(conversation)
      else if (isFailure(error, "LOG_PRUNED")) await requestRejoin(conversation)
      else throw error
      break
    }
    if (page.headSeq < local.processedSeq) {
      if (await isPastHead(conversation, local.processedSeq)) await requestRejoin(conversation)
      break
    }
    for (let at = 0; at < page.envelopes.length; at += batchSize) {
      await applyEnvelopes(conversation, page.envelopes.slice(at, at + batchSize))
    }
    const now = (await conversation.stored()).local
    if (page.envelopes.length === 0 || now === undefined || now.processedSeq === local.processedSeq) break
    if (now.processedSeq >= page.headSeq) break
  }
  await reportQuarantine(conversation)
  const stored = await conversation.stored()
  if (stored.local !== undefined && stored.local.processedSeq !== from) await acknowledge(conversation, stored.local)
  return stored
}

/**
 * True if the log is shorter than what this device has processed, so the service has withdrawn or renumbered envelopes.
 * A page may be stale, so the conversation is queried, too.
 */
async function isPastHead({ calls, id: conversationId }: Conversation, processedSeq: bigint): Promise<boolean> {
  const { conversation } = await calls.conversations.getConversation({ conversationId })
  return conversation !== undefined && conversation.headSeq < processedSeq
}

/** Only moves the device's cursor: one that fails is made up for by the next. */
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

/** Tells the service what was found, until it knows. */
export async function reportQuarantine(conversation: Conversation): Promise<void> {
  const { quarantine } = (await conversation.stored()).record ?? {}
  if (quarantine === undefined || quarantine.isReported) return
  const { epoch, seq, fault, stateTag } = quarantine
  try {
    await conversation.calls.conversations.reportFork({ conversationId: conversation.id, epoch, seq, fault, stateTag })
  } catch (error) {
    conversation.emit({ is: "failed", conversationId: conversation.id, error })
    // A service that does not take it, since its log says something else now, is not asked again.
    if (isUnreachable(error) || failureOf(error) === undefined) return
  }
  await changeRecord(conversation, (record) => ({
    ...record,
    quarantine: { ...quarantine, isReported: true },
  }))
}

/**
 * Asks to be removed and let in again, since the device cannot follow or must not send.
 *
 * Somebody else has to do both. What is stored stays until the welcome comes. Where the service knows of nobody who
 * could, the conversation is stranded: the person begins another one.
 */
export async function requestRejoin(conversation: Conversation): Promise<void> {
  await conversation.calls.conversations.requestRejoin({ conversationId: conversation.id })
  const status = await statusAway(conversation)
  await changeRecord(conversation, (record) => ({ ...record, status }))
}

/** Looks again for whoever could let this device in: others may have come, or have asked for the same meanwhile. */
export async function lookForHelp(conversation: Conversation, { directives }: ServiceConversation): Promise<void> {
  const { device, owner } = conversation
  const isAsked = directives.some(({ kind, status, userId, deviceId }) => {
    const isOwn = userId === owner.userId && deviceId === device.id
    return isOwn && kind === DirectiveKind.REJOIN && status === Directive_Status.OPEN
  })
  if (!isAsked) return
  const status = await statusAway(conversation)
  const { record } = await conversation.stored()
  if (isAway(record) && record?.status !== status) await changeRecord(conversation, (before) => ({ ...before, status }))
}

/** Whether a member is in that is not itself to go, or to be let in again, is the service's word: it ends nothing. */
async function statusAway({ calls, device, id: conversationId }: Conversation): Promise<Status> {
  const { conversation } = await calls.conversations.getConversation({ conversationId })
  const { members = [], directives = [] } = conversation ?? {}
  const isAnyoneLeft = members.some(
    (member) =>
      member.deviceId !== device.id &&
      !directives.some(
        ({ userId, deviceId }) => userId === member.userId && (deviceId === "" || deviceId === member.deviceId),
      ),
  )
  return isAnyoneLeft ? Status.WAITING : Status.STRANDED
}

/** Somebody else's first commit was taken, and this device is not in by it. */
async function waitForWelcome(conversation: Conversation): Promise<void> {
  await conversation.change(async ({ record }) => {
    if (record === undefined) return { result: undefined }
    const waiting = create(ConversationRecordSchema, { ...record, status: Status.WAITING })
    return { next: { record: waiting, local: undefined, staged: undefined }, result: undefined }
  })
}

export async function changeRecord(
  conversation: Conversation,
  next: (record: ConversationRecord) => Parameters<typeof create<typeof ConversationRecordSchema>>[1],
): Promise<void> {
  await conversation.change(async (stored) => {
    if (stored.record === undefined) return { result: undefined }
    return { next: { ...stored, record: create(ConversationRecordSchema, next(stored.record)) }, result: undefined }
  })
}
