// Permissions, the roles that name them, and where roles are granted.

import { invalid, type Problem } from "./problem.ts"
import type { Grant, GrantLevel, GrantNode, Role } from "./records.ts"
import { isOwnKey } from "./scopes.ts"

const permissionKey = /^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$/

/** Why there may not be a permission of this key; undefined when there may. */
export function permissionProblem({ key }: { key: string }): Problem | undefined {
  if (!permissionKey.test(key)) return invalid("permission.key")
  return isOwnKey(key) ? invalid("permission.key", `"auth." is this service's own`) : undefined
}

/** Why a role may not be like this; undefined when it may. */
export function roleProblem(
  role: Pick<Role, "tenantId" | "key" | "permissions" | "assignableAt">,
  /** Keys of the app's permissions, of those that the role names. */
  known: ReadonlySet<string>,
): Problem | undefined {
  if (!/^[a-z][a-z0-9_.-]{0,63}$/.test(role.key)) return invalid("role.key")
  if (!role.permissions.every((key) => known.has(key))) return invalid("role.permissions", "one is not the app's")
  if (role.tenantId !== null && role.assignableAt.includes("APP")) {
    return invalid("role.assignable_at", "a tenant's role is assigned in the tenant")
  }
  return undefined
}

/** Live grants of one principal in one app, at most: what was granted has to fit into one answer. */
export const maxGrants = 200

/** The level of the hierarchy that a node is at: the narrowest that it names. */
export function levelOf({ tenantId, contextId, resource }: GrantNode): GrantLevel {
  if (resource !== null) return "RESOURCE"
  if (contextId !== null) return "CONTEXT"
  return tenantId !== null ? "TENANT" : "APP"
}

/** Why a role may not be granted there until then; undefined when it may. */
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
  // The longest that JSON can say (RFC 3339): the end of the year 9999.
  if (expiresAtMs !== null && !(expiresAtMs < 253_402_300_800_000)) return invalid("expires_at")
  return undefined
}

/** As the contract says it: a live one whose time is over is EXPIRED, which nobody writes down. */
export function grantState(
  { status, expiresAtMs }: Pick<Grant, "status" | "expiresAtMs">,
  nowMs: number,
): "ACTIVE" | "EXPIRED" | "REVOKED" {
  if (status === "REVOKED") return "REVOKED"
  return expiresAtMs !== null && expiresAtMs <= nowMs ? "EXPIRED" : "ACTIVE"
}
