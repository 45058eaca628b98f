// Whom a provider client believes, and where it asks. An identity is one in all apps: whoever could name an issuer
// together with keys of their own would be everybody.

import type { AppId } from "../ids.ts"
import type { ProviderClient } from "../records.ts"
import type { Problem } from "./problem.ts"
import type { ClientValues } from "./provider-client.ts"

interface Grounds {
  /** Null for a new client. */
  readonly before: ClientValues | null
  readonly isInstallationAdmin: boolean
  readonly appId: AppId
  /** Clients of the same provider, in whatever app: an administrator of the installation brought theirs in. */
  readonly known: readonly (ClientValues & Pick<ProviderClient, "appId">)[]
  /** Issuers and addresses were filled in from the table of presets: nobody has named them. */
  readonly isPreset: boolean
}

/**
 * Why a client may not believe or ask these; undefined when it may. Administrators of the installation bring providers
 * in; others take one as it is: issuers, keys and endpoints that belong together.
 */
export function providerProblem(
  asked: ClientValues,
  { before, isInstallationAdmin, appId, known, isPreset }: Grounds,
): Problem | undefined {
  if (isInstallationAdmin) return undefined
  const name = elsewheres(asked, { before, others: known.filter((one) => one.appId !== appId) })
  if (name !== undefined) {
    const field = `provider_client.${name}`
    return { reason: "OUTPUT_ONLY_FIELD", field, message: "another app uses this client id at the provider" }
  }
  if (isPreset) return undefined
  const taken = before === null ? known : [before, ...known]
  if (taken.some((one) => isTakenFrom(asked, one))) return undefined
  const field = members.find(([, of]) => !taken.some((one) => of(asked, one)))?.[0] ?? "canonical_issuer"
  const message = "an administrator of the installation brings a provider in, or a preset does"
  return { reason: "OUTPUT_ONLY_FIELD", field: `provider_client.${field}`, message }
}

/**
 * Where a new name is another app's, or its team: its tokens would be taken here, people here would be people there, and
 * nobody could say whose the provider's news are.
 * In projects of IDP_C apps have no names.
 */
function elsewheres(
  asked: ClientValues,
  { before, others }: { before: ClientValues | null; others: readonly ClientValues[] },
): "client_id" | "audiences" | "provider_tenant" | undefined {
  if (asked.provider === "IDP_C") return undefined
  // Of IDP_B the team is a part of the account's key, and no token says it.
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

/** Each with whether it is the other client's. What may be left out is so too when it is. */
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
