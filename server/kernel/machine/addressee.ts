import type { AuthContext } from "../authz/context.ts"
import type { ServiceAccount } from "./records.ts"

/**
 * True if the service is the intended recipient of the token: it owns the token's audience. A tenant's service receives
 * only tokens of that tenant.
 */
export function isAddressee(
  account: Pick<ServiceAccount, "ownedAudiences" | "tenantId">,
  token: Pick<AuthContext, "audience" | "tenantId">,
): boolean {
  const isOurs = account.tenantId === null || account.tenantId === token.tenantId
  return isOurs && account.ownedAudiences.includes(token.audience)
}
