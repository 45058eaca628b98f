// Store interface for permissions.
import type { Place } from "../administration/ports.ts"
import type { AppId, MembershipId, PrincipalId } from "../ids.ts"
import type { App, Membership } from "../records.ts"
import type { PermissionSnapshot } from "./effective.ts"
import type { AuthorityVersions } from "./versions.ts"

export interface Authorities {
  /**
   * Returns the current versions of a principal in an app. Read them before the data that goes into a token: a change
   * in between then invalidates the token early, never late.
   */
  find(principalId: PrincipalId, appId: AppId): Promise<AuthorityVersions>
  /** Returns a membership and its app, with the versions of the same instant. */
  findOf(id: MembershipId): Promise<{ versions: AuthorityVersions; app: App; membership: Membership } | undefined>
  /**
   * Returns the principal's grants at and above the place, with the versions of the same instant. Omits expired grants
   * and permissions that no scope of the app allows.
   */
  snapshot(
    of: { principalId: PrincipalId; nowMs: number } & Place,
  ): Promise<{ versions: AuthorityVersions; snapshot: PermissionSnapshot }>
}
