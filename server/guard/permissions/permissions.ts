import type { AuthContext } from "@signet/kernel/authz/context"
import type { PermissionSnapshot } from "@signet/kernel/authz/effective"
import { checksIn, type Requirement } from "@signet/kernel/authz/requirement"

/**
 * Returns the principal's grants at the token's place. PERMISSIONS_STALE: authority changed after the token was issued,
 * and that version is no longer available. Throws if the grants are unknown.
 */
export interface FindPermissions {
  (caller: AuthContext): Promise<PermissionSnapshot | "PERMISSIONS_STALE">
  /** Same, from memory only: undefined if the issuer would have to be asked. */
  readonly held?: (caller: AuthContext) => Promise<PermissionSnapshot | undefined>
}

/** True if the requirement needs more than scopes. */
export function asksPermissions(requirement: Requirement): boolean {
  return checksIn(requirement).some(({ is }) => is === "action" || is === "role" || is === "resourceAction")
}
