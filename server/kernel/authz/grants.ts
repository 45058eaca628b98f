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

/** A permission that the principal was given at one place: a resource, or everything of a context, tenant or app. */
export interface Grant {
  readonly permission: string
  readonly appId: AppId
  /** Null: every tenant of the app. */
  readonly tenantId: TenantId | null
  /** Null: every context of the tenant. */
  readonly contextId: ContextId | null
  /** Null: every resource of the context. */
  readonly resource: { readonly type: string; readonly id: string } | null
  /** Null: for good. Milliseconds since the Unix epoch. */
  readonly expiresAtMs: number | null
}

/** True when a grant gives the permission on this very resource, or at a place that the resource is in. */
export function covers(grants: readonly Grant[], permission: string, resource: ResourceRef, nowMs: number): boolean {
  return grants.some(
    (grant) =>
      grant.permission === permission &&
      (grant.expiresAtMs === null || nowMs < grant.expiresAtMs) &&
      grant.appId === resource.appId &&
      (grant.tenantId === null || grant.tenantId === resource.tenantId) &&
      (grant.contextId === null || grant.contextId === resource.contextId) &&
      (grant.resource === null || (grant.resource.type === resource.type && grant.resource.id === resource.id)),
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
