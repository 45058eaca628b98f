import { create } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { buildConversationBinding } from "@signet/canonical/conversation-binding"
import {
  type ConversationRecord,
  ConversationRecordSchema,
  type IntentRecord,
  IntentRecordSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { ConversationKind as BindingKind } from "@signet/proto/credential/v1/envelope_aad"
import { type Authorization, type Conversation, ConversationKind } from "@signet/proto/messaging/v1/records"
import { failureOf } from "../../errors.ts"
import { type Context, nowSeconds } from "../context.ts"
import { writeDeviceRows } from "../device/device-rows.ts"
import { isMessagingError, MessagingError } from "../errors.ts"
import { bytesOfId, isId } from "../ids.ts"
import { usersIn } from "../receiving/roster.ts"
import { treeHashOf } from "../state/door.ts"
import type { Held, Seat } from "../state/held.ts"
import { deviceSpace, type Op } from "../store/store.ts"
import { isUnreachable } from "../sync/pause.ts"
import { carryOutIntents, type Intent, newIntent, putIntent } from "./intents.ts"
import { type Authorized, isStaleClaim, stageCommit } from "./staging.ts"

/** With whom. */
export type NewConversation = { readonly peerUserId: string } | { readonly userIds: readonly string[] }

const creationPlace = (key: string) => ({ space: deviceSpace, table: "creation", key }) as const

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
  const { peerUserId, userIds, idempotencyKey } = record.change.value
  const begun: Op = { op: "remove", ...creationPlace(intent.id) }
  try {
    const { conversation, authorization } = await context.calls.conversations.createConversation({
      kind: peerUserId === "" ? { case: "group", value: { userIds } } : { case: "direct", value: { peerUserId } },
      idempotencyKey,
      claimId: record.claimId,
    })
    const made = checkedConversation(context, conversation, peerUserId)
    const { id } = made
    await context.door(id).change(async (held) => {
      if (held.record !== undefined) {
        await checkHeld(context, held, intent.id, peerUserId)
        const record = create(ConversationRecordSchema, { ...held.record, directUserIds: directUsers(made) })
        return { next: { ...held, record }, ops: [begun], result: undefined }
      }
      if (authorization === undefined) {
        // A new group is its maker's to begin: whoever had begun it chose its members.
        if (peerUserId === "") throw refused("a group that somebody else has begun")
        return { next: { ...held, record: recordOf(made, Status.WAITING) }, ops: [begun], result: undefined }
      }
      const next = await begin(context, made, authorization, intent)
      return { next, ops: [begun], due: [putIntent(intent)], result: undefined }
    })
    await finishCreation(context, id, intent.id)
    return id
  } catch (error) {
    if (isUnreachable(error)) throw new MessagingError("QUEUED", "the service cannot be reached", { cause: error })
    // Refused for good: it is not begun again.
    if (failureOf(error) !== undefined) await writeDeviceRows(context, [begun])
    throw error
  }
}

/** Whoever was first with the first commit lets this device in: it waits then. */
async function finishCreation(context: Context, id: string, intentId: string): Promise<void> {
  try {
    await context.lane(id, () => carryOutIntents(context, id, intentId))
  } catch (error) {
    const { record } = await context.door(id).held()
    if (!isMessagingError(error, "CONVERSATION_NOT_ACTIVE") || record?.status !== Status.WAITING) throw error
  }
}

/** @throws MessagingError ANSWER_REFUSED for a conversation other than what was asked for. */
function checkedConversation({ owner }: Context, made: Conversation | undefined, peerUserId: string): Conversation {
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
  { record, seat }: Held,
  intentId: string,
  peerUserId: string,
): Promise<void> {
  if (peerUserId === "") {
    // What another tab has made of this very intent took it away in the same transaction.
    const [begun] = (await store.read(deviceSpace, [creationPlace(intentId)])).values
    if (begun !== undefined) throw refused("a conversation that is here already")
    return
  }
  const users = [...(record?.directUserIds ?? []), ...(seat === undefined ? [] : usersIn(seat.group))]
  const isTheirs = record?.isDirect === true && users.every((user) => user === owner.userId || user === peerUserId)
  if (!isTheirs) throw refused("a conversation with somebody else")
}

const refused = (message: string): MessagingError => new MessagingError("ANSWER_REFUSED", message)

function recordOf(made: Conversation, status: Status): ConversationRecord {
  const { kind, mlsGroupId } = made
  const isDirect = kind === ConversationKind.DIRECT
  return create(ConversationRecordSchema, { status, isDirect, mlsGroupId, directUserIds: directUsers(made) })
}

const directUsers = ({ kind, userIds }: Conversation): string[] => (kind === ConversationKind.DIRECT ? userIds : [])

const day = 86_400

/** A group of one, and the commit that lets the others in. */
async function begin(context: Context, made: Conversation, authorization: Authorization, intent: Intent) {
  const { owner, device, engine } = context
  const now = nowSeconds(context)
  const isDirect = made.kind === ConversationKind.DIRECT
  const identity = device.identity()
  const group = await engine.createGroup({
    groupId: made.mlsGroupId,
    identity,
    binding: buildConversationBinding({
      tenantId: owner.tenant,
      appId: owner.app,
      conversationId: bytesOfId("cnv", made.id),
      kind: isDirect ? BindingKind.DIRECT : BindingKind.GROUP,
    }),
    notBefore: now - 3_600,
    notAfter: now + 30 * day,
  })
  const seat: Seat = {
    group,
    processedSeq: 0n,
    receipt: "first",
    leafRenewedAt: now,
    identityKey: identity.signatureKey,
    treeHash: treeHashOf({ group }),
  }
  const record = recordOf(made, Status.CREATING)
  const asked = membersAsked(context, intent.record)
  const held = { record, seat, staged: undefined }
  const isAsked: Authorized["isAsked"] = ({ userId }) => asked.includes(userId)
  const staged = await stageCommit(context, made.id, held, intent.id, { does: "add", authorization, isAsked }).catch(
    (error: unknown) => {
      // Its intent asks again, for what is claimed then.
      if (isStaleClaim(error)) return undefined
      throw error
    },
  )
  return { record, seat, staged }
}

function membersAsked({ owner }: Context, { change }: IntentRecord): string[] {
  if (change.case !== "create") return []
  const { peerUserId, userIds } = change.value
  return [owner.userId, peerUserId, ...userIds]
}
