// Determines the grant of a token request. The short names are aliases of RFC 8693 token exchange, so both spellings
// map to one grant. Everything else gets the error code of its RFC.
import { Refused } from "../errors.ts"

export const tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
export const accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
export const patTokenType = "urn:signet:params:oauth:token-type:pat"
/** A context token: states for whom a service sends messages to mailboxes. It is not an access token. */
export const contextTokenType = "urn:signet:params:oauth:token-type:context"

/** The grants by their standard names. */
export const canonicalGrants = ["client_credentials", tokenExchange] as const

/** The parameters that select the grant. Undefined: not sent. An empty string counts as sent. */
export interface GrantParameters {
  grantType: string
  pat?: string | undefined
  subjectToken?: string | undefined
  subjectTokenType: string
  actorToken?: string | undefined
  actorTokenType: string
  delegationId?: string | undefined
  requestedTokenType: string
}

export type Grant =
  | { is: "client_credentials" }
  | { is: "pat"; pat: string }
  | { is: "on_behalf_of"; subject: { is: "token"; token: string } | { is: "delegation"; id: string } }
  /** A context token for the service itself, or for the caller of the given token. */
  | { is: "own_context" }
  | { is: "context"; token: string }

/**
 * Returns the grant that the parameters request. A parameter that does not belong to the grant is an error, never
 * ignored: a server that drops a subject token would answer with the caller's own authority (Keycloak CVE-2026-9704).
 *
 * @returns Refused: invalid_request or unsupported_grant_type.
 */
export function grantOf(parameters: GrantParameters): Grant | Refused {
  const { grantType, subjectTokenType, requestedTokenType } = parameters
  if (requestedTokenType === contextTokenType) return contextGrant(parameters)
  if (requestedTokenType !== "" && requestedTokenType !== accessTokenType) {
    return invalid("requested_token_type", "this type of token is not issued")
  }
  switch (grantType) {
    case "client_credentials":
      return clientCredentials(parameters)
    case "pat":
      return subjectTokenType === "" || subjectTokenType === patTokenType
        ? patGrant(parameters)
        : invalid("subject_token_type", "the grant pat takes a personal access token")
    case "on_behalf_of":
      return onBehalfOf(parameters)
    case tokenExchange:
      if (subjectTokenType === patTokenType) return patGrant(parameters)
      if (subjectTokenType === accessTokenType || parameters.delegationId !== undefined) return onBehalfOf(parameters)
      return invalid("subject_token_type", "this type of token is not exchanged")
    default:
      return new Refused("GRANT_TYPE_UNSUPPORTED", { metadata: { error: "unsupported_grant_type" } })
  }
}

function clientCredentials(parameters: GrantParameters): Grant | Refused {
  return refuseExtra(parameters, ["pat", "subject", "actor", "delegation"]) ?? { is: "client_credentials" }
}

function patGrant(parameters: GrantParameters): Grant | Refused {
  const extra = refuseExtra(parameters, ["actor", "delegation"])
  if (extra !== undefined) return extra
  if (parameters.pat !== undefined && parameters.subjectToken !== undefined) {
    return invalid("pat", "pat and subject_token are aliases: send only one")
  }
  const pat = parameters.pat ?? parameters.subjectToken ?? ""
  return pat === "" ? invalid("pat", "pat is required") : { is: "pat", pat }
}

function onBehalfOf(parameters: GrantParameters): Grant | Refused {
  const { subjectToken, subjectTokenType, delegationId, actorToken, actorTokenType } = parameters
  const extra = refuseExtra(parameters, ["pat"])
  if (extra !== undefined) return extra
  if ((actorToken !== undefined) !== (actorTokenType !== "")) {
    return invalid("actor_token", "actor_token and actor_token_type go together")
  }
  if (actorToken !== undefined && actorTokenType !== accessTokenType) {
    return invalid("actor_token_type", "the actor's token is an access token")
  }
  if (delegationId !== undefined) {
    if (subjectToken !== undefined || subjectTokenType !== "") {
      return invalid("subject_token", "a subject token or a standing delegation, not both")
    }
    return delegationId === ""
      ? invalid("delegation_id", "an empty delegation")
      : { is: "on_behalf_of", subject: { is: "delegation", id: delegationId } }
  }
  if (subjectTokenType !== accessTokenType) {
    return invalid("subject_token_type", "on_behalf_of takes an access token")
  }
  if (subjectToken === undefined || subjectToken === "") {
    return invalid("subject_token", "a subject token is needed")
  }
  return { is: "on_behalf_of", subject: { is: "token", token: subjectToken } }
}

function contextGrant(parameters: GrantParameters): Grant | Refused {
  if (parameters.grantType === "client_credentials") {
    return refuseExtra(parameters, ["pat", "subject", "actor", "delegation"]) ?? { is: "own_context" }
  }
  if (parameters.grantType !== tokenExchange) {
    return invalid("requested_token_type", "the grant gives no context tokens")
  }
  // Requires the same parameters as the exchange of an access token.
  const exchange = refuseExtra(parameters, ["delegation"]) ?? onBehalfOf(parameters)
  if (exchange instanceof Refused || exchange.is !== "on_behalf_of") return exchange
  return exchange.subject.is === "token" ? { is: "context", token: exchange.subject.token } : exchange
}

type Extra = "pat" | "subject" | "actor" | "delegation"

function refuseExtra(parameters: GrantParameters, extras: readonly Extra[]): Refused | undefined {
  const sent: Record<Extra, string | undefined> = {
    pat: parameters.pat === undefined ? undefined : "pat",
    subject: parameters.subjectToken === undefined && parameters.subjectTokenType === "" ? undefined : "subject_token",
    actor: parameters.actorToken === undefined && parameters.actorTokenType === "" ? undefined : "actor_token",
    delegation: parameters.delegationId === undefined ? undefined : "delegation_id",
  }
  const field = extras.map((extra) => sent[extra]).find((name) => name !== undefined)
  return field === undefined ? undefined : invalid(field, "the grant does not use this parameter: omit it")
}

const invalid = (field: string, message: string): Refused =>
  new Refused("INVALID_FIELD", { message, metadata: { field, error: "invalid_request" } })
