// Rules for an app's client at a provider. Each provider has its own fields; a field that the provider does not use is
// refused.
import type { Provider, ProviderClient } from "../records.ts"
import { isPageAddress, isRedirectAddress, isServerAddress, isServerRoot } from "./address.ts"
import { invalid, type Problem } from "./problem.ts"

/** The fields of a client that administrators set, without its secrets. */
export type ClientValues = Omit<
  ProviderClient,
  "id" | "appId" | "status" | "clientSecretSealed" | "tokenSecretSealed" | "createdAtMs" | "updatedAtMs"
>

/** Which secrets the client will have after the change. */
interface SecretsKept {
  readonly clientSecret: boolean
  readonly tokenSecret: boolean
}

/** Endpoints of an IDP_C project, derived from its URL as in its tokens: one issuer, one key set, one audience. */
function ofProject(projectUrl: string) {
  const issuer = `${projectUrl}/auth/v1`
  return { issuer, jwksUri: `${issuer}/.well-known/jwks.json`, audience: "authenticated" }
}

/**
 * Fills in defaults: canonical issuer, audiences and authorized parties; for an IDP_C project also issuers and jwksUri.
 */
export function completed(asked: ClientValues): ClientValues {
  if (asked.provider === "IDP_C" && asked.projectUrl !== null) {
    const { issuer, jwksUri, audience } = ofProject(asked.projectUrl)
    return {
      ...asked,
      issuers: asked.issuers.length === 0 ? [issuer] : asked.issuers,
      canonicalIssuer: asked.canonicalIssuer || issuer,
      audiences: asked.audiences.length === 0 ? [audience] : asked.audiences,
      jwksUri: asked.jwksUri || jwksUri,
    }
  }
  return {
    ...asked,
    canonicalIssuer: asked.canonicalIssuer || (asked.issuers[0] ?? ""),
    audiences: asked.audiences.length === 0 ? [asked.clientId] : asked.audiences,
    authorizedParties: asked.authorizedParties.length === 0 ? [asked.clientId] : asked.authorizedParties,
  }
}

interface Grounds {
  /** Null for a new client. */
  readonly before: ClientValues | null
  readonly secrets: SecretsKept
  /** Development only: allows stand-in providers at loopback. */
  readonly isLoopbackAllowed: boolean
}

/** Returns why a client's values are invalid, with the field's path in the request; undefined if they are valid. */
export function clientProblem(asked: ClientValues, grounds: Grounds): Problem | undefined {
  const problem = commonProblem(asked, grounds) ?? problems[asked.provider](asked, grounds)
  return problem && { ...problem, field: `provider_client.${problem.field}` }
}

function commonProblem(asked: ClientValues, { before, isLoopbackAllowed }: Grounds): Problem | undefined {
  const { clientId, redirectUris, jwksUri, tokenEndpoint, revocationEndpoint } = asked
  if (!/^[\x21-\x7e]{1,255}$/.test(clientId)) return invalid("client_id")
  const isAsked = (address: string | null, was: string | null | undefined) =>
    address === null || address === was || isServerAddress(address, isLoopbackAllowed)
  if (!isAsked(jwksUri, before?.jwksUri))
    return invalid("jwks_uri", "the address must be HTTPS with a public host name")
  if (!isAsked(tokenEndpoint, before?.tokenEndpoint)) return invalid("token_endpoint")
  if (!isAsked(revocationEndpoint, before?.revocationEndpoint)) return invalid("revocation_endpoint")
  const isKnown = (uri: string) => before?.redirectUris.includes(uri) ?? false
  if (!redirectUris.every((uri) => isKnown(uri) || isRedirectAddress(uri, isLoopbackAllowed))) {
    return invalid("redirect_uris")
  }
  return browserProblem(asked, { before, isLoopbackAllowed })
}

/** Checks what a browser receives: the authorization endpoint and scopes. */
function browserProblem(
  { provider, authorizationEndpoint, scopes, requiresResponseIssuer }: ClientValues,
  { before, isLoopbackAllowed }: Pick<Grounds, "before" | "isLoopbackAllowed">,
): Problem | undefined {
  if (provider !== "IDP_A") {
    const none = "the field is only allowed for IDP_A"
    if (authorizationEndpoint !== null) return invalid("authorization_endpoint", none)
    if (scopes.length > 0) return invalid("scopes", none)
    return requiresResponseIssuer ? invalid("requires_response_issuer", none) : undefined
  }
  const isAsked = authorizationEndpoint === null || authorizationEndpoint === before?.authorizationEndpoint
  if (!isAsked && !isPageAddress(authorizationEndpoint, isLoopbackAllowed)) {
    return invalid("authorization_endpoint", "the address must use HTTPS")
  }
  return scopes.length > 0 && !scopes.includes("openid") ? invalid("scopes", "scopes must include openid") : undefined
}

const problems: Record<Provider, (asked: ClientValues, grounds: Grounds) => Problem | undefined> = {
  IDP_A(asked, { before, secrets }) {
    if (asked.providerTenant !== null) return invalid("provider_tenant", "the field must be empty for IDP_A")
    if (asked.clientKeyId !== null) return invalid("client_key_id", "the field must be empty for IDP_A")
    if (asked.revocationEndpoint !== null) return invalid("revocation_endpoint", "the field must be empty for IDP_A")
    return tokenProblem(asked, before) ?? projectProblem(asked, secrets)
  },

  IDP_B(asked, { before, secrets }) {
    if (!/^[A-Za-z0-9]{1,64}$/.test(asked.providerTenant ?? ""))
      return invalid("provider_tenant", "the team id is required")
    if (asked.hostedDomains.length > 0) return invalid("hosted_domains", "the field must be empty for IDP_B")
    if (asked.clientKeyId !== null && !/^[A-Za-z0-9]{1,64}$/.test(asked.clientKeyId)) return invalid("client_key_id")
    if (asked.tokenEndpoint !== null || secrets.clientSecret) {
      if (asked.clientKeyId === null) return invalid("client_key_id", "the id of the private key is required")
      if (!secrets.clientSecret) return invalid("client_secret", "the private key is required to exchange codes")
    }
    return tokenProblem(asked, before) ?? projectProblem(asked, secrets)
  },

  IDP_C(asked, { before, secrets, isLoopbackAllowed }) {
    const { projectUrl, issuers, canonicalIssuer } = asked
    if (projectUrl === null) return invalid("project_url", "project_url must be the project's HTTPS address")
    if (projectUrl !== before?.projectUrl && !isServerRoot(projectUrl, isLoopbackAllowed)) return invalid("project_url")
    const { issuer, jwksUri } = ofProject(projectUrl)
    if (!isSame(issuers, before?.issuers) && !isSame(issuers, [issuer])) return invalid("issuers")
    if (canonicalIssuer !== before?.canonicalIssuer && canonicalIssuer !== issuer) return invalid("canonical_issuer")
    if (asked.jwksUri !== before?.jwksUri && asked.jwksUri !== jwksUri) return invalid("jwks_uri")
    if (!/^[A-Za-z0-9_-]{1,128}$/.test(asked.providerTenant ?? "")) {
      return invalid("provider_tenant", "the project reference is required")
    }
    for (const [field, value] of [
      ["token_endpoint", asked.tokenEndpoint],
      ["revocation_endpoint", asked.revocationEndpoint],
      ["client_key_id", asked.clientKeyId],
    ] as const) {
      if (value !== null) return invalid(field, "the field must be empty for IDP_C")
    }
    if (asked.connection !== "") return invalid("connection", "the field must be empty for IDP_C")
    if (asked.redirectUris.length > 0)
      return invalid("redirect_uris", "set the redirect URIs of magic links in the app's settings")
    if (asked.hostedDomains.length > 0) return invalid("hosted_domains", "the field must be empty for IDP_C")
    return secrets.clientSecret ? undefined : invalid("client_secret", "the project's secret key is required")
  },
}

/** Checks for providers whose ID tokens this server verifies. */
function tokenProblem({ issuers, canonicalIssuer }: ClientValues, before: Grounds["before"]): Problem | undefined {
  if (issuers.length === 0) return invalid("issuers", "at least one issuer is required")
  // Those of a development app, whose address changes.
  const isUnchanged = canonicalIssuer === before?.canonicalIssuer && isSame(issuers, before.issuers)
  if (!isUnchanged && !issuers.includes(canonicalIssuer))
    return invalid("canonical_issuer", "canonical_issuer must be one of issuers")
  return undefined
}

/** Checks for providers other than IDP_C: they have no project. */
function projectProblem({ projectUrl }: ClientValues, { tokenSecret }: SecretsKept): Problem | undefined {
  if (projectUrl !== null) return invalid("project_url", "project_url is only allowed for IDP_C")
  return tokenSecret ? invalid("token_secret", "project_url is only allowed for IDP_C") : undefined
}

const isSame = (is: readonly string[], was: readonly string[] | undefined): boolean =>
  was !== undefined && is.length === was.length && is.every((each, index) => each === was[index])
