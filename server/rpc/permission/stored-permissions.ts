import type { FindPermissions } from "@signet/guard/permissions"
import type { Clock, Store } from "@signet/kernel/ports"

/** What callers were granted, as it is now: for the server that keeps it. */
export function storedPermissions(store: Store, clock: Clock): FindPermissions {
  return ({ principal, appId, tenantId, contextId }) =>
    store.transaction(async (tx) => {
      const of = { principalId: principal.id, appId, tenantId, contextId, nowMs: clock.nowMs() }
      return (await tx.authorities.snapshot(of)).snapshot
    })
}
