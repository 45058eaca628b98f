import type { HandlerContext } from "@connectrpc/connect"
import type { AuditEvent, AuditKind } from "@signet/kernel/audit/event"
import type { Conversation, Directive } from "@signet/kernel/messaging/records"
import { userOf } from "../../serving/call/call.ts"
import { auditEvent } from "../audit/audit.ts"
import type { MessagingDeps } from "./deps.ts"

export type ConversationFacts = Partial<AuditEvent> & { readonly kind: AuditKind }

/** An event of this call about a conversation; by the caller, unless it says otherwise. */
export function conversationEvent(
  deps: Pick<MessagingDeps, "random">,
  context: HandlerContext,
  { id, appId, tenantId }: Pick<Conversation, "id" | "appId" | "tenantId">,
  nowMs: number,
  facts: ConversationFacts,
): AuditEvent {
  const user = userOf(context)
  return auditEvent(deps, context, nowMs, {
    appId,
    tenantId,
    actorPrincipalId: user.principal.id,
    sessionId: user.sessionId,
    target: { type: "conversation", id },
    ...facts,
  })
}

/** Whose leaves a directive is about, and which it is. */
export const ofDirective = ({ id, userId }: Pick<Directive, "id" | "userId">) => ({
  subjectPrincipalId: userId,
  target: { type: "directive", id },
})
