import type { FindPermissions } from "@signet/guard/permissions/permissions"
import type { Clock, Store } from "@signet/kernel/ports"

/** The current permissions of callers, read from the store: for the server that owns it. */
export function storedPermissions(store: Store, clock: Clock): FindPermissions {
  return ({ principal, appId, tenantId, contextId }) =>
    store.transaction(async (tx) => {
      const of = { principalId: principal.id, appId, tenantId, contextId, nowMs: clock.nowMs() }
      return (await tx.authorities.snapshot(of)).snapshot
    })
}
