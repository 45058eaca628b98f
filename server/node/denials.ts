import type { VerifyToken } from "@signet/guard/access-token"
import { parseBearer } from "@signet/guard/bearer"
import type { ConnectGuardOptions } from "@signet/guard/connect"
import type { AuthContext } from "@signet/kernel/authz/context"
import { denialEvent, isAudited } from "../rpc/audit/denials.ts"
import type { Deps } from "../rpc/deps.ts"
import { kCall } from "../serving/call/call.ts"
import { auditMisusedPats } from "./misused-pats.ts"

/** Maximum number of tokens that are verified concurrently to find their principal. */
const maxUnderWay = 32

/**
 * Writes denials with their true reason to the audit log, without delaying the caller.
 *
 * @param verifyAny Verifies tokens of every audience, to identify the caller of a token for another service.
 */
export function auditDenials(
  deps: Deps,
  verifyAny: VerifyToken,
  onFault: (fault: unknown) => void,
): NonNullable<ConnectGuardOptions["onDeny"]> {
  const auditMisusedPat = auditMisusedPats(deps, onFault)
  let underWay = 0

  async function bearerOf(header: Headers): Promise<AuthContext | undefined> {
    const bearer = parseBearer(header.get("authorization"))
    if (typeof bearer === "string" || underWay >= maxUnderWay) return undefined
    underWay++
    try {
      const found = await verifyAny(bearer.token)
      return typeof found === "string" ? undefined : found
    } finally {
      underWay--
    }
  }

  return (deny, method, caller, values, header) => {
    const { requestId, ipTruncated, network } = values.get(kCall)
    if (deny.reason === "PAT_NOT_BEARER") {
      const route = `${method.parent.typeName}/${method.name}`
      return auditMisusedPat(header.get("authorization"), { id: requestId, route, ipTruncated }, network)
    }
    if (!isAudited(deny)) return
    const isElsewheres = deny.trueReason === "AUDIENCE_MISMATCH"
    const known = typeof caller === "string" ? undefined : caller
    Promise.resolve(known ?? (isElsewheres ? bearerOf(header) : undefined))
      .then((who) => deps.refusals.record(denialEvent(deps, deny, { method, values }, who), { network }))
      .catch(onFault)
  }
}
