import type { HandlerContext } from "@connectrpc/connect"
import type { DelegationId } from "@signet/kernel/ids"
import type { Tx } from "@signet/kernel/ports"
import { longestTokenMs } from "@signet/kernel/token/claims"
import { auditEvent, type Facts } from "../audit/audit.ts"
import type { Deps } from "../deps.ts"

/** Revokes a standing delegation and the tokens issued under it, and records it. A revoked one stays as it is. */
export async function endDelegation(
  deps: Deps,
  context: HandlerContext,
  tx: Tx,
  id: DelegationId,
  facts: Omit<Facts, "kind" | "target">,
): Promise<void> {
  const nowMs = deps.clock.nowMs()
  if (!(await tx.delegations.revokeDelegation(id, nowMs))) return
  // Tokens issued under the delegation carry its id as their credential.
  await tx.revocations.add([{ kind: "CREDENTIAL", key: id, expiresAtMs: nowMs + longestTokenMs }])
  const target = { type: "delegation", id }
  await tx.audit.append(auditEvent(deps, context, nowMs, { ...facts, kind: "delegation.revoked", target }))
}
