// Which of an app's connections a sign-in goes by. With one, or with the default, the tuple of app, provider and platform says it.
import type { ProviderClient } from "../records.ts"

export type Selection =
  | { readonly is: "selected"; readonly client: ProviderClient }
  /** The app does not sign in by this provider on this platform. */
  | { readonly is: "none" }
  | {
      readonly is: "refuse"
      readonly reason: "CONNECTION_REQUIRED" | "CONNECTION_UNKNOWN"
      /** What could be named: the connections that are switched on. */
      readonly names: readonly string[]
    }

/**
 * @param connections The app's clients of one provider and platform.
 * @param name As the sign-in says it; empty when it names none. A name that is unknown never falls back to the default.
 */
export function selectConnection(connections: readonly ProviderClient[], name: string): Selection {
  const [first, ...others] = connections
  if (first === undefined) return { is: "none" }
  const named = connections.find(({ connection }) => connection === name)
  if (named !== undefined) return { is: "selected", client: named }
  if (name === "" && others.length === 0) return { is: "selected", client: first }
  const names = connections.filter(isOn).map(({ connection }) => connection)
  return { is: "refuse", reason: name === "" ? "CONNECTION_REQUIRED" : "CONNECTION_UNKNOWN", names }
}

/** What a sign-in page offers. */
export const offered = (connections: readonly ProviderClient[]): readonly ProviderClient[] => connections.filter(isOn)

/** The scopes that the authorization endpoint is asked for. */
export function scopesOf({ provider, scopes }: Pick<ProviderClient, "provider" | "scopes">): readonly string[] {
  return scopes.length > 0 || provider !== "IDP_A" ? scopes : ["openid", "email", "profile"]
}

const isOn = ({ status }: ProviderClient): boolean => status === "ACTIVE"
