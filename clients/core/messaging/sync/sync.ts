import { equalBytes } from "@signet/canonical/bytes"
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { Conversation_Status, type Conversation as ServiceConversation } from "@signet/proto/messaging/v1/records"
import { usersIn } from "../checks/roster.ts"
import type { Context, Conversation } from "../context.ts"
import { isAway } from "../conversation/status.ts"
import { nowSeconds } from "../deps.ts"
import { keepBound } from "../device/binding.ts"
import { addOwnDevices } from "../device/own-devices.ts"
import { refillKeyPackages, replaceKeyPackages } from "../joining/key-packages.ts"
import { askForLostWelcomes } from "../joining/lost-welcomes.ts"
import { consume, joinAll } from "../joining/welcomes.ts"
import { handleEquivocation, isEquivocation, reportAndRejoin } from "../receiving/equivocation.ts"
import { catchUp, changeRecord, lookForHelp, requestRejoin } from "../receiving/log.ts"
import { carryOutCreations } from "../sending/creation.ts"
import { carryOutDirectives } from "../sending/directives.ts"
import { ask, carryOutIntents } from "../sending/intents.ts"
import { flush } from "../sending/outbox.ts"
import { flushIfActive } from "../sending/queue.ts"
import { isWanted, resetIfAllowed } from "../sending/reset.ts"
import { pendingIn } from "../state/pending-rows.ts"
import type { LocalGroup } from "../state/stored-conversation.ts"
import { deviceSpace } from "../store/store.ts"
import { inBackground, trying } from "./background.ts"
import { allPages } from "./pages.ts"

const day = 86_400
/** The keys of this device's leaf are replaced at least this often. */
const leafAgeSeconds = 7 * day
/** A device that is further behind does not read the log, but requests a rejoin. */
const maxCommitsBehind = 5_000n

/**
 * Synchronizes this device with the service: session binding, issuer keys, credential, key packages, welcomes, the log
 * of each conversation, and stored requests. A failure in one conversation is a `failed` event and does not stop the
 * others.
 */
export async function sync(context: Context): Promise<void> {
  await context.device.reload()
  await keepBound(context)
  await context.issuer.refresh()
  await keepCredential(context)
  await trying(context, undefined, () => refillKeyPackages(context))
  await joinAll(context)
  await trying(context, undefined, () => carryOutCreations(context))
  const shown = new Map((await listConversations(context)).map((one) => [one.id, one]))
  const here = (await context.store.spaces()).filter((space) => space !== deviceSpace)
  // What is shown and not here has no way in but a welcome.
  for (const id of here) {
    const conversation = context.conversation(id)
    await trying(context, id, async () => {
      if (await isQuiet(conversation, shown.get(id))) return
      await conversation.inTurn(() => settle(conversation, shown.get(id)))
    })
  }
  await trying(context, undefined, () => askForLostWelcomes(context, shown.values()))
  await trying(context, undefined, async () => void (await addOwnDevices(context)))
}

/**
 * Whether nothing is to be done for a conversation, here or there: then its state is not opened. Of many, most are
 * quiet. The record says so, which is of the state's own moment.
 */
async function isQuiet(conversation: Conversation, shown: ServiceConversation | undefined): Promise<boolean> {
  const record = await conversation.record()
  if (shown?.status !== Conversation_Status.ACTIVE || record?.status !== Status.ACTIVE) return false
  const { outline, due, pendingConsume } = record
  if (outline === undefined || outline.isStaged || due.length > 0 || pendingConsume !== undefined) return false
  const { epoch, processedSeq, receiptHead } = outline
  const isThere = shown.headSeq === processedSeq && shown.epoch === epoch && isSameReceipt(receiptHead, shown)
  const isAhead = shown.cursor !== undefined && shown.cursor.processedSeq > processedSeq
  const isFresh = nowSeconds(conversation) - Number(outline.leafRenewedAt) < leafAgeSeconds
  return isThere && !isAhead && isFresh && shown.directives.length === 0
}

/** One conversation, as far as it can be brought. Runs in the turn of the conversation. */
export async function settle(conversation: Conversation, shown: ServiceConversation | undefined): Promise<void> {
  await trying(conversation, conversation.id, () => consume(conversation))
  if (shown !== undefined) await checkRollback(conversation, shown)
  const { record: recordBefore, local: before } = await conversation.stored()
  if (before !== undefined && shown !== undefined && shown.epoch - before.group.epoch > maxCommitsBehind) {
    // Adding this device again costs the members less than reading the whole log costs this device.
    return recordBefore?.status === Status.ACTIVE ? requestRejoin(conversation) : undefined
  }
  const isBehind = shown === undefined || before === undefined || before.processedSeq < shown.headSeq
  const { record, local, staged } = isBehind ? await catchUp(conversation) : await conversation.stored()
  if (record?.status === Status.ROLLED_BACK) return requestRejoin(conversation)
  // The service withheld a commit that it has accepted, or showed this device another one.
  const isWhole = local === undefined || shown === undefined || isFollowed(local, shown)
  if (record?.status === Status.ACTIVE && !isWhole) return requestRejoin(conversation)
  if (record?.status === Status.ACTIVE && local !== undefined && shown?.epoch === local.group.epoch) {
    const { receipt } = local
    const isOther = receipt !== "first" && !isSameReceipt(receipt.hash, shown)
    if (isOther && (await handleEquivocation(conversation))) return
  }
  if (isEquivocation(record)) return reportAndRejoin(conversation)
  if (isAway(record) && shown !== undefined) await lookForHelp(conversation, shown)
  if (isAway(record)) {
    if (isWanted(await conversation.stored())) await resetIfAllowed(conversation)
    return flushIfActive(conversation)
  }
  const isLeft = record?.status === Status.ACTIVE || record?.status === Status.LEAVING
  if (isLeft && shown?.status === Conversation_Status.CLOSED && isAlone(conversation, local)) {
    return changeRecord(conversation, (before) => ({ ...before, status: Status.REMOVED }))
  }
  const isIn = record?.status === Status.ACTIVE || record?.status === Status.CREATING
  if (local === undefined || !isIn) return
  if (shown?.status === Conversation_Status.CLOSED) return
  // A quarantined one takes nothing but what directives ask for: that is how its quarantine ends.
  const isTaking = shown === undefined || shown.status === Conversation_Status.ACTIVE
  if (isTaking && (staged !== undefined || pendingIn(record, "intent").length > 0)) {
    await carryOutIntents(conversation)
  }
  // By a former credential no commit but this one is taken for long: it comes next, whatever becomes of the others.
  const isFormer = !equalBytes(local.identityKey, conversation.device.identity().signatureKey)
  if (isFormer && pendingIn(record, "intent").length === 0) renewLeafLater(conversation)
  if (shown === undefined || shown.directives.length > 0) await carryOutDirectives(conversation)
  if (!isTaking) return
  if (pendingIn(record, "outbox").length > 0) await flush(conversation)
  const now = (await conversation.stored()).local
  if (now !== undefined && nowSeconds(conversation) - now.leafRenewedAt >= leafAgeSeconds) renewLeafLater(conversation)
}

/** Whether who has read as far as the service was, is in the epoch that the service was in. */
const isFollowed = ({ processedSeq, group }: LocalGroup, { headSeq, epoch }: ServiceConversation): boolean =>
  processedSeq < headSeq || group.epoch >= epoch

/** Whether the service counts the receipt that was followed. None is named by what was stored before it was kept there. */
const isSameReceipt = (receiptHead: Uint8Array, shown: ServiceConversation): boolean =>
  receiptHead.length === 0 || shown.receiptHead.length === 0 || equalBytes(receiptHead, shown.receiptHead)

/**
 * Whether there is nobody else in it. A conversation is closed by the last user who leaves it, here, where the answer
 * was lost, or on another device; of one with others in it the service says what is not so.
 */
const isAlone = ({ owner }: Context, local: LocalGroup | undefined): boolean =>
  local !== undefined && usersIn(local.group).every((userId) => userId === owner.userId)

/** In a turn of its own. */
function renewLeafLater(conversation: Conversation): void {
  const update = { case: "update", value: {} } as const
  inBackground(conversation, conversation.id, () => ask(conversation, update))
}

/**
 * The service knows how far this device once was. A state that is behind it was put back, and its ratchets were used:
 * two messages under one key would open each other.
 */
async function checkRollback(conversation: Conversation, { cursor }: ServiceConversation): Promise<void> {
  // Read after the service was asked: another tab acknowledges only what is stored.
  const { record, local } = await conversation.stored()
  if (record?.status !== Status.ACTIVE || local === undefined || cursor === undefined) return
  if (cursor.processedSeq <= local.processedSeq) return
  await changeRecord(conversation, (before) => ({ ...before, status: Status.ROLLED_BACK }))
}

const listConversations = ({ calls }: Context): Promise<ServiceConversation[]> =>
  allPages(async (pageToken) => {
    const { conversations, nextPageToken } = await calls.conversations.listConversations({ pageToken, pageSize: 200 })
    return { items: conversations, nextPageToken }
  })

/** Renews the credential in the last quarter of its life, and puts it to use. One that is good still holds up nothing. */
async function keepCredential(context: Context): Promise<void> {
  const { device } = context
  const now = nowSeconds(context)
  const quarter = (device.notAfter - device.notBefore) / 4
  if (now >= device.notAfter) await renewCredential(context)
  else if (now >= device.notAfter - quarter) await trying(context, undefined, () => renewCredential(context))
  // Stopped in between, or the new one came with another answer.
  if (device.marks.hasFormerKeyPackages) await trying(context, undefined, () => useCredential(context))
}

export async function renewCredential(context: Context): Promise<void> {
  await context.device.renew(context)
  await useCredential(context)
}

async function useCredential(context: Context): Promise<void> {
  await replaceKeyPackages(context)
  for (const id of await context.store.spaces()) {
    if (id !== deviceSpace) renewLeafLater(context.conversation(id))
  }
}
