import type { Place } from "../administration/ports.ts"
import type { AppId, ContextId, TenantId } from "../ids.ts"
import type { AuthContext } from "./context.ts"

/** A resource as its owner resolved it from its own store, never from request data. */
export interface ResourceRef {
  readonly type: string
  readonly id: string
  readonly appId: AppId
  readonly tenantId: TenantId | null
  readonly contextId: ContextId | null
}

/** A role that the principal has at a node: a resource, or a whole context, tenant or app. */
export interface HeldGrant {
  readonly roleId: string
  readonly appId: AppId
  /** Null covers every tenant of the app. With a resource, null means that the resource belongs to no tenant. */
  readonly tenantId: TenantId | null
  /** Null covers every context of the tenant. With a resource, null means that the resource belongs to no context. */
  readonly contextId: ContextId | null
  /** Null covers every resource of the context. */
  readonly resource: { readonly type: string; readonly id: string } | null
  /** Exclusive, in milliseconds since the Unix epoch. Null means no expiry. */
  readonly expiresAtMs: number | null
}

export function isLive({ expiresAtMs }: HeldGrant, nowMs: number): boolean {
  return expiresAtMs === null || nowMs < expiresAtMs
}

/** True if the grant is on this resource or, when inherited, on a node above it. */
export function covers(grant: HeldGrant, isInherited: boolean, resource: ResourceRef): boolean {
  if (grant.resource === null) return isInherited && isAround(grant, resource)
  return isAt(grant, resource) && grant.resource.type === resource.type && grant.resource.id === resource.id
}

/**
 * True if the grant applies somewhere at a token's place: at the place, on a resource there or, when inherited, at a
 * node above it.
 */
export function reaches(grant: HeldGrant, isInherited: boolean, place: Place): boolean {
  return isAt(grant, place) || (grant.resource === null && isInherited && isAround(grant, place))
}

/** True if the grant applies to the whole place: at it or, when inherited, at a node above it. */
export function reachesWhole(grant: HeldGrant, isInherited: boolean, place: Place): boolean {
  return grant.resource === null && reaches(grant, isInherited, place)
}

/** A resource id is unique only within its place, so all three must match. */
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
 * Returns why the resource is out of the token's reach, whatever was granted (step 4); undefined if it is in reach. The
 * resource must have the token's exact app, tenant and context.
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
