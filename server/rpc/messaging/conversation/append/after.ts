// The effects of an append: audit events, hints, and a second check of the added devices.
import type { AuditEvent } from "@signet/kernel/audit/event"
import { conversationAfter } from "@signet/kernel/messaging/after"
import type { AppendDecision } from "@signet/kernel/messaging/append"
import type { AppendOutcome } from "@signet/kernel/messaging/ports"
import type { Conversation, Leaf, Place } from "@signet/kernel/messaging/records"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import type { MessagingDeps } from "../../deps.ts"
import { issueRemoval } from "../../device/revocation-effects.ts"
import { type ConversationFacts, ofDirective } from "../../events.ts"
import type { JudgedCommit } from "./verify-commit.ts"

type EventOf = (facts: ConversationFacts) => AuditEvent

export type Who = Pick<Leaf, "deviceId" | "userId">

/** The events of directives that the commit completes, and of a quarantine that it ends. */
export function eventsOf(
  conversation: Conversation,
  { verified }: JudgedCommit,
  decided: Extract<AppendDecision, { is: "append" }>,
  event: EventOf,
): readonly AuditEvent[] {
  const after = conversationAfter(conversation, { commit: verified }, decided, new Uint8Array())
  const done = after.directives.filter(({ status }) => status === "DONE")
  const ended = conversation.directives.filter(({ id }) => done.some((one) => one.id === id))
  const isRecovered = conversation.status === "QUARANTINED" && after.conversation.status === "ACTIVE"
  return [
    ...ended.map((directive) => event({ kind: "directive.done", ...ofDirective(directive) })),
    ...(isRecovered ? [event({ kind: "conversation.recovered" })] : []),
  ]
}

/** The hints for the devices that the append concerns. */
export function hintsOf(
  outcome: Extract<AppendOutcome, { is: "appended" }>,
  judged: JudgedCommit | null,
): readonly Hint[] {
  const conversationId = outcome.conversation.id
  const grown: Hint = { is: "envelopes", conversationId, headSeq: outcome.answer.seq }
  if (judged === null) return [grown]
  const { added, removed, verified } = judged
  // The device that begins a new group was no member before, so its streams do not follow the conversation yet.
  const begun = verified.resetGroupId === null ? [] : verified.roster.filter(({ leafIndex }) => leafIndex === 0)
  const reopened = outcome.directives.filter(({ status }) => status === "REMOVED")
  return [
    grown,
    ...verified.welcomes.map(({ id, deviceId }): Hint => ({ is: "welcome", deviceId, welcomeId: id, conversationId })),
    ...[...begun, ...added, ...removed].map(({ deviceId }): Hint => ({ is: "member", deviceId, conversationId })),
    ...reopened.map(({ id }): Hint => ({ is: "directive", conversationId, directiveId: id })),
  ]
}

/**
 * Issues directives for devices that were revoked while the commit added them: the revocation did not find this
 * conversation.
 */
export async function removeRevoked(
  deps: Pick<MessagingDeps, "store" | "clock" | "random" | "wakeups">,
  conversation: Conversation,
  added: readonly Who[],
): Promise<void> {
  for (const { userId, deviceId } of await revokedOf(deps, conversation, added)) {
    await issueRemoval(deps, { deviceId, userId }, conversation.id)
  }
}

/** The added users and devices whose device is not ACTIVE now. */
export async function revokedOf(
  { store }: Pick<MessagingDeps, "store">,
  place: Place,
  added: readonly Who[],
): Promise<readonly Who[]> {
  if (added.length === 0) return []
  const users = [...new Set(added.map(({ userId }) => userId))]
  const active = new Set((await store.devices.activeOf(users, place)).map(({ id }) => id))
  return added.filter(({ deviceId }) => !active.has(deviceId))
}
