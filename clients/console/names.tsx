// Names in place of ids: of people, services, tenants and contexts.
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { ServiceAccountService } from "@signet/proto/auth/v1/service_account_service"
import type { ReactNode } from "react"
import { useAccess } from "./access.tsx"
import { useMethods } from "./ask.ts"
import { batchesOf } from "./batches.ts"
import { Id } from "./page.tsx"
import { Link } from "./router.tsx"

/** Returns undefined while the name is not known, and for an object that the token does not reach. */
export type NameOf = (id: string) => string | undefined

/**
 * Reads the names of all ids of a screen together: one call for 50 ids of a kind. A name is read from the list of its
 * kind, so a person sees only names that the lists show.
 *
 * @param ids Ids of an app's principals, tenants and contexts. Other ids have no name.
 */
export function useNames(appId: string, ids: readonly string[]): NameOf {
  const { scopes, reaches, appId: ownApp, tenantId, contextId, placeName } = useAccess()
  const admin = AppAuthService.method
  const names = new Map<string, string>()
  const own = contextId ?? tenantId
  if (own !== undefined && placeName) names.set(own, placeName)
  const asked = (prefix: string, canRead: boolean) =>
    canRead
      ? batchesOf(
          ids.filter((id) => !names.has(id)),
          prefix,
        )
      : []
  const readsPlaces = scopes.has("auth.tenants.read")
  const tenantRequests = asked("ten_", readsPlaces && reaches("tenant")).map((tenantIds) => ({
    ...{ appId, tenantIds, pageSize: 50 },
  }))
  const contextRequests = asked("ctx_", readsPlaces).map((contextIds) => ({ appId, contextIds, pageSize: 50 }))
  const tenants = useMethods(admin.listTenants, tenantRequests).flatMap((page) => page.tenants)
  const contexts = useMethods(admin.listContexts, contextRequests).flatMap((page) => page.contexts)
  for (const { id, name } of [...tenants, ...contexts]) if (name) names.set(id, name)

  const memberRequests = asked("prn_", scopes.has("auth.members.read")).map((principalIds) => ({
    ...{ appId, principalIds },
    // A person can have memberships in several places.
    pageSize: 200,
  }))
  const members = useMethods(admin.listMemberships, memberRequests)
  for (const { principalId, profile } of members.flatMap(({ memberships }) => memberships)) {
    const name = profile?.name || profile?.email
    if (name) names.set(principalId, name)
  }
  // The other principals can be services. A token lists only the service accounts of its own app.
  const readsServices = appId === ownApp && reaches("tenant") && members.length === memberRequests.length
  const serviceRequests = asked("prn_", readsServices && scopes.has("auth.service_accounts.read")).map(
    (principalIds) => ({ principalIds, pageSize: 50 }),
  )
  const services = useMethods(ServiceAccountService.method.listServiceAccounts, serviceRequests)
  for (const { principalId, name, clientId } of services.flatMap((page) => page.serviceAccounts)) {
    names.set(principalId, name || clientId)
  }
  return (id) => names.get(id)
}

interface NamedProps {
  readonly id: string
  readonly nameOf: NameOf
  /** The screen of the object. */
  readonly to?: string
  /** The id as it is shown. Default: in full. */
  readonly shown?: string
}

/** A name with the id below it; the id alone if no name is known. */
export function Named({ id, nameOf, to, shown = id }: NamedProps): ReactNode {
  const name = nameOf(id)
  const text = name ?? shown
  return (
    <span className={name === undefined && shown !== id ? "short" : "named"} title={id}>
      {to === undefined ? text : <Link to={to}>{text}</Link>}
      {name !== undefined && <Id of={shown} />}
    </span>
  )
}
