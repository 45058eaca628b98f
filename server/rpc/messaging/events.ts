import type { HandlerContext } from "@connectrpc/connect"
import type { AuditEvent, AuditKind } from "@signet/kernel/audit/event"
import type { Conversation, Directive } from "@signet/kernel/messaging/records"
import { userOf } from "../../serving/call/call.ts"
import { auditEvent } from "../audit/audit.ts"
import type { MessagingDeps } from "./deps.ts"

export type ConversationFacts = Partial<AuditEvent> & { readonly kind: AuditKind }

/** The event of this call on a conversation. The actor is the caller unless `facts` name another. */
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

/** The user of a directive's leaves, and the directive as target. */
export const ofDirective = ({ id, userId }: Pick<Directive, "id" | "userId">) => ({
  subjectPrincipalId: userId,
  target: { type: "directive", id },
})
