import type { AuditKind } from "@signet/kernel/audit/event"
import type { SigningKeyRecord } from "@signet/kernel/keys/ports"
import type { Clock, Random, Store } from "@signet/kernel/ports"
import type { KeyChange } from "../keys/key-ring.ts"
import { ownEvent } from "../rpc/audit/audit.ts"

const kindOf: Record<SigningKeyRecord["status"], AuditKind> = {
  NEXT: "key.published",
  CURRENT: "key.activated",
  PREVIOUS: "key.retired",
  RETIRED: "key.retired",
  COMPROMISED: "key.compromised",
}

/** Writes changes of signing keys to the audit log. */
export function auditKeyChanges(deps: { store: Store; clock: Clock; random: Random }) {
  return async (changes: readonly KeyChange[]): Promise<void> => {
    if (changes.length === 0) return
    const nowMs = deps.clock.nowMs()
    await deps.store.transaction(async (tx) => {
      for (const { kid, status } of changes) {
        const target = { type: "signing_key", id: kid }
        await tx.audit.append(ownEvent(deps, nowMs, { kind: kindOf[status], target }))
      }
    })
  }
}
