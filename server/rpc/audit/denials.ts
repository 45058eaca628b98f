// Turns denials of the guard into audit events.
import type { DescMethod } from "@bufbuild/protobuf"
import type { ContextValues } from "@connectrpc/connect"
import { requirementOf } from "@signet/guard/requirement"
import { buildDenial } from "@signet/kernel/audit/denial"
import type { AuditEvent } from "@signet/kernel/audit/event"
import type { Deny } from "@signet/kernel/authz/authorize"
import type { AuthContext } from "@signet/kernel/authz/context"
import { type Reason, refusals } from "@signet/kernel/errors"
import type { Clock, Random } from "@signet/kernel/ports"
import { auditEvent } from "./audit.ts"

/** Denials that every client meets in ordinary use. Metrics count them; the audit does not record them. */
const ordinary: ReadonlySet<Reason> = new Set(["NO_CREDENTIAL", "TOKEN_EXPIRED"])

/**
 * False for ordinary denials. Also false for internal faults: no caller caused them, and a failing database gets no
 * more writes.
 */
export function isAudited({ reason, trueReason }: Pick<Deny, "reason" | "trueReason">): boolean {
  const { status } = refusals[reason]
  return (status === 401 || status === 403) && !ordinary.has(trueReason)
}

/** @param caller The token's subject, also when the token is rejected; undefined without a token. */
export function denialEvent(
  deps: { readonly clock: Clock; readonly random: Random },
  { trueReason, metadata }: Pick<Deny, "trueReason" | "metadata">,
  call: { readonly method: DescMethod; readonly values: ContextValues },
  caller: AuthContext | undefined,
): AuditEvent {
  const { method, values } = call
  return auditEvent(deps, { service: method.parent, method, values }, deps.clock.nowMs(), {
    kind: "authz.denied",
    outcome: "DENIED",
    reason: trueReason,
    ...callerFacts(caller),
    ...denialFacts(method, caller, metadata),
  })
}

/** The facts of a denial as a field of its event. No field without a known caller. */
export const denialFacts = (
  method: DescMethod,
  caller: AuthContext | undefined,
  metadata?: Deny["metadata"],
): Pick<AuditEvent, "denial"> =>
  caller === undefined ? {} : { denial: buildDenial(requirementOf(method), caller, metadata) }

/** The caller as an event names it. */
export const callerFacts = (caller: AuthContext | undefined) => ({
  appId: caller?.appId ?? null,
  tenantId: caller?.tenantId ?? null,
  contextId: caller?.contextId ?? null,
  actorPrincipalId: caller?.actor?.id ?? caller?.principal.id ?? null,
  subjectPrincipalId: caller?.principal.id ?? null,
  subjectIdentityId: caller?.identityId ?? null,
  sessionId: caller?.sessionId ?? null,
})

export const isReason = (value: unknown): value is Reason => typeof value === "string" && Object.hasOwn(refusals, value)
