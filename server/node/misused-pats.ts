import type { AuditEvent } from "@signet/kernel/audit/event"
import { newId } from "@signet/kernel/ids"
import { parseOpaque } from "@signet/kernel/token/opaque"
import type { Deps } from "../rpc/deps.ts"
import { patFacts } from "../rpc/token/pat-grant.ts"

/** Maximum number of concurrent lookups: any caller can compute valid checksums. */
const maxUnderWay = 32

/**
 * Records in the owner's audit log that a personal access token was sent as a bearer token. The caller neither waits
 * nor learns anything: malformed, unknown and valid tokens get the same refusal. A malformed token costs no query.
 */
export function auditMisusedPats(
  deps: Deps,
  onFault: (fault: unknown) => void,
): (authorization: string | null, request: AuditEvent["request"], network: string | null) => void {
  let underWay = 0
  return (authorization, request, network) => {
    const token = parseOpaque("sgpat_", authorization?.replace(/^bearer +/i, "") ?? "")
    if (token === undefined || underWay >= maxUnderWay) return
    underWay++
    record(deps, token, request, network)
      .catch(onFault)
      .finally(() => underWay--)
  }
}

async function record(
  deps: Deps,
  token: string,
  request: AuditEvent["request"],
  network: string | null,
): Promise<void> {
  const nowMs = deps.clock.nowMs()
  const hashes = deps.secrets.hashes("pat", token)
  const pat = await deps.store.transaction((tx) => tx.pats.findByHash(hashes))
  if (pat === undefined) return
  const event: AuditEvent = {
    id: newId("aud", nowMs, deps.random.bytes(10)),
    occurredAtMs: nowMs,
    kind: "pat.misused",
    outcome: "DENIED",
    reason: "PAT_NOT_BEARER",
    ...patFacts(pat),
    actorPrincipalId: null,
    sessionId: null,
    request,
  }
  await deps.refusals.record(event, { network })
}
