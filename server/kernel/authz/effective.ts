// Effective permissions: those that the principal was granted and that the token's scopes allow. A delegated token's
// scopes are already limited to the delegation. Rules only add, so their order does not matter.
import type { Place } from "../administration/ports.ts"
import type { Grants } from "./context.ts"
import { covers, type HeldGrant, isLive, type ResourceRef, reaches, reachesWhole } from "./grants.ts"

/** A principal's grants at a place, with the app's roles and scopes. */
export interface PermissionSnapshot {
  /** Active roles, by id. */
  readonly roles: ReadonlyMap<string, SnapshotRole>
  /** The permissions that each scope allows a token to use. */
  readonly scopes: ReadonlyMap<string, ReadonlySet<string>>
  readonly grants: readonly HeldGrant[]
}

export interface SnapshotRole {
  readonly key: string
  readonly permissions: ReadonlySet<string>
  /** If true, a grant of the role also covers everything below its node. */
  readonly inheritable: boolean
}

/** A token's scopes at the time of the check. */
export interface Holder {
  readonly scopes: ReadonlySet<string>
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: number
}

/** True if the permission is held at the place, at a node above it, or on one of its resources. */
export function isHeldAt(of: PermissionSnapshot, holder: Holder, permission: string, place: Place): boolean {
  return isHeld(of, holder, permission, (grant, { inheritable }) => reaches(grant, inheritable, place))
}

/** True if the permission is held on this resource or at a node above it. */
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

/** True if one of the scopes allows the permission. */
export function isUsable(
  { scopes: of }: Pick<PermissionSnapshot, "scopes">,
  scopes: Holder["scopes"],
  permission: string,
): boolean {
  return [...scopes].some((scope) => of.get(scope)?.has(permission) === true)
}

/** True if the role is held for the whole place; a role on one resource does not count. Scopes do not limit roles. */
export function hasRoleAt(of: PermissionSnapshot, key: string, place: Place, nowMs: number): boolean {
  return rolesFor(of, nowMs, (grant, { inheritable }) => reachesWhole(grant, inheritable, place)).some(
    (role) => role.key === key,
  )
}

/** Returns the roles and permissions held at a place, as AuthContext lists them. */
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
