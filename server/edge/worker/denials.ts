// Denials in the audit, as the Node server writes them.
import type { ConnectGuardOptions } from "@signet/guard/connect"
import { refusals } from "@signet/kernel/errors"
import { newId } from "@signet/kernel/ids"
import { createDenialBudget } from "@signet/kernel/limits/denial-budget"
import { kCall } from "../../rpc/call.ts"
import { denialOf } from "../../rpc/denials.ts"
import type { MessagingDeps } from "../../rpc/messaging/deps.ts"

/** One 401 in a hundred is written down: strangers can make as many as they like. */
const sampleOf401 = 100

/** @param after Does the work when the answer is on its way. */
export function auditDenials(
  { accounts, clock, random }: Pick<MessagingDeps, "accounts" | "clock" | "random">,
  after: (work: Promise<unknown>) => void,
  onFault: (fault: unknown) => void,
): NonNullable<ConnectGuardOptions["onDeny"]> {
  const denials = createDenialBudget()
  let strangers = 0
  return ({ reason, trueReason }, method, caller, values) => {
    const { status } = refusals[reason]
    if (status !== 401 && status !== 403) return
    if (status === 401 && strangers++ % sampleOf401 !== 0) return
    const nowMs = clock.nowMs()
    const known = typeof caller === "string" ? undefined : caller
    const who = known?.actor?.id ?? known?.principal.id ?? null
    const denial = status === 401 ? { target: null } : denialOf({ denials }, who ?? "nobody", nowMs)
    if (denial === undefined) return
    const { requestId, ipTruncated } = values.get(kCall)
    const event = {
      id: newId("aud", nowMs, random.bytes(10)),
      occurredAtMs: nowMs,
      kind: "authz.denied",
      outcome: "DENIED",
      reason: trueReason,
      appId: known?.appId ?? null,
      tenantId: known?.tenantId ?? null,
      contextId: known?.contextId ?? null,
      actorPrincipalId: who,
      subjectPrincipalId: known?.principal.id ?? null,
      subjectIdentityId: known?.identityId ?? null,
      sessionId: known?.sessionId ?? null,
      target: denial.target,
      request: { id: requestId, route: `${method.parent.typeName}/${method.name}`, ipTruncated },
    } as const
    after(accounts.audit([event]).catch(onFault))
  }
}
