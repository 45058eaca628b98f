import { type ConversationRecord, ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { Conversation_Status, type Conversation as ServiceConversation } from "@signet/proto/messaging/v1/records"
import { followBlocks } from "../blocking.ts"
import type { Context, Conversation } from "../context.ts"
import { isSameReceipt } from "../conversation/recovery.ts"
import { nowSeconds } from "../deps.ts"
import { keepBound } from "../device/binding.ts"
import { addOwnDevices } from "../device/own-devices.ts"
import { refillKeyPackages, replaceKeyPackages } from "../joining/key-packages.ts"
import { askForLostWelcomes } from "../joining/lost-welcomes.ts"
import { askForUnjoined } from "../joining/unjoined.ts"
import { joinAll } from "../joining/welcomes.ts"
import { carryOutCreations } from "../sending/creation.ts"
import { shrinkTail, tailOf, tailsToRemove } from "../state/tail.ts"
import { deviceSpace } from "../store/store.ts"
import { trying } from "./background.ts"
import { allPages } from "./pages.ts"
import { isLeafOld, renewLeafLater, settle } from "./settle.ts"

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
  // A conversation that only the service lists is joined by a welcome.
  for (const id of here) {
    const conversation = context.conversation(id)
    await trying(context, id, async () => {
      if (await isQuiet(conversation, shown.get(id))) return
      await conversation.inTurn(() => settle(conversation, shown.get(id)))
    })
  }
  await trying(context, undefined, () => boundTails(context, here))
  await trying(context, undefined, () => askForLostWelcomes(context, shown.values()))
  await trying(context, undefined, () => askForUnjoined(context))
  await trying(context, undefined, async () => void (await addOwnDevices(context)))
}

/**
 * True if a conversation has no work, here or at the service, by its record alone. Sync then skips it without opening
 * its state, because most conversations are unchanged.
 */
async function isQuiet(conversation: Conversation, shown: ServiceConversation | undefined): Promise<boolean> {
  const record = await conversation.record()
  if (shown?.status !== Conversation_Status.ACTIVE || record?.status !== Status.ACTIVE) return false
  const { outline, due, pendingConsume } = record
  if (outline === undefined || outline.isStaged || due.length > 0 || pendingConsume !== undefined) return false
  const { epoch, processedSeq, receiptHead } = outline
  const isThere = shown.headSeq === processedSeq && shown.epoch === epoch && isSameReceipt(receiptHead, shown)
  const isAhead = shown.cursor !== undefined && shown.cursor.processedSeq > processedSeq
  const isFresh = !isLeafOld(conversation, Number(outline.leafRenewedAt))
  return isThere && !isAhead && isFresh && shown.directives.length === 0
}

/** Removes stored envelopes of conversations that this device has left, or beyond the total bound. */
async function boundTails(context: Context, here: readonly string[]): Promise<void> {
  const tails: (ReturnType<typeof tailOf> & Pick<ConversationRecord, "status"> & { conversation: Conversation })[] = []
  for (const id of here) {
    const conversation = context.conversation(id)
    const record = await conversation.record()
    if (record !== undefined && record.tailCount > 0)
      tails.push({ ...tailOf(record), status: record.status, conversation })
  }
  for (const { conversation } of tailsToRemove(tails)) await removeTail(conversation)
}

async function removeTail(conversation: Conversation): Promise<void> {
  for (let isEmpty = false; !isEmpty; ) {
    isEmpty = await conversation.change(async (stored) => {
      const { state: next, ops, isEmpty: result } = await shrinkTail(conversation, conversation.id, stored)
      return { next, ops, result }
    })
  }
}

async function listConversations(context: Context): Promise<ServiceConversation[]> {
  let version = 0n
  const all = await allPages(async (pageToken) => {
    const page = await context.calls.conversations.listConversations({ pageToken, pageSize: 200 })
    version = page.blockListVersion
    return { items: page.conversations, nextPageToken: page.nextPageToken }
  })
  await trying(context, undefined, () => followBlocks(context, version))
  return all
}

/**
 * Renews the credential in the last quarter of its lifetime. A failure stops the sync only if the credential has
 * expired.
 */
async function keepCredential(context: Context): Promise<void> {
  const { device } = context
  const now = nowSeconds(context)
  const quarter = (device.notAfter - device.notBefore) / 4
  if (now >= device.notAfter) await renewCredential(context)
  else if (now >= device.notAfter - quarter) await trying(context, undefined, () => renewCredential(context))
  // The previous renewal was interrupted, or a registration returned the new credential.
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
