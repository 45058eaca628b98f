import type { Place } from "../administration/ports.ts"
import type { AppId, ContextId, TenantId } from "../ids.ts"
import type { AuthContext } from "./context.ts"

/** A resource, as the target that owns it found it in its own store: never as a request tells it. */
export interface ResourceRef {
  readonly type: string
  readonly id: string
  readonly appId: AppId
  readonly tenantId: TenantId | null
  readonly contextId: ContextId | null
}

/** A role that the principal has at a node: a resource, or everything of a context, tenant or app. */
export interface HeldGrant {
  readonly roleId: string
  readonly appId: AppId
  /** Null: every tenant of the app; of a resource, that it is of none. */
  readonly tenantId: TenantId | null
  /** Null: every context of the tenant; of a resource, that it is of none. */
  readonly contextId: ContextId | null
  /** Null: every resource of the context. */
  readonly resource: { readonly type: string; readonly id: string } | null
  /** It holds before, and not at it. Null: for good. Milliseconds since the Unix epoch. */
  readonly expiresAtMs: number | null
}

export function isLive({ expiresAtMs }: HeldGrant, nowMs: number): boolean {
  return expiresAtMs === null || nowMs < expiresAtMs
}

/** True when the grant is on this very resource or, where it is inherited, on a node that the resource is in. */
export function covers(grant: HeldGrant, isInherited: boolean, resource: ResourceRef): boolean {
  if (grant.resource === null) return isInherited && isAround(grant, resource)
  return isAt(grant, resource) && grant.resource.type === resource.type && grant.resource.id === resource.id
}

/**
 * True when the grant holds somewhere at a place, for a token that is of that place: on it, on a resource of it or, where
 * it is inherited, on a node that the place is in.
 */
export function reaches(grant: HeldGrant, isInherited: boolean, place: Place): boolean {
  return isAt(grant, place) || (grant.resource === null && isInherited && isAround(grant, place))
}

/** True when the grant holds in all of a place: on it or, where it is inherited, on a node that the place is in. */
export function reachesWhole(grant: HeldGrant, isInherited: boolean, place: Place): boolean {
  return grant.resource === null && reaches(grant, isInherited, place)
}

/** A resource's id says which it is in its own place: in another one the same id is somebody else's resource. */
function isAt({ appId, tenantId, contextId }: HeldGrant, place: Place): boolean {
  return appId === place.appId && tenantId === place.tenantId && contextId === place.contextId
}

function isAround({ appId, tenantId, contextId }: HeldGrant, place: Place): boolean {
  return (
    appId === place.appId &&
    (tenantId === null || tenantId === place.tenantId) &&
    (contextId === null || contextId === place.contextId)
  )
}

/**
 * Why the resource is out of the caller's reach, whatever was granted (step 4); undefined when it is not. A token is of
 * one app, tenant and context, or of none of them, and reaches what is of the same.
 */
export function misplacement(
  context: AuthContext,
  resource: ResourceRef,
): "APP_MISMATCH" | "TENANT_MISMATCH" | "CONTEXT_MISMATCH" | undefined {
  if (resource.appId !== context.appId) return "APP_MISMATCH"
  if (resource.tenantId !== context.tenantId) return "TENANT_MISMATCH"
  if (resource.contextId !== context.contextId) return "CONTEXT_MISMATCH"
  return undefined
}
