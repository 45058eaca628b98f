import type { HandlerContext } from "@connectrpc/connect"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { newId } from "@signet/kernel/ids"
import type { Random } from "@signet/kernel/ports"
import type { Session } from "@signet/kernel/records"
import { kCall, type UserContext } from "../../serving/call/call.ts"

export type Facts = Pick<AuditEvent, "kind"> & Partial<Omit<AuditEvent, "id" | "occurredAtMs" | "request">>

type Drawing = { readonly random: Random }

/** Builds the event of a call. Omitted facts are null; the outcome defaults to SUCCESS. */
export function auditEvent(
  deps: Drawing,
  context: Pick<HandlerContext, "service" | "method" | "values">,
  nowMs: number,
  facts: Facts,
): AuditEvent {
  const { requestId, ipTruncated } = context.values.get(kCall)
  const route = `${context.service.typeName}/${context.method.name}`
  return eventOf(deps, nowMs, facts, { id: requestId, route, ipTruncated })
}

/** Builds the event of a background task, or of an operator's command. */
export const ownEvent = (deps: Drawing, nowMs: number, facts: Facts, route = ""): AuditEvent =>
  eventOf(deps, nowMs, facts, { id: "", route, ipTruncated: null })

function eventOf(deps: Drawing, nowMs: number, facts: Facts, request: AuditEvent["request"]): AuditEvent {
  return {
    outcome: "SUCCESS",
    reason: null,
    appId: null,
    tenantId: null,
    contextId: null,
    actorPrincipalId: null,
    subjectPrincipalId: null,
    subjectIdentityId: null,
    sessionId: null,
    target: null,
    ...facts,
    id: newId("aud", nowMs, deps.random.bytes(10)),
    occurredAtMs: nowMs,
    request,
  }
}

/** The facts of a session whose own user caused the event. */
export const ofSession = (session: Session) => ({
  appId: session.appId,
  tenantId: session.tenantId,
  contextId: session.contextId,
  actorPrincipalId: session.principalId,
  subjectPrincipalId: session.principalId,
  subjectIdentityId: session.identityId,
  sessionId: session.id,
})

/** The actor, subject and scope of an event that the user causes. */
export const ofUser = (user: UserContext) => ({
  appId: user.appId,
  tenantId: user.tenantId,
  contextId: user.contextId,
  actorPrincipalId: user.principal.id,
  subjectPrincipalId: user.principal.id,
  subjectIdentityId: user.identityId,
  sessionId: user.sessionId,
})
