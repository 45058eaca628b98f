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
import type { Context, Conversation } from "../context.ts"
import { isUnreachable } from "../conversation/backoff.ts"
import { writeDeviceRows } from "../device/device-rows.ts"
import { isMessagingError, MessagingError } from "../errors.ts"
import { bytesOfId, isId } from "../ids.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import { deviceSpace, type Op } from "../store/store.ts"
import { creationPlace, type Intent, newClaimId, newIntent, putIntent } from "./intent-rows.ts"
import { carryOutIntents } from "./intents.ts"
import { newGroup } from "./new-group.ts"
import { dropAll } from "./queue.ts"
import { isStaleClaim, stageCommit } from "./staging.ts"

/** With whom. */
export type NewConversation = { readonly peerUserId: string } | { readonly userIds: readonly string[] }

/** Makes a conversation. @returns Its id: it is in, or waits for the welcome of whoever was first. */
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

/** Goes on with what was begun before a restart. */
export async function carryOutCreations(context: Context): Promise<void> {
  for (const { key, value } of await context.store.list(deviceSpace, "creation")) {
    const record = await context.rows.read(creationPlace(key), IntentRecordSchema, value)
    await carryOutCreation(context, { id: key, record })
  }
}

async function carryOutCreation(context: Context, intent: Intent): Promise<string> {
  const { record } = intent
  if (record.change.case !== "create") throw new MessagingError("STATE_TAMPERED", "not a creation")
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
    await context.conversation(id).change(async (stored) => {
      const { record } = stored
      if (record !== undefined) await checkHeld(context, stored, intent.id, peerUserId)
      const isUnbegun = record === undefined || isWaitingForKeyPackages(record) || isOver(record)
      if (isUnbegun && authorization !== undefined) {
        const next = await begin(context, made, authorization, intent)
        return { next, ops: [begun], due: [putIntent(intent)], result: undefined }
      }
      if (record !== undefined) {
        // Asked for again, a direct conversation is wanted again.
        const status = isOver(record) && record.isDirect ? Status.WAITING : record.status
        const over = { directUserIds: directUsers(made), creationId: "", status }
        const known = create(ConversationRecordSchema, { ...record, ...over })
        return { next: { ...stored, record: known }, ops: [begun], result: undefined }
      }
      // A new group is its maker's to begin: whoever had begun it chose its members.
      if (peerUserId === "") throw refused("a group that somebody else has begun")
      return { next: { ...stored, record: recordOf(made, Status.WAITING) }, ops: [begun], result: undefined }
    })
    await finishCreation(context.conversation(id), intent.id)
    return id
  } catch (error) {
    if (isUnreachable(error)) throw new MessagingError("QUEUED", "the service cannot be reached", { cause: error })
    if (await refuseWaiting(context, intent, error)) throw error
    // Refused for good: it is not begun again.
    if (failureOf(error) !== undefined) await writeDeviceRows(context, [begun])
    throw error
  }
}

type Created = Pick<CreateConversationResponse, "conversation" | "authorization">

/** What the service made or had. Without an authorization at epoch 0, nobody else can be added yet. */
async function askToCreate(context: Context, { id, record: { change, claimId } }: Intent): Promise<Created> {
  if (change.case !== "create") throw new MessagingError("STATE_TAMPERED", "not a creation")
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
    // An earlier service names none.
    if (conversation === undefined) throw error
    return { conversation }
  }
}

/** Asks for the first commit of a conversation that is there: creations are few an hour, and this is tried often. */
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
    if (isFailure(error, "NO_KEY_PACKAGE")) return { conversation: at(0n) }
    // Somebody else has begun it since: this device waits for its welcome.
    if (isFailure(error, "STALE_EPOCH")) return { conversation: at(1n) }
    throw error
  }
}

const isOver = ({ status }: ConversationRecord): boolean => status === Status.REMOVED

export const isWaitingForKeyPackages = ({ status, creationId }: ConversationRecord): boolean =>
  status === Status.WAITING && creationId !== ""

/** The conversation is there, and has nobody to write to yet: its creation stays, and is carried out again. */
async function waitForKeyPackages(
  context: Context,
  made: ServiceConversation,
  { id, record }: Intent,
  peerUserId: string,
): Promise<void> {
  await context.conversation(made.id).change(async (stored) => {
    const known = stored.record
    // Another tab ended this creation meanwhile, in the transaction that this one would compare with.
    const [begun] = (await context.store.read(deviceSpace, [creationPlace(id)])).values
    if (begun === undefined) return { result: undefined }
    if (known !== undefined) await checkHeld(context, stored, id, peerUserId)
    // Another creation waits for the same pair: one is enough.
    if (known !== undefined && !isOver(known) && known.creationId !== id) {
      return { ops: [{ op: "remove", ...creationPlace(id) }], result: undefined }
    }
    // The claim may have been answered with nothing, and would be for good.
    const again = create(IntentRecordSchema, { ...record, claimId: newClaimId(context) })
    const op = await context.rows.put(creationPlace(id), IntentRecordSchema, again)
    if (known?.creationId === id) return { ops: [{ ...op, space: deviceSpace }], result: undefined }
    const waiting = create(ConversationRecordSchema, { ...recordOf(made, Status.WAITING), creationId: id })
    return { next: { ...stored, record: waiting }, ops: [{ ...op, space: deviceSpace }], result: undefined }
  })
}

/**
 * What becomes of a conversation that waits, when its creation is refused: the peer may be gone for good, and else it is
 * tried again. @returns Whether there is such a conversation.
 */
async function refuseWaiting(context: Context, { id }: Intent, error: unknown): Promise<boolean> {
  if (failureOf(error) === undefined) return false
  const conversationId = await waitingUnder(context, id)
  if (conversationId === undefined) return false
  if (!isFailure(error, "RESOURCE_UNRESOLVED", "INVALID_FIELD")) return true
  await context.conversation(conversationId).change(async (stored) => {
    if (stored.record?.creationId !== id) return { result: undefined }
    const over = create(ConversationRecordSchema, { ...stored.record, status: Status.REMOVED, creationId: "" })
    const { due, emit } = dropAll(conversationId, stored.record, error)
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

/** One conversation whose record was put back does not stop the creation of others. Opening that one reports it. */
function untrusted(error: unknown): undefined {
  if (!isMessagingError(error, "STATE_TAMPERED")) throw error
}

/** Goes on with the creation of one conversation that waits for key packages. */
export async function carryOutCreationOf(context: Context, creationId: string): Promise<void> {
  const [value] = (await context.store.read(deviceSpace, [creationPlace(creationId)])).values
  if (value === undefined) return
  const record = await context.rows.read(creationPlace(creationId), IntentRecordSchema, value)
  await carryOutCreation(context, { id: creationId, record })
}

/** Whoever was first with the first commit lets this device in: it waits then. */
async function finishCreation(conversation: Conversation, intentId: string): Promise<void> {
  try {
    await conversation.inTurn(() => carryOutIntents(conversation, intentId))
  } catch (error) {
    const { record } = await conversation.stored()
    const isToWait = isMessagingError(error, "CONVERSATION_NOT_ACTIVE") || isFailure(error, "NO_KEY_PACKAGE")
    if (!isToWait || record?.status !== Status.WAITING) throw error
  }
}

/** @throws MessagingError ANSWER_REFUSED for a conversation other than what was asked for. */
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
  if (!fits) throw refused("not the conversation that was asked for")
  return made
}

/**
 * A conversation that is here already answers for the one with a peer, and for nothing else: what is written to those who
 * were asked for would be read by others.
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
    // What another tab has made of this very intent took it away in the same transaction.
    const [begun] = (await store.read(deviceSpace, [creationPlace(intentId)])).values
    if (begun !== undefined) throw refused("a conversation that is here already")
    return
  }
  const users = [...(record?.directUserIds ?? []), ...(local === undefined ? [] : usersIn(local.group))]
  const isTheirs = record?.isDirect === true && users.every((user) => user === owner.userId || user === peerUserId)
  if (!isTheirs) throw refused("a conversation with somebody else")
}

const refused = (message: string): MessagingError => new MessagingError("ANSWER_REFUSED", message)

function recordOf(made: ServiceConversation, status: Status): ConversationRecord {
  const { kind, mlsGroupId } = made
  const isDirect = kind === ConversationKind.DIRECT
  return create(ConversationRecordSchema, { status, isDirect, mlsGroupId, directUserIds: directUsers(made) })
}

const directUsers = ({ kind, userIds }: ServiceConversation): string[] =>
  kind === ConversationKind.DIRECT ? userIds : []

/** A group of one, and the commit that lets the others in. */
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
    // Its intent asks again, for what is claimed then.
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
