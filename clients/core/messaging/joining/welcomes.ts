import { create } from "@bufbuild/protobuf"
import { concat, equalBytes } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import {
  ConversationRecordSchema,
  ConversationRecord_PendingConsumeSchema as PendingConsumeSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { ConversationKind, type Envelope, Envelope_Kind, type Welcome } from "@signet/proto/messaging/v1/records"
import { isFailure } from "../../errors.ts"
import { personOf } from "../checks/credential.ts"
import { checkGroupInfo } from "../checks/group-info.ts"
import { Forked, faultOf, isVerdict, type Verdict, verdictReason } from "../checks/verdict.ts"
import { verificationContextOf } from "../checks/verification-context.ts"
import { checkWelcome, isOfFirstCommit, isOfReset } from "../checks/welcome.ts"
import { lastSeqBefore } from "../checks/welcome-order.ts"
import { withFreshKeys } from "../checks/with-fresh-keys.ts"
import type { Context, Conversation } from "../context.ts"
import { decideJoin, type Join, stepFor } from "../conversation/welcome.ts"
import { hex } from "../crypto/bytes.ts"
import { nowSeconds, type Storage } from "../deps.ts"
import { MessagingError } from "../errors.ts"
import { answeredId } from "../ids.ts"
import { changeOf, openDraft, perform } from "../receiving/draft.ts"
import { handleEquivocation } from "../receiving/equivocation.ts"
import { catchUp, changeRecord } from "../receiving/log.ts"
import { findAccepted, stillWaiting } from "../sending/accepted.ts"
import { findLost, resend } from "../sending/resend.ts"
import { type LocalGroup, nothingStored, type StoredConversation, treeHashOf } from "../state/stored-conversation.ts"
import { extendTail, withBeginning } from "../state/tail.ts"
import { keyOfSeq, seqOfKey } from "../state/timeline.ts"
import { trying } from "../sync/background.ts"
import { allPages } from "../sync/pages.ts"
import { asksConfirmation } from "../verification/peer-rows.ts"
import { findKeyPackage, useOps } from "./key-packages.ts"

/** Joins by every pending welcome. A refused one does not block the others. */
export async function joinAll(context: Context): Promise<void> {
  for (const welcome of await listWelcomes(context)) {
    const { conversationId } = welcome
    try {
      answeredId("cnv", conversationId)
      answeredId("wel", welcome.id)
      await context.inTurnFor(conversationId, () => joinOnce(context, welcome))
    } catch (error) {
      context.emit({ is: "failed", conversationId, error })
    }
  }
}

export const listWelcomes = ({ calls }: Context): Promise<Welcome[]> =>
  allPages(async (pageToken) => {
    const { welcomes, nextPageToken } = await calls.welcomes.listWelcomes({ pageToken })
    return { items: welcomes, nextPageToken }
  })

async function joinOnce(context: Context, welcome: Welcome): Promise<void> {
  const { conversationId } = welcome
  // An unknown id gets no handle, because a service can invent any number of ids.
  const before = (await context.has(conversationId))
    ? await context.conversation(conversationId).stored()
    : nothingStored
  switch (stepFor(before, welcome)) {
    case "consume":
      return consume(context.conversation(conversationId))
    case "consumeAgain":
      return consumeAgain(context, welcome)
    case "readLog": {
      const conversation = context.conversation(conversationId)
      const { record } = await catchUp(conversation)
      const isStillIn = record?.status === Status.ACTIVE && !(await handleEquivocation(conversation))
      if (isStillIn) throw refused("the device is already a member")
    }
  }
  try {
    await withFreshKeys(context, () => join(context, welcome))
  } catch (error) {
    if (!isVerdict(error)) throw error
    await report(context, welcome, error)
    throw new MessagingError("WELCOME_REFUSED", verdictReason(error), { cause: error })
  }
  await consume(context.conversation(conversationId))
}

/** Reports a commit that added this device but does not match its receipt or proof. A repeated report counts once. */
async function report(
  context: Context,
  { conversationId, epoch, commitSeq }: Welcome,
  verdict: Verdict,
): Promise<void> {
  const stateTag = verdict instanceof Forked ? verdict.stateTag : new Uint8Array()
  const found = { epoch: epoch - 1n, seq: commitSeq, fault: faultOf(verdict), stateTag }
  await trying(context, conversationId, async () => {
    await context.calls.conversations.reportFork({ conversationId, ...found })
  })
}

async function join(context: Context, welcome: Welcome): Promise<void> {
  const { conversationId } = welcome
  const keyPackage = await findKeyPackage(context, welcome)
  if (keyPackage === undefined) throw new MessagingError("KEY_PACKAGE_REUSED", "the key package is no longer stored")
  const { engine, random } = context
  const tree = await fetchTree(context, welcome)
  const joined = await engine.join({
    ...keyPackage,
    welcome: welcome.welcome,
    tree,
    identityKey: keyPackage.identityKey,
  })
  const record = create(ConversationRecordSchema, {
    status: Status.ACTIVE,
    isDirect: welcome.conversationKind === ConversationKind.DIRECT,
    mlsGroupId: welcome.mlsGroupId,
    joinedSeq: welcome.commitSeq,
    pendingConsume: { welcomeId: welcome.id, idempotencyKey: random.bytes(16) },
  })
  const verification = verificationContextOf(context, conversationId, record)
  const commit = await fetchCommit(context, welcome)
  const receipt = checkWelcome(verification, welcome, joined, keyPackage, commit.message)
  const shown = await context.calls.conversations.getGroupInfo({ conversationId })
  checkGroupInfo(shown, welcome, joined, receipt)
  const isToReturn = isOfFirstCommit(welcome) && shown.epoch === welcome.epoch
  const beginning = isToReturn ? [withBeginning(commit, { groupInfo: shown.groupInfo, tree })] : []
  const local: LocalGroup = {
    group: joined.state,
    processedSeq: welcome.commitSeq,
    receipt: { hash: receipt.hash, acceptedAtMs: receipt.body.acceptedAtMs },
    leafRenewedAt: nowSeconds(context),
    identityKey: keyPackage.identityKey,
    treeHash: treeHashOf({ group: joined.state }),
  }
  const conversation = context.conversation(conversationId)
  const at = { seq: welcome.commitSeq, atMs: Number(receipt.body.acceptedAtMs) }
  const [adder, isFirst] = [personOf(joined.adder.credential), isOfReset(welcome)]
  const found = await findAccepted(conversation)
  const lost = await findLost(conversation)
  await conversation.change(async (stored) => {
    const draft = openDraft(conversation, stored)
    const accepted = await stillWaiting(conversation, stored, found)
    const reset = await resetBy(conversation, welcome, stored)
    const isWithoutGroup = stored.record !== undefined && stored.local === undefined
    const isPlaced = accepted.length > 0 || reset !== undefined || isWithoutGroup
    const known = {
      ...{ accepted, reset, hasLaterEntry: await hasLaterEntry(context, welcome, stored) },
      readSeq: stored.local?.processedSeq ?? (isPlaced ? await lastPlace(conversation, stored) : 0n),
    }
    const decision = decideJoin(stored, {
      welcome,
      record,
      local,
      members: joined.members,
      at,
      adder,
      isFirst,
      ...known,
    })
    draft.stored = decision.state
    for (const effect of decision.effects) await perform(context, draft, effect)
    draft.due.push(...resend(conversation, stored, lost))
    const tail = await extendTail(context, conversationId, draft.stored, beginning)
    draft.stored = tail.state
    draft.ops.push(...tail.ops)
    draft.ops.push(...useOps(welcome.keyPackageRef, keyPackage.isLastResort, joined.state))
    return changeOf(context, draft, undefined)
  })
}

/** True if the timeline has an entry after the highest position that the welcome permits. */
async function hasLaterEntry({ store }: Storage, welcome: Welcome, { record }: StoredConversation): Promise<boolean> {
  if (record === undefined) return false
  const after = keyOfSeq(lastSeqBefore(welcome, record))
  return (await store.list(welcome.conversationId, "timeline", { after, limit: 1 })).length > 0
}

/** Present if a welcome is for another group than the stored one. */
async function resetBy(
  conversation: Conversation,
  welcome: Welcome,
  stored: StoredConversation,
): Promise<Join["reset"]> {
  const { record } = stored
  if (record === undefined || !(await isBreak(conversation, welcome, stored))) return undefined
  return { asksConfirmation: await asksConfirmation(conversation, record) }
}

/** True if a welcome is for another group than the one that this device has read. */
async function isBreak(
  { store }: Pick<Storage, "store">,
  { conversationId, mlsGroupId }: Welcome,
  { record }: StoredConversation,
): Promise<boolean> {
  if (record === undefined || equalBytes(record.mlsGroupId, mlsGroupId)) return false
  const read = await store.list(conversationId, "timeline", { limit: 1 })
  return read.length > 0 || record.joinedSeq > 0n
}

/** The last position that a device without a group state has read, by its timeline. */
async function lastPlace({ store, id: conversationId }: Conversation, { record }: StoredConversation): Promise<bigint> {
  let last = record?.joinedSeq ?? 0n
  for (let after = keyOfSeq(last); ; ) {
    const page = await store.list(conversationId, "timeline", { after, limit: 200 })
    const newest = page.at(-1)
    if (newest === undefined) return last
    after = newest.key
    last = seqOfKey(after)
  }
}

async function fetchCommit({ calls }: Context, { conversationId, commitSeq }: Welcome): Promise<Envelope> {
  const page = { conversationId, afterSeq: commitSeq - 1n, limit: 1 }
  const [envelope] = (await calls.conversations.listMessages(page)).envelopes
  const isIt = envelope?.seq === commitSeq && envelope.kind === Envelope_Kind.COMMIT
  if (!isIt) throw refused("the commit of the welcome is not in the log")
  return envelope
}

const maxTreeBytes = 4_194_304
/** A service sends chunks of one mebibyte. */
const maxTreeChunks = 64

async function fetchTree({ calls }: Context, { conversationId, treeHash }: Welcome): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for (let offset = 0, end = 1; offset < end; ) {
    const { chunk, size } = await calls.conversations.getTree({ conversationId, treeHash, offset })
    const isWhole = chunk.length > 0 && size <= maxTreeBytes && chunks.length < maxTreeChunks
    if (!isWhole) throw refused("the tree is incomplete")
    chunks.push(chunk)
    offset += chunk.length
    end = size
  }
  const tree = concat(...chunks)
  if (hex(hash("tree-blob", tree)) !== treeHash) throw refused("the tree is not the one that the welcome names")
  return tree
}

async function consumeAgain(context: Context, { id: welcomeId, conversationId }: Welcome): Promise<void> {
  const pendingConsume = create(PendingConsumeSchema, { welcomeId, idempotencyKey: context.random.bytes(16) })
  await changeRecord(context.conversation(conversationId), () => ({ pendingConsume }))
  await consume(context.conversation(conversationId))
}

/** Confirms the join to the service, which only then deletes the welcome. */
export async function consume(conversation: Conversation): Promise<void> {
  const { pendingConsume } = (await conversation.stored()).record ?? {}
  if (pendingConsume === undefined) return
  const { welcomeId, idempotencyKey } = pendingConsume
  try {
    await conversation.calls.welcomes.consumeWelcome({ welcomeId, idempotencyKey })
  } catch (error) {
    // The welcome was consumed by a call whose answer was lost, or it is void or expired: nothing is left to delete.
    if (!isFailure(error, "NOT_FOUND", "WELCOME_ALREADY_CONSUMED")) throw error
  }
  await changeRecord(conversation, ({ pendingConsume: now }) =>
    now?.welcomeId === welcomeId ? { pendingConsume: undefined } : undefined,
  )
}

function refused(message: string): MessagingError {
  return new MessagingError("WELCOME_REFUSED", message)
}
