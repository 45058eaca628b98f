import type { AppId, ContextId, PrincipalId, TenantId } from "@signet/kernel/ids"
import type { Tx } from "@signet/kernel/ports"
import type { Membership } from "@signet/kernel/records"

/** Where somebody acts: an app, and inside of it a tenant, a context, both or neither. */
export interface Place {
  appId: AppId
  tenantId: TenantId | null
  contextId: ContextId | null
}

/**
 * The membership at the place, whose scopes count there. Undefined unless it is active, and that of the app as a whole too.
 */
export async function activeMembership(
  tx: Tx,
  principalId: PrincipalId,
  place: Place,
): Promise<Membership | undefined> {
  const { appId, tenantId, contextId } = place
  const outer = await tx.identities.findMembership(principalId, appId, null, null)
  if (outer?.status !== "ACTIVE") return undefined
  if (tenantId === null && contextId === null) return outer
  const inner = await tx.identities.findMembership(principalId, appId, tenantId, contextId)
  return inner?.status === "ACTIVE" ? inner : undefined
}
