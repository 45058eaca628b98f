import type { Place } from "@signet/kernel/administration/ports"
import { isOpen } from "@signet/kernel/authz/liveness"
import type { PrincipalId } from "@signet/kernel/ids"
import type { RefreshFacts, Tx } from "@signet/kernel/ports"
import type { App, Membership } from "@signet/kernel/records"

/**
 * Whether anybody may act at this place now. Asks the store only for a tenant or a context.
 *
 * @param app Where the place's app stands.
 */
export async function isPlaceOpen(tx: Tx, app: App["status"], place: Place): Promise<boolean> {
  if (place.tenantId === null && place.contextId === null) return isOpen({ app, tenant: null, context: null })
  return isOpen(await tx.places.find(place))
}

/** The membership of the tenant that the place is in; undefined where it is in none. */
export async function tenantMembershipOf(
  tx: Tx,
  principalId: PrincipalId,
  { appId, tenantId, contextId }: Place,
): Promise<Membership | undefined> {
  if (tenantId === null || contextId === null) return undefined
  return tx.identities.findMembership(principalId, appId, tenantId, null)
}

/**
 * The membership at the place, whose scopes count there. Undefined unless it is active, and that of the app as a whole too,
 * and for whoever is suspended in the tenant that the place is in.
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

/** The same of memberships that are known: of the app, at the place, and of the tenant around it. */
export function activeOf({ outer, inner, around }: Pick<RefreshFacts, "outer" | "inner" | "around">) {
  const isActive = outer?.status === "ACTIVE" && inner?.status === "ACTIVE" && around?.status !== "SUSPENDED"
  return isActive ? inner : undefined
}
