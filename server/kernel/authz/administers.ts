// Who administers what. The scope says which kind of thing, the place of the token says where.
import type { Place } from "../administration/ports.ts"
import type { AuthContext } from "./context.ts"

/** A token of the installation's own app that is inside of no tenant and no context: it administers every app. */
export function administersInstallation(caller: Place, callersApp: { isInstallation: boolean } | undefined): boolean {
  return callersApp?.isInstallation === true && caller.tenantId === null && caller.contextId === null
}

/**
 * Why a place is out of an administrator's reach; undefined when it is not. A token of an app administers that app, one
 * inside of a tenant that tenant and what is in it, one inside of a context that context.
 */
export function outOfReach(
  caller: Pick<AuthContext, "appId" | "tenantId" | "contextId">,
  isInstallation: boolean,
  place: Place,
): "APP_MISMATCH" | "TENANT_MISMATCH" | "CONTEXT_MISMATCH" | undefined {
  if (isInstallation) return undefined
  if (place.appId !== caller.appId) return "APP_MISMATCH"
  if (caller.tenantId !== null && place.tenantId !== caller.tenantId) return "TENANT_MISMATCH"
  if (caller.contextId !== null && place.contextId !== caller.contextId) return "CONTEXT_MISMATCH"
  return undefined
}

/** True when the inner place is the outer one or is in it. */
export function isInside(inner: Place, outer: Place): boolean {
  return (
    inner.appId === outer.appId &&
    (outer.tenantId === null || inner.tenantId === outer.tenantId) &&
    (outer.contextId === null || inner.contextId === outer.contextId)
  )
}
