// The reach of an administrator. A token's scopes name the kinds of records, its place names where they are.
import type { Place } from "../administration/ports.ts"
import type { AuthContext } from "./context.ts"

/** True for a token of the installation's app without tenant and context: it administers every app. */
export function administersInstallation(caller: Place, callersApp: { isInstallation: boolean } | undefined): boolean {
  return callersApp?.isInstallation === true && caller.tenantId === null && caller.contextId === null
}

/**
 * Returns the reason to refuse an administrator at a place; undefined if the place is in reach. A token administers its
 * app, or only its tenant, or only its context, whichever is narrowest.
 *
 * @param isInstallation The caller administers every app: see `administersInstallation`.
 */
export function reachMismatch(
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

/** True if the inner place equals or is in the outer one. */
export function isInside(inner: Place, outer: Place): boolean {
  return (
    inner.appId === outer.appId &&
    (outer.tenantId === null || inner.tenantId === outer.tenantId) &&
    (outer.contextId === null || inner.contextId === outer.contextId)
  )
}
