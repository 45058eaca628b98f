import type { App, Membership } from "../records.ts"

/**
 * The scopes that a member currently holds for one audience: the app's defaults and those of the membership that still
 * exist in the app. In the app's order.
 */
export function scopesHeld(
  app: Pick<App, "scopes">,
  membership: Pick<Membership, "status" | "scopes"> | undefined,
  audience: string,
): readonly string[] {
  if (membership?.status !== "ACTIVE") return []
  return app.scopes
    .filter((scope) => scope.audience === audience && (scope.isDefault || membership.scopes.includes(scope.key)))
    .map(({ key }) => key)
}

/** The scopes that a member of the app holds, over all audiences. A member of another app holds none. */
export function scopesHeldAnywhere(
  app: Pick<App, "id" | "scopes">,
  membership: Pick<Membership, "appId" | "status" | "scopes"> | undefined,
): readonly string[] {
  if (membership?.appId !== app.id) return []
  const audiences = new Set(app.scopes.map(({ audience }) => audience))
  return [...audiences].flatMap((audience) => scopesHeld(app, membership, audience))
}

/** The intersection, without duplicates, in the order of the first list. */
export function intersect(first: readonly string[], ...others: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(first)].filter((scope) => others.every((other) => other.includes(scope)))
}

/** Parses a scope parameter (RFC 6749 section 3.3): tokens separated by single spaces. Undefined if malformed. */
export function parseScope(text: string): readonly string[] | undefined {
  if (text === "") return []
  const tokens = text.split(" ")
  return tokens.every((token) => /^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/.test(token)) ? [...new Set(tokens)] : undefined
}
