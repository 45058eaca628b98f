// Directives: membership changes that another member must commit. They are issued, listed and leased.
import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { newId, parseId } from "@signet/kernel/ids"
import { type DirectiveDecision, decideLease, decideLeave, decideRejoin } from "@signet/kernel/messaging/directive"
import type { Conversation, Directive } from "@signet/kernel/messaging/records"
import { leafOf } from "@signet/kernel/messaging/roster"
import type { RequestRejoinRequest } from "@signet/proto/messaging/v1/conversation_service"
import { deviceOf } from "../../../serving/call/calling-device.ts"
import { countChange, counted } from "../counted.ts"
import type { MessagingDeps } from "../deps.ts"
import { conversationEvent, ofDirective } from "../events.ts"
import { seen, unresolved } from "./seen.ts"

/**
 * @returns The directive; null when the conversation is closed. @throws Refused NOT_MEMBER,
 * MEMBERSHIP_CHANGE_NOT_ALLOWED
 */
export async function leave(deps: MessagingDeps, context: HandlerContext, conversationId: string) {
  const conversation = await seen(deps, context, conversationId)
  await countChange(deps, context)
  const { userId } = deviceOf(context)
  return ask(
    deps,
    context,
    conversation,
    (asked) => (current) => decideLeave(current, { ...asked, userId, deviceId: null }),
  )
}

/** @throws Refused NOT_MEMBER, CONVERSATION_CLOSED, RATE_LIMITED */
export async function requestRejoin(
  deps: MessagingDeps,
  context: HandlerContext,
  { conversationId, processedSeq }: Pick<RequestRejoinRequest, "conversationId" | "processedSeq">,
) {
  const conversation = await seen(deps, context, conversationId)
  const { id: deviceId, userId } = deviceOf(context)
  // A new device requests one in each conversation of its user.
  const isMember = leafOf(conversation.roster, deviceId) !== undefined
  await counted(deps, context, isMember ? "messaging_rejoin" : "messaging_admission", { device: deviceId })
  const own = { userId, deviceId, processedSeq }
  return ask(deps, context, conversation, (asked) => (current) => decideRejoin(current, { ...asked, ...own }))
}

type Asking = (asked: { id: Directive["id"]; nowMs: number }) => (conversation: Conversation) => DirectiveDecision

/** Decides under the conversation's lock, and notifies the members of the directive. @throws Refused */
export async function ask(
  deps: MessagingDeps,
  context: HandlerContext,
  conversation: Conversation,
  asking: Asking,
): Promise<Directive | null> {
  const nowMs = deps.clock.nowMs()
  const id = newId("dir", nowMs, deps.random.bytes(10))
  const event = conversationEvent.bind(undefined, deps, context, conversation, nowMs)
  const done = await deps.store.conversations.decideDirective(conversation.id, asking({ id, nowMs }), (decision) => {
    if (decision.is === "issue") return event({ kind: "directive.issued", ...ofDirective(decision.directive) })
    return decision.is === "close" ? event({ kind: "conversation.closed" }) : null
  })
  if (done === undefined) throw unresolved()
  const { decision } = done
  switch (decision.is) {
    case "refuse":
      throw new Refused(decision.reason)
    case "close":
      return null
    case "there":
      return decision.directive
    case "issue":
      deps.wakeups.publish([{ is: "directive", conversationId: conversation.id, directiveId: id }])
      return decision.directive
  }
}

/** @throws Refused NOT_FOUND, NOT_MEMBER, DIRECTIVE_LEASED with `retry_after`, NOTHING_TO_DO */
export async function lease(
  deps: MessagingDeps,
  context: HandlerContext,
  request: { conversationId: string; directiveId: string },
): Promise<Directive> {
  const conversation = await seen(deps, context, request.conversationId)
  await countChange(deps, context)
  const { id: deviceId } = deviceOf(context)
  const directiveId = parseId("dir", request.directiveId)
  if (directiveId === undefined) throw new Refused("NOT_FOUND")
  const nowMs = deps.clock.nowMs()
  const isOver = await isAdditionOver(deps, conversation, directiveId)
  const done = await deps.store.conversations.leaseDirective(conversation.id, (current) =>
    decideLease(current, directiveId, deviceId, nowMs, isOver),
  )
  if (done === undefined) throw unresolved()
  const { decision } = done
  if (decision.is === "lease") return decision.directive
  const { retryAtMs } = decision
  const seconds = retryAtMs === null ? null : Math.max(1, Math.ceil((retryAtMs - nowMs) / 1_000))
  throw new Refused(decision.reason, seconds === null ? {} : { metadata: { retry_after: String(seconds) } })
}

/** True if the directive adds a device that is revoked, or that was never a member and whose user is none any more. */
async function isAdditionOver({ store }: MessagingDeps, { id, directives, roster }: Conversation, of: Directive["id"]) {
  const directive = directives.find((one) => one.id === of)
  if (directive?.status !== "REMOVED" || directive.deviceId === null) return false
  const { userId, deviceId } = directive
  if ((await store.devices.find(deviceId))?.status !== "ACTIVE") return true
  if (roster.some((leaf) => leaf.userId === userId)) return false
  return (await store.conversations.membershipSpan(id, deviceId, 0n)) === undefined
}

/** The caller's leaf. @throws Refused NOT_MEMBER */
export function memberLeaf(conversation: Conversation, context: HandlerContext) {
  const leaf = leafOf(conversation.roster, deviceOf(context).id)
  if (leaf === undefined) throw new Refused("NOT_MEMBER")
  return leaf
}
