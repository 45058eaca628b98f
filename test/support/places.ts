// Tenants and contexts of a test's app with given ids.
import type { Place } from "@signet/kernel/administration/ports"
import type { Store } from "@signet/kernel/ports"

/** Creates the tenant and the context of the place if they do not exist. */
export function openPlace(store: Store, { appId, tenantId, contextId }: Place): Promise<void> {
  const common = { appId, status: "ACTIVE", createdAtMs: 1, updatedAtMs: 1 } as const
  return store.transaction(async (tx) => {
    if (tenantId !== null && (await tx.tenants.find(tenantId)) === undefined) {
      await tx.tenants.insert({ ...common, id: tenantId, name: "Tenant" })
    }
    if (contextId !== null && (await tx.contexts.find(contextId)) === undefined) {
      await tx.contexts.insert({ ...common, id: contextId, tenantId, type: "project", name: "Project" })
    }
  })
}
