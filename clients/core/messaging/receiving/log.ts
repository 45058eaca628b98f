import { create } from "@bufbuild/protobuf"
import {
  type ConversationRecord,
  ConversationRecordSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { type Conversation, Directive_Status, DirectiveKind } from "@signet/proto/messaging/v1/records"
import { failureOf, isFailure } from "../../errors.ts"
import type { Context } from "../context.ts"
import { isUnreachable } from "../conversation/backoff.ts"
import { isAway, isReading } from "../conversation/status.ts"
import type { Held } from "../state/held.ts"
import { applyEnvelopes, batchSize } from "./apply.ts"

const pageSize = 200

/** Takes in everything that there is, and says how far it came. */
export async function catchUp(context: Context, conversationId: string): Promise<Held> {
  const door = context.door(conversationId)
  const { conversations } = context.calls
  let from: bigint | undefined
  for (;;) {
    const { record, seat } = await door.held()
    if (seat === undefined || !isReading(record)) break
    from ??= seat.processedSeq
    let page: Awaited<ReturnType<typeof conversations.listMessages>>
    try {
      page = await conversations.listMessages({ conversationId, afterSeq: seat.processedSeq, limit: pageSize })
    } catch (error) {
      if (isFailure(error, "RESOURCE_UNRESOLVED") && record?.status === Status.CREATING)
        await waitForWelcome(context, conversationId)
      else if (isFailure(error, "LOG_PRUNED")) await requestRejoin(context, conversationId)
      else throw error
      break
    }
    if (page.headSeq < seat.processedSeq) {
      if (await isPastHead(context, conversationId, seat.processedSeq)) await requestRejoin(context, conversationId)
      break
    }
    for (let at = 0; at < page.envelopes.length; at += batchSize) {
      await applyEnvelopes(context, conversationId, page.envelopes.slice(at, at + batchSize))
    }
    const now = (await door.held()).seat
    if (page.envelopes.length === 0 || now === undefined || now.processedSeq === seat.processedSeq) break
    if (now.processedSeq >= page.headSeq) break
  }
  await reportQuarantine(context, conversationId)
  const held = await door.held()
  if (held.seat !== undefined && held.seat.processedSeq !== from) await acknowledge(context, conversationId, held.seat)
  return held
}

/**
 * Whether what was read is not in the log: other places were told for it, and none of them counts any more. One page may
 * be late, so the conversation itself is asked, too.
 */
async function isPastHead({ calls }: Context, conversationId: string, processedSeq: bigint): Promise<boolean> {
  const { conversation } = await calls.conversations.getConversation({ conversationId })
  return conversation !== undefined && conversation.headSeq < processedSeq
}

/** Only moves the device's cursor: one that fails is made up for by the next. */
async function acknowledge(context: Context, conversationId: string, seat: NonNullable<Held["seat"]>): Promise<void> {
  const { processedSeq, group } = seat
  if (processedSeq === 0n) return
  try {
    const processedEpoch = group.epoch
    await context.calls.conversations.ackMessages({ conversationId, processedSeq, processedEpoch })
  } catch (error) {
    context.emit({ is: "failed", conversationId, error })
  }
}

/** Tells the service what was found, until it knows. */
export async function reportQuarantine(context: Context, conversationId: string): Promise<void> {
  const door = context.door(conversationId)
  const { quarantine } = (await door.held()).record ?? {}
  if (quarantine === undefined || quarantine.isReported) return
  const { epoch, seq, fault, stateTag } = quarantine
  try {
    await context.calls.conversations.reportFork({ conversationId, epoch, seq, fault, stateTag })
  } catch (error) {
    context.emit({ is: "failed", conversationId, error })
    // A service that does not take it, since its log says something else now, is not asked again.
    if (isUnreachable(error) || failureOf(error) === undefined) return
  }
  await changeRecord(context, conversationId, (record) => ({
    ...record,
    quarantine: { ...quarantine, isReported: true },
  }))
}

/**
 * Asks to be removed and let in again, since the device cannot follow or must not send.
 *
 * Somebody else has to do both. What is held stays until the welcome comes. Where the service knows of nobody who could,
 * the conversation is stranded: the person begins another one.
 */
export async function requestRejoin(context: Context, conversationId: string): Promise<void> {
  await context.calls.conversations.requestRejoin({ conversationId })
  const status = await statusAway(context, conversationId)
  await changeRecord(context, conversationId, (record) => ({ ...record, status }))
}

/** Looks again for whoever could let this device in: others may have come, or have asked for the same meanwhile. */
export async function lookForHelp(context: Context, { id, directives }: Conversation): Promise<void> {
  const { device, owner } = context
  const isAsked = directives.some(({ kind, status, userId, deviceId }) => {
    const isOwn = userId === owner.userId && deviceId === device.id
    return isOwn && kind === DirectiveKind.REJOIN && status === Directive_Status.OPEN
  })
  if (!isAsked) return
  const status = await statusAway(context, id)
  const { record } = await context.door(id).held()
  if (isAway(record) && record?.status !== status) await changeRecord(context, id, (before) => ({ ...before, status }))
}

/** Whether a member is in that is not itself to go, or to be let in again, is the service's word: it ends nothing. */
async function statusAway({ calls, device }: Context, conversationId: string): Promise<Status> {
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
async function waitForWelcome(context: Context, conversationId: string): Promise<void> {
  await context.door(conversationId).change(async ({ record }) => {
    if (record === undefined) return { result: undefined }
    const waiting = create(ConversationRecordSchema, { ...record, status: Status.WAITING })
    return { next: { record: waiting, seat: undefined, staged: undefined }, result: undefined }
  })
}

export async function changeRecord(
  context: Pick<Context, "door">,
  conversationId: string,
  next: (record: ConversationRecord) => Parameters<typeof create<typeof ConversationRecordSchema>>[1],
): Promise<void> {
  await context.door(conversationId).change(async (held) => {
    if (held.record === undefined) return { result: undefined }
    return { next: { ...held, record: create(ConversationRecordSchema, next(held.record)) }, result: undefined }
  })
}
