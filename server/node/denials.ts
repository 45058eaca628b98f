import type { ConnectGuardOptions } from "@signet/guard/connect"
import { refusals } from "@signet/kernel/errors"
import { newId } from "@signet/kernel/ids"
import { kCall } from "../rpc/call.ts"
import { denialOf } from "../rpc/denials.ts"
import type { Deps } from "../rpc/deps.ts"
import { auditMisusedPats } from "./misused-pats.ts"

/** One 401 in a hundred is written down: strangers can make as many as they like. So many 403s of each caller are. */
const sampleOf401 = 100

/** Writes denials to the audit log, with their true reason, without making the caller wait. */
export function auditDenials(
  deps: Deps,
  onFault: (fault: unknown) => void,
): NonNullable<ConnectGuardOptions["onDeny"]> {
  let strangers = 0
  const auditMisusedPat = auditMisusedPats(deps, onFault)
  return ({ reason, trueReason }, method, caller, values, header) => {
    const { status } = refusals[reason]
    const { requestId, ipTruncated } = values.get(kCall)
    const request = { id: requestId, route: `${method.parent.typeName}/${method.name}`, ipTruncated }
    if (reason === "PAT_NOT_BEARER") return auditMisusedPat(header.get("authorization"), request)
    // What is neither is a fault (nobody could tell), and no moment to write more to the database.
    if (status !== 401 && status !== 403) return
    if (status === 401 && strangers++ % sampleOf401 !== 0) return
    const nowMs = deps.clock.nowMs()
    const known = typeof caller === "string" ? undefined : caller
    const who = known?.actor?.id ?? known?.principal.id ?? null
    const denial = status === 401 ? { target: null } : denialOf(deps, who ?? "nobody", nowMs)
    if (denial === undefined) return
    deps.store
      .transaction((tx) =>
        tx.audit.append({
          id: newId("aud", nowMs, deps.random.bytes(10)),
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
          request,
        }),
      )
      .catch(onFault)
  }
}
