// What a change of a record does to authority. One that gives and takes away takes away.
import type { Role } from "../administration/records.ts"
import type { AppScope, Membership } from "../records.ts"

/** "wider": what tokens say is still true. "narrower": tokens from before must go. */
export type AuthorityChange = "none" | "wider" | "narrower"

/** @param before Undefined for a new one. */
export function membershipChange(
  before: Pick<Membership, "status" | "scopes"> | undefined,
  after: Pick<Membership, "status" | "scopes">,
): AuthorityChange {
  const isActive = after.status === "ACTIVE"
  const scopes = setChange(before?.status === "ACTIVE" ? before.scopes : [], isActive ? after.scopes : [])
  // Also without scopes of its own a member holds the app's defaults.
  if (before?.status === "ACTIVE" && !isActive) return "narrower"
  // A suspended membership of a tenant closes its contexts, too.
  if (before !== undefined && before.status !== "SUSPENDED" && after.status === "SUSPENDED") return "narrower"
  return scopes === "none" && before?.status !== after.status && (isActive || before?.status === "SUSPENDED")
    ? "wider"
    : scopes
}

type Powers = Pick<Role, "status" | "permissions" | "inheritable">

/** @param before Undefined for a new one. Where a role is assignable concerns grants to come. */
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

/** All that a scope is good for, one by one. */
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
