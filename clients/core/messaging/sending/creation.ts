import { create } from "@bufbuild/protobuf"
import { ConnectError } from "@connectrpc/connect"
import { equalBytes } from "@signet/canonical/bytes"
import {
  type ConversationRecord,
  ConversationRecordSchema,
  type IntentRecord,
  IntentRecordSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import type { CreateConversationResponse } from "@signet/proto/messaging/v1/conversation_service"
import {
  type Authorization,
  ConversationKind,
  ConversationSchema,
  type Conversation as ServiceConversation,
} from "@signet/proto/messaging/v1/records"
import { failureOf, isFailure } from "../../errors.ts"
import type { Authorized } from "../checks/authorization.ts"
import { usersIn } from "../checks/roster.ts"
import { withFreshKeys } from "../checks/with-fresh-keys.ts"
import type { Context, Conversation } from "../context.ts"
import { isUnreachable } from "../conversation/backoff.ts"
import { writeDeviceRows } from "../device/device-rows.ts"
import { isMessagingError, MessagingError } from "../errors.ts"
import { bytesOfId, isId } from "../ids.ts"
import { pendingIn } from "../state/pending-rows.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import { tailOf } from "../state/tail.ts"
import { deviceSpace, type Op } from "../store/store.ts"
import { creationPlace, type Intent, newClaimId, newIntent, putIntent } from "./intent-rows.ts"
import { carryOutIntents } from "./intents.ts"
import { newGroup } from "./new-group.ts"
import { dropAll } from "./outbox-rows.ts"
import { isStaleClaim, stageCommit } from "./staging.ts"

/** The other members of a new conversation. */
export type NewConversation = { readonly peerUserId: string } | { readonly userIds: readonly string[] }

/** Creates a conversation. @returns Its id. If another device created it first, this one waits for a welcome. */
export async function createConversation(context: Context, asked: NewConversation): Promise<string> {
  const intent = newIntent(context, {
    case: "create",
    value: {
      ...("peerUserId" in asked ? { peerUserId: asked.peerUserId } : { userIds: [...asked.userIds] }),
      idempotencyKey: context.random.bytes(16),
    },
  })
  const op = await context.rows.put(creationPlace(intent.id), IntentRecordSchema, intent.record)
  await writeDeviceRows(context, [op])
  return carryOutCreation(context, intent)
}

/** Continues creations from before a restart. */
export async function carryOutCreations(context: Context): Promise<void> {
  for (const { key, value } of await context.store.list(deviceSpace, "creation")) {
    const record = await context.rows.read(creationPlace(key), IntentRecordSchema, value)
    await carryOutCreation(context, { id: key, record })
  }
}

async function carryOutCreation(context: Context, intent: Intent): Promise<string> {
  const { record } = intent
  if (record.change.case !== "create") throw new MessagingError("STATE_TAMPERED", "the row is no creation")
  const { peerUserId } = record.change.value
  const begun: Op = { op: "remove", ...creationPlace(intent.id) }
  try {
    const { conversation, authorization } = await askToCreate(context, intent)
    const made = checkedConversation(context, conversation, peerUserId)
    const { id } = made
    if (authorization === undefined && made.epoch === 0n) {
      await waitForKeyPackages(context, made, intent, peerUserId)
      return id
    }
    const stage = async (stored: StoredConversation) => {
      const { record } = stored
      if (record !== undefined) await checkHeld(context, stored, intent.id, peerUserId)
      const isUnbegun = record === undefined || isWaitingForKeyPackages(record) || isOver(record)
      if (isUnbegun && authorization !== undefined) {
        const group = await begin(context, made, authorization, intent)
        // The rows of an ended group's log stay.
        const next = { ...group, record: create(ConversationRecordSchema, { ...group.record, ...tailOf(record) }) }
        return { next, ops: [begun], due: [putIntent(intent)], result: undefined }
      }
      if (record !== undefined) {
        // The app requested a direct conversation that had ended, so it is reopened.
        const status = isOver(record) && record.isDirect ? Status.WAITING : record.status
        const over = { directUserIds: directUsers(made), creationId: "", status }
        const known = create(ConversationRecordSchema, { ...record, ...over })
        return { next: { ...stored, record: known }, ops: [begun], result: undefined }
      }
      // Only this device may make the first commit of its new group: another committer would choose the members.
      if (peerUserId === "") throw refused("another device has created the group")
      return { next: { ...stored, record: recordOf(made, Status.WAITING) }, ops: [begun], result: undefined }
    }
    await withFreshKeys(context, () => context.conversation(id).change(stage))
    await finishCreation(context.conversation(id), intent.id)
    return id
  } catch (error) {
    if (isUnreachable(error)) throw new MessagingError("QUEUED", "the service cannot be reached", { cause: error })
    if (await refuseWaiting(context, intent, error)) throw error
    // A permanent refusal: the creation is not retried.
    if (failureOf(error) !== undefined) await writeDeviceRows(context, [begun])
    throw error
  }
}

type Created = Pick<CreateConversationResponse, "conversation" | "authorization">

/**
 * Requests the conversation, new or existing. No authorization at epoch 0 means that no other user can be added yet.
 */
async function askToCreate(context: Context, { id, record: { change, claimId } }: Intent): Promise<Created> {
  if (change.case !== "create") throw new MessagingError("STATE_TAMPERED", "the row is no creation")
  const { peerUserId, userIds, idempotencyKey } = change.value
  const waiting = await waitingUnder(context, id)
  if (waiting !== undefined) return askAgain(context.conversation(waiting), claimId)
  try {
    return await context.calls.conversations.createConversation({
      kind: peerUserId === "" ? { case: "group", value: { userIds } } : { case: "direct", value: { peerUserId } },
      idempotencyKey,
      claimId,
    })
  } catch (error) {
    if (!isFailure(error, "NO_KEY_PACKAGE")) throw error
    const [conversation] = ConnectError.from(error).findDetails(ConversationSchema)
    // An earlier version of the service does not name the conversation.
    if (conversation === undefined) throw error
    return { conversation }
  }
}

/**
 * Requests the first commit of an existing conversation. Retries use this call, because creations are strictly
 * rate-limited.
 */
async function askAgain(conversation: Conversation, claimId: string): Promise<Created> {
  const { owner, calls } = conversation
  const { record } = await conversation.stored()
  if (record === undefined) throw new TypeError("a conversation that waits has a record")
  const { isDirect, mlsGroupId, directUserIds: userIds } = record
  const kind = isDirect ? ConversationKind.DIRECT : ConversationKind.GROUP
  const place = { appId: owner.appId, tenantId: owner.tenantId ?? "" }
  const at = (epoch: bigint) =>
    create(ConversationSchema, { id: conversation.id, kind, mlsGroupId, userIds, epoch, ...place })
  try {
    const change = { case: "create", value: { claimId } } as const
    const { authorization } = await calls.conversations.authorizeMembership({ conversationId: conversation.id, change })
    return { conversation: at(0n), ...(authorization && { authorization }) }
  } catch (error) {
    // After USER_BLOCKED the creation continues once the user has unblocked the peer.
    if (isFailure(error, "NO_KEY_PACKAGE", "USER_BLOCKED")) return { conversation: at(0n) }
    // Another device made the first commit: this one waits for its welcome.
    if (isFailure(error, "STALE_EPOCH")) return { conversation: at(1n) }
    throw error
  }
}

const isOver = ({ status }: ConversationRecord): boolean => status === Status.REMOVED

export const isWaitingForKeyPackages = ({ status, creationId }: ConversationRecord): boolean =>
  status === Status.WAITING && creationId !== ""

/** Keeps the creation of an existing conversation until another user has key packages. */
async function waitForKeyPackages(
  context: Context,
  made: ServiceConversation,
  { id, record }: Intent,
  peerUserId: string,
): Promise<void> {
  await context.conversation(made.id).change(async (stored) => {
    const known = stored.record
    // Another tab has completed this creation since, in one transaction.
    const [begun] = (await context.store.read(deviceSpace, [creationPlace(id)])).values
    if (begun === undefined) return { result: undefined }
    if (known !== undefined) await checkHeld(context, stored, id, peerUserId)
    // Another creation of the same direct conversation is pending.
    if (known !== undefined && !isOver(known) && known.creationId !== id) {
      return { ops: [{ op: "remove", ...creationPlace(id) }], result: undefined }
    }
    // The service repeats its answer to a claim id, which may have been empty, so the next attempt uses another id.
    const again = create(IntentRecordSchema, { ...record, claimId: newClaimId(context) })
    const op = await context.rows.put(creationPlace(id), IntentRecordSchema, again)
    if (known?.creationId === id) return { ops: [{ ...op, space: deviceSpace }], result: undefined }
    const waiting = create(ConversationRecordSchema, { ...recordOf(made, Status.WAITING), creationId: id })
    return { next: { ...stored, record: waiting }, ops: [{ ...op, space: deviceSpace }], result: undefined }
  })
}

/**
 * Handles the refusal of a pending creation: ends the conversation if the peer was deleted, and otherwise keeps it for
 * a retry. @returns True if there is such a conversation.
 */
async function refuseWaiting(context: Context, { id }: Intent, error: unknown): Promise<boolean> {
  if (failureOf(error) === undefined) return false
  const conversationId = await waitingUnder(context, id)
  if (conversationId === undefined) return false
  if (!isFailure(error, "RESOURCE_UNRESOLVED", "INVALID_FIELD")) return true
  await context.conversation(conversationId).change(async (stored) => {
    if (stored.record?.creationId !== id) return { result: undefined }
    const over = create(ConversationRecordSchema, { ...stored.record, status: Status.REMOVED, creationId: "" })
    const waiting = pendingIn(stored.record, "outbox").map(({ key }) => key)
    const { due, emit } = dropAll(conversationId, waiting, error)
    const ops: Op[] = [{ op: "remove", ...creationPlace(id) }]
    return { next: { ...stored, record: over }, ops, due, emit, result: undefined }
  })
  return true
}

async function waitingUnder({ store, conversation }: Context, creationId: string): Promise<string | undefined> {
  for (const space of await store.spaces()) {
    if (space === deviceSpace) continue
    const record = await conversation(space).record().catch(untrusted)
    if (record?.creationId === creationId) return space
  }
  return undefined
}

/** Skips a conversation with a tampered record, which must not block other creations. Opening it reports the error. */
function untrusted(error: unknown): undefined {
  if (!isMessagingError(error, "STATE_TAMPERED")) throw error
}

/** Continues the creation of one conversation that waits for key packages. */
export async function carryOutCreationOf(context: Context, creationId: string): Promise<void> {
  const [value] = (await context.store.read(deviceSpace, [creationPlace(creationId)])).values
  if (value === undefined) return
  const record = await context.rows.read(creationPlace(creationId), IntentRecordSchema, value)
  await carryOutCreation(context, { id: creationId, record })
}

/** Makes the first commit. If another device's was first, this one waits for the welcome of that commit. */
async function finishCreation(conversation: Conversation, intentId: string): Promise<void> {
  try {
    await conversation.inTurn(() => carryOutIntents(conversation, intentId))
  } catch (error) {
    const { record } = await conversation.stored()
    const isToWait = isMessagingError(error, "CONVERSATION_NOT_ACTIVE") || isFailure(error, "NO_KEY_PACKAGE")
    if (!isToWait || record?.status !== Status.WAITING) throw error
  }
}

/** @throws MessagingError ANSWER_REFUSED for another conversation than the requested one. */
function checkedConversation(
  { owner }: Context,
  made: ServiceConversation | undefined,
  peerUserId: string,
): ServiceConversation {
  const isDirect = peerUserId !== ""
  const fits =
    made !== undefined &&
    made.appId === owner.appId &&
    made.tenantId === (owner.tenantId ?? "") &&
    made.kind === (isDirect ? ConversationKind.DIRECT : ConversationKind.GROUP) &&
    made.mlsGroupId.length === 32 &&
    isId("cnv", made.id) &&
    equalBytes(made.mlsGroupId.subarray(0, 16), bytesOfId("cnv", made.id)) &&
    (!isDirect || made.userIds.toSorted().join() === [owner.userId, peerUserId].sort().join())
  if (!fits) throw refused("the answer is about another conversation")
  return made
}

/**
 * Checks an answer that names a stored conversation: only the direct conversation with the requested peer is accepted.
 * Otherwise messages would go to other users than requested.
 *
 * @throws MessagingError ANSWER_REFUSED
 */
async function checkHeld(
  { store, owner }: Context,
  { record, local }: StoredConversation,
  intentId: string,
  peerUserId: string,
): Promise<void> {
  if (peerUserId === "") {
    if (record?.creationId === intentId) return
    // Another tab that has created the conversation by this intent has removed the intent in the same transaction.
    const [begun] = (await store.read(deviceSpace, [creationPlace(intentId)])).values
    if (begun !== undefined) throw refused("the conversation exists on this device already")
    return
  }
  const users = [...(record?.directUserIds ?? []), ...(local === undefined ? [] : usersIn(local.group))]
  const isTheirs = record?.isDirect === true && users.every((user) => user === owner.userId || user === peerUserId)
  if (!isTheirs) throw refused("the conversation is with another user")
}

const refused = (message: string): MessagingError => new MessagingError("ANSWER_REFUSED", message)

function recordOf(made: ServiceConversation, status: Status): ConversationRecord {
  const { kind, mlsGroupId } = made
  const isDirect = kind === ConversationKind.DIRECT
  return create(ConversationRecordSchema, { status, isDirect, mlsGroupId, directUserIds: directUsers(made) })
}

const directUsers = ({ kind, userIds }: ServiceConversation): string[] =>
  kind === ConversationKind.DIRECT ? userIds : []

/** Creates a group with one member, and stages the commit that adds the others. */
async function begin(context: Context, made: ServiceConversation, authorization: Authorization, intent: Intent) {
  const isDirect = made.kind === ConversationKind.DIRECT
  const at = { conversationId: made.id, mlsGroupId: made.mlsGroupId, isDirect, epoch: 0n, processedSeq: 0n }
  const local = await newGroup(context, at)
  const record = recordOf(made, Status.CREATING)
  const asked = membersAsked(context, intent.record)
  const stored = { record, local, staged: undefined }
  const isAsked: Authorized["isAsked"] = ({ userId }) => asked.includes(userId)
  const staged = await stageCommit(context.conversation(made.id), stored, intent.id, {
    does: "add",
    authorization,
    isAsked,
  }).catch((error: unknown) => {
    // The intent claims other key packages with the next attempt.
    if (isStaleClaim(error)) return undefined
    throw error
  })
  return { record, local, staged }
}

function membersAsked({ owner }: Context, { change }: IntentRecord): string[] {
  if (change.case !== "create") return []
  const { peerUserId, userIds } = change.value
  return [owner.userId, peerUserId, ...userIds]
}
