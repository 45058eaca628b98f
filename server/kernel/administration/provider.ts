// Whom a provider client believes, and where it asks. An identity is one in all apps: whoever could name an issuer
// together with keys of their own would be everybody.

import type { Problem } from "./problem.ts"
import type { ClientValues } from "./provider-client.ts"

interface Grounds {
  /** Null for a new client. */
  readonly before: ClientValues | null
  readonly isInstallationAdmin: boolean
  /** Clients of the same provider, in whatever app: an administrator of the installation brought theirs in. */
  readonly known: readonly ClientValues[]
}

/**
 * Why a client may not believe or ask these; undefined when it may. Administrators of the installation bring providers
 * in; others take one as it is: issuers, keys and endpoints that belong together.
 */
export function providerProblem(
  asked: ClientValues,
  { before, isInstallationAdmin, known }: Grounds,
): Problem | undefined {
  if (isInstallationAdmin) return undefined
  const taken = before === null ? known : [before, ...known]
  if (taken.some((one) => isTakenFrom(asked, one))) return undefined
  const field = members.find(([, of]) => !taken.some((one) => of(asked, one)))?.[0] ?? "canonical_issuer"
  const message = "an administrator of the installation brings a provider in"
  return { reason: "OUTPUT_ONLY_FIELD", field: `provider_client.${field}`, message }
}

type Is = (asked: ClientValues, one: ClientValues) => boolean

/** Each with whether it is the other client's. What may be left out is so too when it is. */
const members: readonly (readonly [string, Is])[] = [
  ["canonical_issuer", (asked, one) => asked.canonicalIssuer === one.canonicalIssuer],
  ["issuers", (asked, one) => asked.issuers.every((issuer) => one.issuers.includes(issuer))],
  ["jwks_uri", (asked, one) => asked.jwksUri === one.jwksUri],
  ["token_endpoint", (asked, one) => asked.tokenEndpoint === null || asked.tokenEndpoint === one.tokenEndpoint],
  [
    "revocation_endpoint",
    (asked, one) => asked.revocationEndpoint === null || asked.revocationEndpoint === one.revocationEndpoint,
  ],
  ["project_url", (asked, one) => asked.projectUrl === one.projectUrl],
]

const isTakenFrom: Is = (asked, one) => asked.provider === one.provider && members.every(([, of]) => of(asked, one))
