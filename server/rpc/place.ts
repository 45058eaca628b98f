import type { Place } from "@signet/kernel/administration/ports"
import { isOpen } from "@signet/kernel/authz/liveness"
import type { PrincipalId } from "@signet/kernel/ids"
import type { RefreshFacts, Tx } from "@signet/kernel/ports"
import type { App, Membership } from "@signet/kernel/records"

/**
 * True if the place is open: app, tenant and context are active. Queries the store only for a tenant or a context.
 *
 * @param app The status of the place's app.
 */
export async function isPlaceOpen(tx: Tx, app: App["status"], place: Place): Promise<boolean> {
  if (place.tenantId === null && place.contextId === null) return isOpen({ app, tenant: null, context: null })
  return isOpen(await tx.places.find(place))
}

/** The membership in the tenant around a context; undefined for a place that is no context of a tenant. */
export async function tenantMembershipOf(
  tx: Tx,
  principalId: PrincipalId,
  { appId, tenantId, contextId }: Place,
): Promise<Membership | undefined> {
  if (tenantId === null || contextId === null) return undefined
  return tx.identities.findMembership(principalId, appId, tenantId, null)
}

/**
 * The active membership at the place, whose scopes apply there. Undefined unless the membership in the app is active
 * too, and undefined while the membership in the place's tenant is suspended.
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
  if (inner?.status !== "ACTIVE") return undefined
  return activeOf({ outer, inner, around: await tenantMembershipOf(tx, principalId, place) })
}

/** As `activeMembership`, from loaded memberships: in the app, at the place, and in the tenant around it. */
export function activeOf({ outer, inner, around }: Pick<RefreshFacts, "outer" | "inner" | "around">) {
  const isActive = outer?.status === "ACTIVE" && inner?.status === "ACTIVE" && around?.status !== "SUSPENDED"
  return isActive ? inner : undefined
}
