import type { AuthContext } from "@signet/kernel/authz/context"
import type { PermissionSnapshot } from "@signet/kernel/authz/effective"
import { checksIn, type Requirement } from "@signet/kernel/authz/requirement"

/**
 * What the caller's principal was granted, where the token is of. PERMISSIONS_STALE: authority changed since the token was
 * issued, and what it was then is not to be had. Throws when nobody can tell.
 */
export interface FindPermissions {
  (caller: AuthContext): Promise<PermissionSnapshot | "PERMISSIONS_STALE">
  /** The same, of what is in memory: undefined where the issuer would have to be asked. */
  readonly held?: (caller: AuthContext) => Promise<PermissionSnapshot | undefined>
}

/** Whether scopes alone may not decide. */
export function asksPermissions(requirement: Requirement): boolean {
  return checksIn(requirement).some(({ is }) => is === "action" || is === "role" || is === "resourceAction")
}
