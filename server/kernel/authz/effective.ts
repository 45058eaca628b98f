// What a token is good for: what its scopes let it use of what its principal was granted. Scopes of a delegated token
// are within the delegation already. Nothing here takes away, so the order of anything changes nothing.
import type { Place } from "../administration/ports.ts"
import type { Grants } from "./context.ts"
import { covers, type HeldGrant, isLive, type ResourceRef, reaches, reachesWhole } from "./grants.ts"

/** What a principal was granted at a place, and what the app's roles and scopes mean. */
export interface PermissionSnapshot {
  /** Active ones, by id. */
  readonly roles: ReadonlyMap<string, SnapshotRole>
  /** Permissions by scope: what a token with the scope may use. */
  readonly scopes: ReadonlyMap<string, ReadonlySet<string>>
  readonly grants: readonly HeldGrant[]
}

export interface SnapshotRole {
  readonly key: string
  readonly permissions: ReadonlySet<string>
  /** A grant of it covers everything below its node. */
  readonly inheritable: boolean
}

/** A token's scopes, now. */
export interface Holder {
  readonly scopes: ReadonlySet<string>
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: number
}

/** Whether the permission is held anywhere that a token of the place reaches: on it, around it, or on a resource of it. */
export function isHeldAt(of: PermissionSnapshot, holder: Holder, permission: string, place: Place): boolean {
  return isHeld(of, holder, permission, (grant, { inheritable }) => reaches(grant, inheritable, place))
}

/** Whether the permission is held on this very resource, or where it covers it. */
export function isHeldOn(of: PermissionSnapshot, holder: Holder, permission: string, resource: ResourceRef): boolean {
  return isHeld(of, holder, permission, (grant, { inheritable }) => covers(grant, inheritable, resource))
}

type Applies = (grant: HeldGrant, role: SnapshotRole) => boolean

function isHeld(of: PermissionSnapshot, holder: Holder, permission: string, applies: Applies): boolean {
  if (!isUsable(of, holder.scopes, permission)) return false
  return of.grants.some((grant) => {
    const role = of.roles.get(grant.roleId)
    return role?.permissions.has(permission) === true && isLive(grant, holder.nowMs) && applies(grant, role)
  })
}

/** Whether any of the scopes lets a token use the permission, where it is granted. */
export function isUsable(
  { scopes: of }: Pick<PermissionSnapshot, "scopes">,
  scopes: Holder["scopes"],
  permission: string,
): boolean {
  return [...scopes].some((scope) => of.get(scope)?.has(permission) === true)
}

/** Whether the role is held in the whole place: a role on one of its resources is not. Scopes do not narrow a role. */
export function hasRoleAt(of: PermissionSnapshot, key: string, place: Place, nowMs: number): boolean {
  return rolesFor(of, nowMs, (grant, { inheritable }) => reachesWhole(grant, inheritable, place)).some(
    (role) => role.key === key,
  )
}

/** Keys of the roles, and the permissions, that are held at a place: what an AuthContext tells of them. */
export function heldAt(of: PermissionSnapshot, holder: Holder, place: Place): Grants {
  const usable = new Set([...holder.scopes].flatMap((scope) => [...(of.scopes.get(scope) ?? [])]))
  const inWhole = rolesFor(of, holder.nowMs, (grant, { inheritable }) => reachesWhole(grant, inheritable, place))
  const anywhere = rolesFor(of, holder.nowMs, (grant, { inheritable }) => reaches(grant, inheritable, place))
  return {
    roles: new Set(inWhole.map(({ key }) => key)),
    permissions: new Set(anywhere.flatMap(({ permissions }) => [...permissions].filter((one) => usable.has(one)))),
  }
}

function rolesFor(of: PermissionSnapshot, nowMs: number, applies: Applies): readonly SnapshotRole[] {
  return of.grants.flatMap((grant) => {
    const role = of.roles.get(grant.roleId)
    return role !== undefined && isLive(grant, nowMs) && applies(grant, role) ? [role] : []
  })
}
