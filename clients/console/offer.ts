// The screens that a person's token can use. The menu leaves the others out, and the address of such a screen says why.
import type { Access, Level } from "./access.tsx"

export interface Needs {
  /** The token must have one of these scopes; none for a screen that needs no scope. */
  readonly scopes?: readonly string[]
  /** The narrowest token that the calls of the screen accept. Default: of a context. */
  readonly level?: Level
}

export type Refusal =
  | { readonly is: "scope"; readonly scopes: readonly string[] }
  | { readonly is: "level"; readonly level: Level }

/** Returns why the token cannot use what has these needs; undefined if it can. */
export function refusalOf(
  { scopes = [], level = "context" }: Needs,
  access: Pick<Access, "scopes" | "reaches">,
): Refusal | undefined {
  if (!access.reaches(level)) return { is: "level", level }
  if (scopes.length > 0 && !scopes.some((scope) => access.scopes.has(scope))) return { is: "scope", scopes }
  return undefined
}

/** The parts of an app's screen with their needs, in their order. */
export const appParts = {
  settings: { scopes: ["auth.apps.read"], level: "app" },
  connections: { scopes: ["auth.apps.read"], level: "app" },
  tenants: { scopes: ["auth.tenants.read"], level: "tenant" },
  contexts: { scopes: ["auth.tenants.read"] },
  members: { scopes: ["auth.members.read"] },
  invitations: { scopes: ["auth.members.read"] },
  roles: { scopes: ["auth.roles.read"] },
  permissions: { scopes: ["auth.roles.read"] },
  grants: { scopes: ["auth.grants.read"] },
} as const satisfies Readonly<Record<string, Needs>>

type AppPart = keyof typeof appParts

export const isAppPart = (name: string): name is AppPart => Object.hasOwn(appParts, name)

/** The parts that the token can use. */
export const usableParts = (access: Pick<Access, "scopes" | "reaches">): readonly AppPart[] =>
  Object.keys(appParts)
    .filter(isAppPart)
    .filter((part) => refusalOf(appParts[part], access) === undefined)
