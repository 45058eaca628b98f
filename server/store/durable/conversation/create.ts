// Creates conversations over several objects, none of which writes another. First a name is taken: the pair's object,
// or the creator device's object with its idempotency key, determines the id. Then the conversation is created under
// it. After an interruption, the next call creates the conversation under the named id.
import type { AuditEvent } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import { type ConversationId, idBytes } from "@signet/kernel/ids"
import { maxCount } from "@signet/kernel/messaging/limits"
import { placeHeld } from "@signet/kernel/messaging/moving"
import type { Conversations } from "@signet/kernel/messaging/ports"
import type { Conversation } from "@signet/kernel/messaging/records"
import { ask } from "../asking.ts"
import type { DurableEnv } from "../env.ts"
import { pairName, placeName, userName } from "../names.ts"

type Create = Conversations["create"]
type Created = Awaited<ReturnType<Create>>
type Creator = Parameters<Create>[1]

const mostTries = 10

export const createConversation =
  (env: DurableEnv): Create =>
  (conversation, by, audit) =>
    conversation.kind === "DIRECT" ? createDirect(env, conversation, audit) : createGroup(env, conversation, by, audit)

async function createDirect(env: DurableEnv, conversation: Conversation, audit: AuditEvent): Promise<Created> {
  const name = () => env.NAMES.getByName(pairName(conversation, conversation.userIds))
  const holderOf = (id: ConversationId) => ({ owner: id, at: "" })
  // The conversation that the pair names may be closed meanwhile.
  for (let tried = 0; tried < mostTries; tried++) {
    const named = await ask(() => name().holder())
    const id = conversationIdOf(named?.owner)
    const there = id && (await ask(() => env.CONVERSATIONS.getByName(id).find()))
    if (there !== undefined && there.status !== "CLOSED") return { is: "there", conversation: there }
    if (await isFull(env, conversation)) return { is: "full" }
    const holder =
      there === undefined
        ? await ask(() => name().take(holderOf(conversation.id)))
        : await ask(() => name().replace(there.id, holderOf(conversation.id)))
    const taken = conversationIdOf(holder.owner)
    if (taken === undefined || taken === there?.id) continue
    const created = await createAs(env, taken, conversation, audit)
    if (created.conversation.status !== "CLOSED") return created
  }
  throw new Refused("UNAVAILABLE", { cause: new Error("a direct conversation can be neither found nor created") })
}

async function createGroup(
  env: DurableEnv,
  conversation: Conversation,
  { deviceId, idempotencyKey, requestHash }: Creator,
  audit: AuditEvent,
): Promise<Created> {
  const device = () => env.DEVICES.getByName(deviceId)
  const named = await ask(() => device().groupOfKey(idempotencyKey, requestHash))
  if (named === "mismatch") return { is: "mismatch" }
  const there = named && (await ask(() => env.CONVERSATIONS.getByName(named).find()))
  if (there !== undefined) return { is: "there", conversation: there }
  if (await isFull(env, conversation)) return { is: "full" }
  const id = await ask(() => device().takeGroupKey(idempotencyKey, requestHash, conversation.id))
  return id === "mismatch" ? { is: "mismatch" } : createAs(env, id, conversation, audit)
}

/** Creates the conversation under the named id, which the group id and the audit event then have too. */
async function createAs(
  env: DurableEnv,
  id: ConversationId,
  conversation: Conversation,
  audit: AuditEvent,
): Promise<{ is: "created" | "there"; conversation: Conversation }> {
  const admitted = { conversationId: id, createdAtMs: conversation.createdAtMs }
  const there = await ask(() => env.PLACES.getByName(placeName(conversation)).admit(admitted))
  if (!there) throw placeHeld()
  if (id === conversation.id) return ask(() => env.CONVERSATIONS.getByName(id).create(conversation, audit))
  const mlsGroupId = conversation.mlsGroupId.slice()
  mlsGroupId.set(idBytes(id))
  const isAbout = audit.target?.type === "conversation" && audit.target.id === conversation.id
  const event = isAbout ? { ...audit, target: { type: "conversation", id } } : audit
  return ask(() => env.CONVERSATIONS.getByName(id).create({ ...conversation, id, mlsGroupId }, event))
}

async function isFull(env: DurableEnv, conversation: Conversation): Promise<boolean> {
  const most = maxCount.conversationsPerUser
  const user = env.USERS.getByName(userName(conversation.creatorUserId, conversation))
  return (await ask(() => user.countConversations(most))) >= most
}

/** Only conversations hold the name of a pair. */
const conversationIdOf = (owner: string | undefined): ConversationId | undefined => owner as ConversationId | undefined
