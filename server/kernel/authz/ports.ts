// The store as permissions need it: more members of Tx, and what reads without a transaction.
import type { Place } from "../administration/ports.ts"
import type { AppId, PrincipalId } from "../ids.ts"
import type { PermissionSnapshot } from "./effective.ts"
import type { AuthorityVersions } from "./versions.ts"

export interface Authorities {
  /**
   * The versions of a principal in an app as they are now. A token's are read before what goes into the token: then what
   * changes between the two is in the token without its version, and never its version without the change.
   */
  find(principalId: PrincipalId, appId: AppId): Promise<AuthorityVersions>
  /**
   * What the principal was granted at the place and around it, with the versions of the same instant. Grants that have
   * ended, and permissions that no scope of the app lets use, are left out.
   */
  snapshot(
    of: { principalId: PrincipalId; nowMs: number } & Place,
  ): Promise<{ versions: AuthorityVersions; snapshot: PermissionSnapshot }>
}
