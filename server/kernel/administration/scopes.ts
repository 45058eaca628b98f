// Rules for scopes. Scopes that begin with "auth." belong to this service and allow administration, so an app cannot
// grant them by itself. The same holds for scopes that export an app's messaging data or revoke people's devices.
import type { App, AppScope } from "../records.ts"
import { invalid, type Problem } from "./problem.ts"

const isOfAuth = (key: string): boolean => key.startsWith("auth.")

export const transferScope = "messaging.transfer"

/** Scopes that list and revoke other people's devices. They are of the messaging audience. */
export const deviceScopes: readonly string[] = ["messaging.devices.read", "messaging.devices.write"]

export const isOwnKey = (key: string): boolean => isOfAuth(key) || key === transferScope || deviceScopes.includes(key)

/** Administration scopes. A membership alone never grants one. */
const administrative =
  /^auth\.(apps|tenants|members|roles|grants|principals|identities|permissions|service_accounts|delegation|audit)\.|^messaging\.(transfer$|devices\.)/

/** Every administration scope, for administrators who get all of them. */
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
  /** The app's audiences after the change. */
  readonly audiences: readonly string[]
  readonly authAudience: string
  readonly isInstallationAdmin: boolean
}

/** Returns why an app cannot have these scopes; undefined if it can. Default scopes that were there before may stay. */
export function appScopesProblem(asked: readonly AppScope[], grounds: Grounds): Problem | undefined {
  const { before, audiences, authAudience, isInstallationAdmin } = grounds
  const field = "app.scopes"
  if (new Set(asked.map(({ key }) => key)).size !== asked.length) return invalid(field, "each key can occur only once")
  for (const { key, audience, isDefault } of asked) {
    if (isOfAuth(key) ? audience !== authAudience : audience !== authAudience && !audiences.includes(audience)) {
      return invalid(field, "an audience is not in app.audiences")
    }
    const wasDefault = before.some((scope) => scope.key === key && scope.isDefault)
    if (isDefault && !wasDefault && administrative.test(key))
      return invalid(field, "a scope of this service cannot be a default scope: add it to memberships")
  }
  if (!isInstallationAdmin && ownScopes(asked) !== ownScopes(before)) return { reason: "SCOPE_NOT_GRANTED", field }
  return undefined
}

/** Returns why a scope cannot name these permissions; undefined if it can. */
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
 * True if a holder of these scopes of this service may grant the scope. A token for this service names no scope of the
 * messaging audience. A caller who may remove members, and with them their devices, may also grant the device scopes.
 */
export const mayAdd = (key: string, held: ReadonlySet<string>): boolean =>
  held.has(key) || (deviceScopes.includes(key) && held.has("auth.members.write"))

/**
 * Returns why a membership or an invitation cannot name these scopes; undefined if it can. They must be scopes of the
 * app, and a caller may add one of this service's own scopes only if the caller's token holds it. Scopes that were
 * there before may stay.
 *
 * @param held Scopes of the caller's token for this service.
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
  if (!added.every((key) => !isOwnKey(key) || mayAdd(key, grounds.held))) return { reason: "SCOPE_NOT_GRANTED", field }
  return undefined
}
