// Selects the connection of a sign-in. If an app has one client for a provider and platform, or a default one, the name
// is optional.
import type { ProviderClient } from "../records.ts"

type Selection =
  | { readonly is: "selected"; readonly client: ProviderClient }
  /** The app has no client for this provider and platform. */
  | { readonly is: "none" }
  | {
      readonly is: "refuse"
      readonly reason: "CONNECTION_REQUIRED" | "CONNECTION_UNKNOWN"
      /** The enabled connections. */
      readonly names: readonly string[]
    }

/**
 * @param connections The app's clients of one provider and platform.
 * @param name The name in the request; empty if none. An unknown name never falls back to the default.
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

/** The connections that a sign-in page offers. */
export const offered = (connections: readonly ProviderClient[]): readonly ProviderClient[] => connections.filter(isOn)

/** The scopes to request at the authorization endpoint. */
export function scopesOf({ provider, scopes }: Pick<ProviderClient, "provider" | "scopes">): readonly string[] {
  return scopes.length > 0 || provider !== "IDP_A" ? scopes : ["openid", "email", "profile"]
}

const isOn = ({ status }: ProviderClient): boolean => status === "ACTIVE"
