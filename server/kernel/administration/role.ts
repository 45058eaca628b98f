// Rules for permissions, for the roles that name them, and for granting roles.

import { invalid, type Problem } from "./problem.ts"
import type { Grant, GrantLevel, GrantNode, Role } from "./records.ts"
import { isOwnKey } from "./scopes.ts"

const permissionKey = /^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$/

/** Returns why a permission cannot have this key; undefined if it can. */
export function permissionProblem({ key }: { key: string }): Problem | undefined {
  if (!permissionKey.test(key)) return invalid("permission.key")
  return isOwnKey(key)
    ? invalid("permission.key", `keys that begin with "auth." are reserved for this service`)
    : undefined
}

/** Returns why a role's values are invalid; undefined if they are valid. */
export function roleProblem(
  role: Pick<Role, "tenantId" | "key" | "permissions" | "assignableAt">,
  /** Those of the role's permission keys that exist in the app. */
  known: ReadonlySet<string>,
): Problem | undefined {
  if (!/^[a-z][a-z0-9_.-]{0,63}$/.test(role.key)) return invalid("role.key")
  if (!role.permissions.every((key) => known.has(key)))
    return invalid("role.permissions", "a permission does not exist in the app")
  if (role.tenantId !== null && role.assignableAt.includes("APP")) {
    return invalid("role.assignable_at", "a tenant's role can be assigned only in the tenant")
  }
  return undefined
}

/** Maximum number of live grants of one principal in one app. It keeps a permission snapshot within one response. */
export const maxGrants = 200

/** The narrowest level that a node names. */
export function levelOf({ tenantId, contextId, resource }: GrantNode): GrantLevel {
  if (resource !== null) return "RESOURCE"
  if (contextId !== null) return "CONTEXT"
  return tenantId !== null ? "TENANT" : "APP"
}

/** Returns why a role cannot be granted at this node with this expiry; undefined if it can. */
export function grantProblem(
  role: Pick<Role, "tenantId" | "assignableAt" | "status">,
  node: GrantNode,
  expiresAtMs: number | null,
  nowMs: number,
): Problem | undefined {
  if (role.status !== "ACTIVE") return { reason: "STATE_CONFLICT", field: "role_id" }
  const isAssignable = role.assignableAt.length === 0 || role.assignableAt.includes(levelOf(node))
  if (!isAssignable || (role.tenantId !== null && role.tenantId !== node.tenantId)) {
    return invalid("role_id", "the role is not assignable at this level")
  }
  if (expiresAtMs !== null && expiresAtMs <= nowMs) return invalid("expires_at", "expires_at must be in the future")
  // RFC 3339 timestamps, and so JSON, end with the year 9999.
  if (expiresAtMs !== null && !(expiresAtMs < 253_402_300_800_000)) return invalid("expires_at")
  return undefined
}

/** The state that the API reports. EXPIRED is computed, never stored. */
export function grantState(
  { status, expiresAtMs }: Pick<Grant, "status" | "expiresAtMs">,
  nowMs: number,
): "ACTIVE" | "EXPIRED" | "REVOKED" {
  if (status === "REVOKED") return "REVOKED"
  return expiresAtMs !== null && expiresAtMs <= nowMs ? "EXPIRED" : "ACTIVE"
}
