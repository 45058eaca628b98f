import type { App, Membership } from "../records.ts"

/**
 * The scopes that a member of the app holds for one audience, now: the app's defaults and what the membership names, and
 * nothing that the app does not have. In the app's order.
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

/** The scopes that a member of the app holds over all of its audiences. A member of another app holds none. */
export function scopesHeldAnywhere(
  app: Pick<App, "id" | "scopes">,
  membership: Pick<Membership, "appId" | "status" | "scopes"> | undefined,
): readonly string[] {
  if (membership?.appId !== app.id) return []
  const audiences = new Set(app.scopes.map(({ audience }) => audience))
  return [...audiences].flatMap((audience) => scopesHeld(app, membership, audience))
}

/** What is in all of these; in the order of the first, each once. Property: never more than any of them. */
export function intersect(first: readonly string[], ...others: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(first)].filter((scope) => others.every((other) => other.includes(scope)))
}

/** A scope parameter as RFC 6749 section 3.3 has it: tokens with a space between. Undefined when it is malformed. */
export function parseScope(text: string): readonly string[] | undefined {
  if (text === "") return []
  const tokens = text.split(" ")
  return tokens.every((token) => /^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/.test(token)) ? [...new Set(tokens)] : undefined
}
