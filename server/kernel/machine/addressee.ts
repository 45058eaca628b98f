import type { AuthContext } from "../authz/context.ts"
import type { ServiceAccount } from "./records.ts"

/**
 * True for the service that a token was issued to be shown to: the owner of its audience, and a tenant's own service
 * only for tokens of that tenant.
 */
export function isAddressee(
  account: Pick<ServiceAccount, "ownedAudiences" | "tenantId">,
  token: Pick<AuthContext, "audience" | "tenantId">,
): boolean {
  const isOurs = account.tenantId === null || account.tenantId === token.tenantId
  return isOurs && account.ownedAudiences.includes(token.audience)
}
