import { create } from "@bufbuild/protobuf"
import {
  ConversationRecordSchema,
  type IntentRecord,
  IntentRecordSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { failureOf, isFailure } from "../../errors.ts"
import { rosterOf, usersIn } from "../checks/roster.ts"
import type { Conversation } from "../context.ts"
import { groupToCommit } from "../conversation/status.ts"
import { isMessagingError, MessagingError } from "../errors.ts"
import type { Person } from "../events.ts"
import { type GroupState, stateTag } from "../mls.ts"
import { pendingIn } from "../state/pending-rows.ts"
import { deviceSpace } from "../store/store.ts"
import { commit } from "./commits.ts"
import { carryOutDirectives } from "./directives.ts"
import {
  creationPlace,
  type Intent,
  type IntentChange,
  newClaimId,
  newIntent,
  putIntent,
  removeIntent,
} from "./intent-rows.ts"
import type { Plan } from "./staging.ts"

/** Stores a requested change and carries it out. After a crash, a later sync completes it. */
export async function ask(conversation: Conversation, change: IntentChange): Promise<void> {
  const asked = await conversation.change(async (stored) => {
    groupToCommit(stored)
    const intent = newIntent(conversation, change, pendingIn(stored.record, "intent").at(-1)?.key)
    return { due: [putIntent(intent)], result: intent }
  })
  await conversation.inTurn(() => carryOutIntents(conversation, asked.id))
}

/**
 * Carries out the stored requests of a conversation in order. Runs in the turn of the conversation.
 *
 * @param upTo The last request to carry out; its refusal is thrown. Refusals of earlier ones were reported already.
 */
export async function carryOutIntents(conversation: Conversation, upTo?: string): Promise<void> {
  for (const intent of await conversation.pending("intent", IntentRecordSchema)) {
    try {
      await carryOutIntent(conversation, intent)
    } catch (error) {
      if (!isRefusedForGood(error)) throw error
      await giveUp(conversation, intent, error)
      if (intent.id === upTo) throw error
      conversation.emit({ is: "failed", conversationId: conversation.id, error })
    }
    if (intent.id === upTo) return
  }
}

/** True for a refusal that a retry cannot change. A local failure, such as of the store, is no refusal. */
function isRefusedForGood(error: unknown): boolean {
  if (isMessagingError(error)) return !isMessagingError(error, "QUEUED", "CONFLICT_EXHAUSTED")
  return failureOf(error) !== undefined
}

async function carryOutIntent(conversation: Conversation, { id, record }: Intent): Promise<void> {
  const done = await commit(
    conversation,
    id,
    async ({ group }, attempt) => {
      const claimId = attempt === 0 ? record.claimId : newClaimId(conversation)
      return planOf(conversation, group, record, claimId)
    },
    () => carryOutDirectives(conversation),
  )
  if (done === "nothing") await giveUp(conversation, { id, record })
}

/**
 * Drops an intent. If it created or reset a group that no other device has joined, it drops the group as well: the
 * conversation waits again and keeps its queued messages.
 */
async function giveUp(conversation: Conversation, intent: Intent, error?: unknown): Promise<void> {
  const { id, record: asked } = intent
  const again = create(IntentRecordSchema, { ...asked, claimId: newClaimId(conversation) })
  await conversation.change(async (stored) => {
    const due = [removeIntent(id)]
    const { record } = stored
    // The claimed key packages have expired, and the peer has no others, or this user has blocked the peer since.
    const isUnbegun = asked.change.case === "create" && isFailure(error, "NO_KEY_PACKAGE", "USER_BLOCKED")
    const isBegun = record?.status === Status.CREATING && (asked.change.case === "reset" || isUnbegun)
    if (record === undefined || !isBegun) return { due, result: undefined }
    const waits = { status: Status.WAITING, creationId: isUnbegun ? id : "" }
    const next = {
      record: create(ConversationRecordSchema, { ...record, ...waits }),
      local: undefined,
      staged: undefined,
    }
    const op = { ...(await conversation.rows.put(creationPlace(id), IntentRecordSchema, again)), space: deviceSpace }
    return { next, due, ops: isUnbegun ? [op] : [], result: undefined }
  })
}

async function planOf(
  conversation: Conversation,
  group: GroupState,
  { change }: IntentRecord,
  claimId: string,
): Promise<Plan | "nothing"> {
  const { conversations } = conversation.calls
  const base = { baseEpoch: group.epoch, baseStateTag: stateTag(group) }
  try {
    switch (change.case) {
      case "update":
        return "update"
      case "create": {
        // Another device was first, and has added this one.
        if (group.epoch > 0n) return "nothing"
        const first = { ...base, baseStateTag: new Uint8Array() }
        const { authorization } = await conversations.authorizeMembership({
          conversationId: conversation.id,
          ...first,
          change: { case: "create", value: { claimId } },
        })
        const { peerUserId, userIds } = change.value
        const isAsked = isOneOf({ userIds: [conversation.owner.userId, peerUserId, ...userIds], deviceIds: [] })
        return authorization === undefined ? "nothing" : { does: "add", authorization, isAsked }
      }
      case "add":
      case "remove": {
        const { userIds, deviceIds } = change.value
        const subjects = { userIds, deviceIds }
        const { authorization } = await conversations.authorizeMembership({
          conversationId: conversation.id,
          ...base,
          change:
            change.case === "add"
              ? { case: "add", value: { ...subjects, claimId } }
              : { case: "remove", value: subjects },
        })
        if (authorization === undefined) return nothingLeft(group, change)
        const isAsked = change.case === "add" ? await isToAdd(conversation, group, subjects) : isOneOf(subjects)
        return { does: change.case, authorization, isAsked }
      }
      // The staged reset was refused. The next sync requests another one.
      case "reset":
      case "carryOut":
      case undefined:
        // A change of a later version.
        return "nothing"
    }
  } catch (error) {
    if (isFailure(error, "NOTHING_TO_DO")) return nothingLeft(group, change)
    throw error
  }
}

/**
 * Checks the service's answer that a change is done already.
 *
 * @throws MessagingError ANSWER_REFUSED if a member remains.
 */
function nothingLeft(group: GroupState, change: IntentRecord["change"]): "nothing" {
  const isDone = change.case !== "remove" || ![...rosterOf(group).values()].some(isOneOf(change.value))
  if (!isDone) throw new MessagingError("ANSWER_REFUSED", "a user or device to remove is still a member")
  return "nothing"
}

interface Subjects {
  readonly userIds: readonly string[]
  readonly deviceIds: readonly string[]
}

/**
 * Permits the addition of single devices only for users who are members: a user may have been removed since the
 * request.
 */
async function isToAdd(conversation: Conversation, group: GroupState, { userIds, deviceIds }: Subjects) {
  const { record } = await conversation.stored()
  const present = new Set([...usersIn(group), ...(record?.directUserIds ?? []), conversation.owner.userId])
  return ({ userId, deviceId }: Person) =>
    userIds.includes(userId) || (deviceIds.includes(deviceId) && present.has(userId))
}

const isOneOf =
  ({ userIds, deviceIds }: Subjects) =>
  ({ userId, deviceId }: Person) =>
    userIds.includes(userId) || deviceIds.includes(deviceId)
