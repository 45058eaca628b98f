// Records denials in the audit, as the Node server does.
import type { ConnectGuardOptions } from "@signet/guard/connect"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { denialEvent, isAudited } from "../../rpc/audit/denials.ts"
import { createRefusalAudit } from "../../rpc/audit/refusals.ts"
import type { MessagingDeps } from "../../rpc/messaging/deps.ts"
import { kCall } from "../../serving/call/call.ts"

/** @param after Runs work after the answer was sent. */
export function auditDenials(
  { accounts, clock, random }: Pick<MessagingDeps, "accounts" | "clock" | "random">,
  after: (work: Promise<unknown>) => void,
  onFault: (fault: unknown) => void,
): NonNullable<ConnectGuardOptions["onDeny"]> {
  const deps = { append: (events: readonly AuditEvent[]) => accounts.audit(events), clock, random }
  const refusals = createRefusalAudit(deps, onFault)
  return (deny, method, caller, values) => {
    if (!isAudited(deny)) return
    const event = denialEvent(deps, deny, { method, values }, typeof caller === "string" ? undefined : caller)
    after(refusals.record(event, { network: values.get(kCall).network }))
  }
}
