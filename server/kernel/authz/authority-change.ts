// Classifies changes of records by their effect on authority. A change that both adds and removes rights is "narrower".
import type { Role } from "../administration/records.ts"
import type { AppScope, Membership } from "../records.ts"

/** "wider": issued tokens remain valid. "narrower": issued tokens may claim too much and must be revoked. */
export type AuthorityChange = "none" | "wider" | "narrower"

/** @param before Undefined for a new membership. */
export function membershipChange(
  before: Pick<Membership, "status" | "scopes"> | undefined,
  after: Pick<Membership, "status" | "scopes">,
): AuthorityChange {
  const isActive = after.status === "ACTIVE"
  const scopes = setChange(before?.status === "ACTIVE" ? before.scopes : [], isActive ? after.scopes : [])
  // A member without scopes of its own still has the app's default scopes.
  if (before?.status === "ACTIVE" && !isActive) return "narrower"
  // Suspending a membership of a tenant also ends access to the tenant's contexts.
  if (before !== undefined && before.status !== "SUSPENDED" && after.status === "SUSPENDED") return "narrower"
  return scopes === "none" && before?.status !== after.status && (isActive || before?.status === "SUSPENDED")
    ? "wider"
    : scopes
}

type Powers = Pick<Role, "status" | "permissions" | "inheritable">

/** @param before Undefined for a new role. A change of `assignableAt` concerns future grants only. */
export function roleChange(before: Powers | undefined, after: Powers): AuthorityChange {
  const held = before?.status === "ACTIVE" ? before : undefined
  const holds = after.status === "ACTIVE" ? after : undefined
  if (held?.inheritable === true && holds?.inheritable !== true) return "narrower"
  const permissions = setChange(held?.permissions ?? [], holds?.permissions ?? [])
  if (permissions !== "none") return permissions
  return held?.inheritable === holds?.inheritable ? "none" : "wider"
}

type Scopes = readonly Pick<AppScope, "key" | "audience" | "isDefault" | "permissions">[]

export function scopesChange(before: Scopes, after: Scopes): AuthorityChange {
  return setChange(before.flatMap(powersOf), after.flatMap(powersOf))
}

/** Every single right that a scope gives. */
const powersOf = ({ key, audience, isDefault, permissions = [] }: Scopes[number]): readonly string[] => [
  JSON.stringify([key, audience]),
  ...(isDefault ? [JSON.stringify([key, "default"])] : []),
  ...permissions.map((permission) => JSON.stringify([key, "permission", permission])),
]

function setChange(before: readonly string[], after: readonly string[]): AuthorityChange {
  const held = new Set(before)
  const holds = new Set(after)
  if (before.some((one) => !holds.has(one))) return "narrower"
  return after.every((one) => held.has(one)) ? "none" : "wider"
}
