// Handles a device that was revoked before it learned of its conversation. The revocation did not find this
// conversation, so the conversation itself issues the removal.
import type { AuditEvent } from "@signet/kernel/audit/event"
import { type DeviceId, newId, type PrincipalId } from "@signet/kernel/ids"
import { type DirectiveDecision, decideRevocation } from "@signet/kernel/messaging/directive"
import type { Conversation } from "@signet/kernel/messaging/records"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import { type Change, changeOf } from "./change.ts"

/** Undefined when nothing is left to do. */
export function revoke(
  conversation: Conversation,
  { deviceId, userId }: { readonly deviceId: DeviceId; readonly userId: PrincipalId },
  nowMs: number,
): { readonly change: Change; readonly audit: readonly AuditEvent[]; readonly hints: readonly Hint[] } | undefined {
  const asked = { id: newId("dir", nowMs, random()), userId, deviceId, nowMs }
  const decision = decideRevocation(conversation, asked)
  const change = changeOf(conversation, decision)
  if (change === null) return undefined
  const hint: Hint = { is: "directive", conversationId: conversation.id, directiveId: asked.id }
  return {
    change,
    audit: [event(conversation, decision, userId, nowMs)],
    hints: decision.is === "issue" ? [hint] : [],
  }
}

/** The event of a change that the service itself makes; the revoking call has an event of its own. */
function event(
  { id, appId, tenantId }: Conversation,
  decision: DirectiveDecision,
  subjectPrincipalId: PrincipalId,
  nowMs: number,
): AuditEvent {
  const isIssued = decision.is === "issue"
  return {
    id: newId("aud", nowMs, random()),
    occurredAtMs: nowMs,
    kind: isIssued ? "directive.issued" : "conversation.closed",
    outcome: "SUCCESS",
    reason: null,
    appId,
    tenantId,
    contextId: null,
    actorPrincipalId: null,
    subjectPrincipalId,
    subjectIdentityId: null,
    sessionId: null,
    target: isIssued ? { type: "directive", id: decision.directive.id } : { type: "conversation", id },
    request: { id: "", route: "", ipTruncated: null },
  }
}

const random = (): Uint8Array => crypto.getRandomValues(new Uint8Array(10))
