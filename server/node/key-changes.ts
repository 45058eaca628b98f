import type { AuditKind } from "@signet/kernel/audit/event"
import { newId } from "@signet/kernel/ids"
import type { SigningKeyRecord } from "@signet/kernel/keys/ports"
import type { Clock, Random, Store } from "@signet/kernel/ports"
import type { KeyChange } from "../keys/key-ring.ts"

const kindOf: Record<SigningKeyRecord["status"], AuditKind> = {
  NEXT: "key.published",
  CURRENT: "key.activated",
  PREVIOUS: "key.retired",
  RETIRED: "key.retired",
  COMPROMISED: "key.compromised",
}

/** Writes what happened to signing keys to the audit log. */
export function auditKeyChanges(deps: { store: Store; clock: Clock; random: Random }) {
  return async (changes: readonly KeyChange[]): Promise<void> => {
    if (changes.length === 0) return
    const nowMs = deps.clock.nowMs()
    await deps.store.transaction(async (tx) => {
      for (const { kid, status } of changes) {
        await tx.audit.append({
          id: newId("aud", nowMs, deps.random.bytes(10)),
          occurredAtMs: nowMs,
          kind: kindOf[status],
          outcome: "SUCCESS",
          reason: null,
          appId: null,
          tenantId: null,
          contextId: null,
          actorPrincipalId: null,
          subjectPrincipalId: null,
          subjectIdentityId: null,
          sessionId: null,
          target: { type: "signing_key", id: kid },
          request: { id: "", route: "", ipTruncated: null },
        })
      }
    })
  }
}
