// The scopes of this service itself begin with "auth.": they let people administer, so they are not an app's to give away.
// Nor is the one by which all that messaging keeps of an app is copied and erased.
import type { App, AppScope } from "../records.ts"
import { invalid, type Problem } from "./problem.ts"

const isOfAuth = (key: string): boolean => key.startsWith("auth.")

export const transferScope = "messaging.transfer"

export const isOwnKey = (key: string): boolean => isOfAuth(key) || key === transferScope

/** Scopes that administer. Nobody holds them by being a member. */
const administrative =
  /^auth\.(apps|tenants|members|roles|grants|principals|identities|permissions|service_accounts|delegation|audit)\.|^messaging\.transfer$/

/** Every administration scope, for those who are to have them all. */
export const administrationScopes: readonly string[] = [
  "auth.apps.read",
  "auth.apps.write",
  "auth.tenants.read",
  "auth.tenants.write",
  "auth.members.read",
  "auth.members.write",
  "auth.roles.read",
  "auth.roles.write",
  "auth.grants.read",
  "auth.grants.write",
  "auth.principals.read",
  "auth.principals.write",
  "auth.identities.read",
  "auth.audit.read",
]

interface Grounds {
  readonly before: readonly AppScope[]
  /** The app's audiences as they are to be. */
  readonly audiences: readonly string[]
  readonly authAudience: string
  readonly isInstallationAdmin: boolean
}

/** Why an app may not have these scopes; undefined when it may. */
export function appScopesProblem(asked: readonly AppScope[], grounds: Grounds): Problem | undefined {
  const { before, audiences, authAudience, isInstallationAdmin } = grounds
  const field = "app.scopes"
  if (new Set(asked.map(({ key }) => key)).size !== asked.length) return invalid(field, "each key can occur only once")
  for (const { key, audience, isDefault } of asked) {
    if (isOfAuth(key) ? audience !== authAudience : audience !== authAudience && !audiences.includes(audience)) {
      return invalid(field, "an audience is not in app.audiences")
    }
    if (isDefault && administrative.test(key))
      return invalid(field, "a scope of this service cannot be a default scope: add it to memberships")
  }
  if (!isInstallationAdmin && ownScopes(asked) !== ownScopes(before)) return { reason: "SCOPE_NOT_GRANTED", field }
  return undefined
}

/** Why scopes may not let their tokens use these permissions; undefined when they may. */
export function scopePermissionsProblem(asked: readonly AppScope[], known: ReadonlySet<string>): Problem | undefined {
  const isKnown = asked.every(({ permissions = [] }) => permissions.every((key) => known.has(key)))
  return isKnown ? undefined : invalid("app.scopes", "a permission does not exist in the app")
}

const ownScopes = (scopes: readonly AppScope[]): string =>
  scopes
    .filter(({ key }) => isOwnKey(key))
    .map(({ key, audience, isDefault, permissions = [] }) => JSON.stringify([key, audience, isDefault, permissions]))
    .toSorted()
    .join()

/**
 * Why a membership or an invitation may not name these scopes; undefined when it may. They are scopes of the app, and
 * whoever gives one of this service's own holds it. What was there before may stay.
 *
 * @param held The scopes of the giver's token, which is for this service.
 */
export function memberScopesProblem(
  app: Pick<App, "scopes">,
  scopes: readonly string[],
  grounds: { before: readonly string[]; held: ReadonlySet<string> },
  field = "scopes",
): Problem | undefined {
  const added = scopes.filter((key) => !grounds.before.includes(key))
  const known = new Set(app.scopes.map(({ key }) => key))
  if (!added.every((key) => known.has(key))) return invalid(field, "a scope does not exist in the app")
  if (!added.every((key) => !isOwnKey(key) || grounds.held.has(key))) return { reason: "SCOPE_NOT_GRANTED", field }
  return undefined
}
