// Limits which issuers a provider client may trust and which endpoints it may call. Identities are shared by all apps,
// so an administrator who could configure an issuer with their own keys could impersonate every user.

import type { AppId } from "../ids.ts"
import type { ProviderClient } from "../records.ts"
import type { Problem } from "./problem.ts"
import type { ClientValues } from "./provider-client.ts"

interface Grounds {
  /** Null for a new client. */
  readonly before: ClientValues | null
  readonly isInstallationAdmin: boolean
  readonly appId: AppId
  /** Clients of the same provider in all apps, which an administrator of the installation configured. */
  readonly known: readonly (ClientValues & Pick<ProviderClient, "appId">)[]
  /** The issuers and addresses come from the preset table, not from the request. */
  readonly isPreset: boolean
}

/**
 * Returns why the caller may not configure these issuers, keys and endpoints; undefined if they may.
 *
 * An administrator of the installation may configure any provider. Other administrators may only reuse a known one as a
 * whole: issuers, keys and endpoints that belong together.
 */
export function providerProblem(
  asked: ClientValues,
  { before, isInstallationAdmin, appId, known, isPreset }: Grounds,
): Problem | undefined {
  if (isInstallationAdmin) return undefined
  const name = conflictingField(asked, { before, others: known.filter((one) => one.appId !== appId) })
  if (name !== undefined) {
    const field = `provider_client.${name}`
    return { reason: "OUTPUT_ONLY_FIELD", field, message: "another app uses this client id at the provider" }
  }
  if (isPreset) return undefined
  const taken = before === null ? known : [before, ...known]
  if (taken.some((one) => isTakenFrom(asked, one))) return undefined
  const field = members.find(([, of]) => !taken.some((one) => of(asked, one)))?.[0] ?? "canonical_issuer"
  const message = "only an administrator of the installation or a preset can add a provider"
  return { reason: "OUTPUT_ONLY_FIELD", field: `provider_client.${field}`, message }
}

/**
 * Returns the field that uses another app's client id, audience or team; undefined if there is none.
 *
 * With a shared name, this app would accept the other app's tokens, accounts would mix, and the provider's
 * notifications could not be assigned to one app. IDP_C projects have no such names.
 */
function conflictingField(
  asked: ClientValues,
  { before, others }: { before: ClientValues | null; others: readonly ClientValues[] },
): "client_id" | "audiences" | "provider_tenant" | undefined {
  if (asked.provider === "IDP_C") return undefined
  // At IDP_B the team is part of the account's key but not in any token.
  const { providerTenant } = asked
  const isNewTeam = providerTenant !== null && providerTenant !== before?.providerTenant
  if (isNewTeam && others.some((one) => one.providerTenant === providerTenant)) return "provider_tenant"
  const own = before === null ? [] : namesOf(before)
  const taken = new Set(others.flatMap(namesOf))
  const isTaken = (name: string) => taken.has(name) && !own.includes(name)
  if (isTaken(asked.clientId)) return "client_id"
  return asked.audiences.some(isTaken) ? "audiences" : undefined
}

const namesOf = ({ clientId, audiences }: ClientValues): readonly string[] => [clientId, ...audiences]

type Is = (asked: ClientValues, one: ClientValues) => boolean

/** Each field of the request, with a test that it equals the known client's. An omitted optional field passes. */
const members: readonly (readonly [string, Is])[] = [
  ["canonical_issuer", (asked, one) => asked.canonicalIssuer === one.canonicalIssuer],
  ["issuers", (asked, one) => asked.issuers.every((issuer) => one.issuers.includes(issuer))],
  ["jwks_uri", (asked, one) => asked.jwksUri === one.jwksUri],
  [
    "authorization_endpoint",
    (asked, one) => asked.authorizationEndpoint === null || asked.authorizationEndpoint === one.authorizationEndpoint,
  ],
  ["token_endpoint", (asked, one) => asked.tokenEndpoint === null || asked.tokenEndpoint === one.tokenEndpoint],
  [
    "revocation_endpoint",
    (asked, one) => asked.revocationEndpoint === null || asked.revocationEndpoint === one.revocationEndpoint,
  ],
  ["project_url", (asked, one) => asked.projectUrl === one.projectUrl],
]

const isTakenFrom: Is = (asked, one) => asked.provider === one.provider && members.every(([, of]) => of(asked, one))
