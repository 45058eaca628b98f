import type { AuditEvent } from "@signet/kernel/audit/event"
import { newId } from "@signet/kernel/ids"
import { parseOpaque } from "@signet/kernel/token/opaque"
import { denialOf } from "../rpc/denials.ts"
import type { Deps } from "../rpc/deps.ts"

/** Look-ups under way at most: whoever can count a checksum can ask for as many as they like. */
const mostUnderWay = 32

/**
 * Writes down that a personal access token came as a bearer token, for its owner to see. The caller waits for nothing and
 * learns nothing: what is garbled, unknown and real is refused alike. What is garbled costs no query, and of one token so
 * many are written down as of one caller's denials.
 */
export function auditMisusedPats(
  deps: Deps,
  onFault: (fault: unknown) => void,
): (authorization: string | null, request: AuditEvent["request"]) => void {
  let underWay = 0
  return (authorization, request) => {
    const token = parseOpaque("sgpat_", authorization?.replace(/^bearer +/i, "") ?? "")
    if (token === undefined || underWay >= mostUnderWay) return
    underWay++
    record(deps, token, request)
      .catch(onFault)
      .finally(() => underWay--)
  }
}

async function record(deps: Deps, token: string, request: AuditEvent["request"]): Promise<void> {
  const nowMs = deps.clock.nowMs()
  const hashes = deps.secrets.hashes("pat", token)
  await deps.store.transaction(async (tx) => {
    const pat = await tx.pats.findByHash(hashes)
    const denial = pat && denialOf(deps, pat.id, nowMs)
    if (pat === undefined || denial === undefined) return
    const misuse = { type: "pat", id: pat.id }
    for (const target of denial.target === null ? [misuse] : [misuse, denial.target]) {
      await tx.audit.append({
        id: newId("aud", nowMs, deps.random.bytes(10)),
        occurredAtMs: nowMs,
        kind: "pat.misused",
        outcome: "DENIED",
        reason: "PAT_NOT_BEARER",
        appId: pat.appId,
        tenantId: pat.tenantId,
        contextId: pat.contextId,
        // Whoever sent it has not proved to be its owner.
        actorPrincipalId: null,
        subjectPrincipalId: pat.principalId,
        subjectIdentityId: pat.identityId,
        sessionId: null,
        target,
        request,
      })
    }
  })
}
