// Creates conversations. Two users have at most one direct conversation; a repeated call returns it.
import type { HandlerContext } from "@connectrpc/connect"
import { concat, utf8 } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import { Refused } from "@signet/kernel/errors"
import { idBytes, newId, type PrincipalId } from "@signet/kernel/ids"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { Conversation, MessagingDevice } from "@signet/kernel/messaging/records"
import type { CreateConversationRequest } from "@signet/proto/messaging/v1/conversation_service"
import { ConversationSchema } from "@signet/proto/messaging/v1/records"
import { deviceOf } from "../../../serving/call/calling-device.ts"
import { detail, detailed } from "../../../serving/call/detailed.ts"
import { authorize } from "../authorize.ts"
import { counted } from "../counted.ts"
import type { MessagingDeps } from "../deps.ts"
import { inventoryShape } from "../device/device-shape.ts"
import { conversationEvent } from "../events.ts"
import { ensureUnblocked, usersAt } from "../people.ts"
import { limitExceeded } from "../refusing.ts"
import { conversationShape } from "./conversation-shape.ts"

/** @throws Refused what the contract lists of CreateConversation. */
export async function createConversation(
  deps: MessagingDeps,
  context: HandlerContext,
  request: CreateConversationRequest,
) {
  const device = deviceOf(context)
  const { kind, others } = othersOf(request, device.userId)
  await counted(deps, context, "messaging_create", { user: device.userId })
  const userIds = await usersAt(deps, device, [device.userId, ...others])
  await ensureUnblocked(deps, device, [], userIds)
  const made = newConversation(deps, device, kind, userIds)
  const { idempotencyKey } = request
  const by = { deviceId: device.id, idempotencyKey, requestHash: requestHash(kind, userIds) }
  const event = conversationEvent(deps, context, made, made.createdAtMs, { kind: "conversation.created" })
  const created = await deps.store.conversations.create(made, by, event)
  if (created.is === "mismatch") throw new Refused("IDEMPOTENCY_MISMATCH")
  if (created.is === "full") {
    throw limitExceeded("conversations_per_user", maxCount.conversationsPerUser)
  }
  const { conversation } = created
  if (created.is === "created") {
    deps.wakeups.publish([{ is: "member", deviceId: device.id, conversationId: conversation.id }])
  }
  const isOpen = conversation.epoch === 0n && conversation.status === "ACTIVE"
  const first = { change: { is: "create" }, baseEpoch: 0n, baseStateTag: null, claimId: request.claimId } as const
  const authorization = isOpen
    ? await authorize(deps, context, conversation, first).catch((error: unknown) => {
        throw withConversation(error, conversation)
      })
    : undefined
  const inventory = await deps.store.keyPackages.inventory(device.id, deps.clock.nowMs())
  return {
    conversation: conversationShape(conversation, undefined),
    ...(authorization === undefined ? {} : { authorization }),
    inventory: inventoryShape(inventory),
  }
}

/** Attaches the pending conversation to NO_KEY_PACKAGE: the caller has no other way to learn its id. */
function withConversation(error: unknown, conversation: Conversation): unknown {
  if (!(error instanceof Refused) || error.reason !== "NO_KEY_PACKAGE") return error
  return detailed(error, detail(ConversationSchema, conversationShape(conversation, undefined)))
}

function othersOf({ kind }: CreateConversationRequest, self: PrincipalId) {
  if (kind.case === "direct") {
    if (kind.value.peerUserId === self) {
      throw new Refused("INVALID_FIELD", {
        message: "peer_user_id must not be the caller",
        metadata: { field: "direct.peer_user_id" },
      })
    }
    return { kind: "DIRECT", others: [kind.value.peerUserId] } as const
  }
  return { kind: "GROUP", others: kind.value?.userIds ?? [] } as const
}

function newConversation(
  { clock, random, leavesPerConversation }: Pick<MessagingDeps, "clock" | "random" | "leavesPerConversation">,
  { appId, tenantId, userId }: MessagingDevice,
  kind: Conversation["kind"],
  userIds: readonly PrincipalId[],
): Conversation {
  const nowMs = clock.nowMs()
  const id = newId("cnv", nowMs, random.bytes(10))
  return {
    id,
    appId,
    tenantId,
    mlsGroupId: concat(idBytes(id), random.bytes(16)),
    kind,
    status: "ACTIVE",
    creatorUserId: userId,
    userIds,
    epoch: 0n,
    headSeq: 0n,
    firstSeq: 1n,
    headAtMs: 0,
    state: null,
    roster: [],
    directives: [],
    forkReports: [],
    maxLeaves: leavesPerConversation,
    createdAtMs: nowMs,
  }
}

/** The same for the same users in any order. */
const requestHash = (kind: Conversation["kind"], userIds: readonly PrincipalId[]): Uint8Array =>
  hash("request", utf8([kind, ...userIds.toSorted()].join(" ")))
