import { describe, expect, test } from "vitest"
import { Refused } from "../errors.ts"
import {
  accessTokenType,
  contextTokenType,
  type GrantParameters,
  grantOf,
  patTokenType,
  tokenExchange,
} from "./grant.ts"

const nothing: GrantParameters = {
  grantType: "",
  subjectTokenType: "",
  actorTokenType: "",
  requestedTokenType: "",
}
const grant = (change: Partial<GrantParameters>) => grantOf({ ...nothing, ...change })
const dlg = "dlg_00000000000000000000000000"

describe("a grant", () => {
  test.each<[string, Partial<GrantParameters>, unknown]>([
    ["client_credentials", { grantType: "client_credentials" }, { is: "client_credentials" }],
    ["pat by its short name", { grantType: "pat", pat: "p" }, { is: "pat", pat: "p" }],
    ["pat with the standard parameter", { grantType: "pat", subjectToken: "p" }, { is: "pat", pat: "p" }],
    [
      "pat by its standard name",
      { grantType: tokenExchange, subjectToken: "p", subjectTokenType: patTokenType },
      { is: "pat", pat: "p" },
    ],
    [
      "pat by its short name, with the type of its token",
      { grantType: "pat", subjectToken: "p", subjectTokenType: patTokenType },
      { is: "pat", pat: "p" },
    ],
    [
      "a standing delegation by its standard name",
      { grantType: tokenExchange, delegationId: dlg },
      { is: "on_behalf_of", subject: { is: "delegation", id: dlg } },
    ],
    [
      "on_behalf_of by its short name",
      { grantType: "on_behalf_of", subjectToken: "s", subjectTokenType: accessTokenType },
      { is: "on_behalf_of", subject: { is: "token", token: "s" } },
    ],
    [
      "on_behalf_of by its standard name",
      {
        grantType: tokenExchange,
        subjectToken: "s",
        subjectTokenType: accessTokenType,
        requestedTokenType: accessTokenType,
      },
      { is: "on_behalf_of", subject: { is: "token", token: "s" } },
    ],
    [
      "a standing delegation",
      { grantType: "on_behalf_of", delegationId: dlg },
      { is: "on_behalf_of", subject: { is: "delegation", id: dlg } },
    ],
    [
      "an actor's own token",
      {
        grantType: "on_behalf_of",
        delegationId: dlg,
        actorToken: "a",
        actorTokenType: accessTokenType,
      },
      { is: "on_behalf_of", subject: { is: "delegation", id: dlg } },
    ],
    [
      "a context of the service's own",
      { grantType: "client_credentials", requestedTokenType: contextTokenType },
      { is: "own_context" },
    ],
    [
      "a context of whom it was called by",
      {
        grantType: tokenExchange,
        subjectToken: "s",
        subjectTokenType: accessTokenType,
        requestedTokenType: contextTokenType,
      },
      { is: "context", token: "s" },
    ],
  ])("is read from %s", (_, change, expected) => {
    expect(grant(change)).toEqual(expected)
  })
})

describe("no grant", () => {
  const exchange = { grantType: tokenExchange }
  const context = { requestedTokenType: contextTokenType }
  const whole = { subjectToken: "s", subjectTokenType: accessTokenType }

  test.each<[string, Partial<GrantParameters>]>([
    ["a context for a personal access token", { ...context, grantType: "pat", pat: "p" }],
    ["a context by the short name of another", { ...context, grantType: "on_behalf_of", subjectToken: "s" }],
    ["a context under a standing delegation", { ...context, ...exchange, delegationId: dlg }],
    ["a context for an empty token", { ...context, ...exchange, subjectToken: "", subjectTokenType: accessTokenType }],
    ["a context for no token", { ...context, ...exchange, subjectTokenType: accessTokenType }],
    [
      "a context by the short name, with all that an exchange needs",
      { ...context, grantType: "on_behalf_of", ...whole },
    ],
    ["a context of one's own with a pat", { ...context, grantType: "client_credentials", pat: "p" }],
    ["a context of one's own with an actor", { ...context, grantType: "client_credentials", actorToken: "a" }],
    ["a context of one's own by delegation", { ...context, grantType: "client_credentials", delegationId: dlg }],
    ["a context of another with a pat", { ...context, ...exchange, ...whole, pat: "p" }],
    ["a context of two subjects", { ...context, ...exchange, ...whole, delegationId: dlg }],
    ["a context of one's own and of another", { ...context, grantType: "client_credentials", subjectToken: "s" }],
    [
      "a context of another's context",
      { ...context, ...exchange, subjectToken: "s", subjectTokenType: contextTokenType },
    ],
    ["an access token for a context", { ...exchange, subjectToken: "s", subjectTokenType: contextTokenType }],
  ])("is %s", (_, change) => {
    expect(grant(change)).toBeInstanceOf(Refused)
  })
  const onBehalf = { grantType: "on_behalf_of" }
  const subject = { subjectToken: "s", subjectTokenType: accessTokenType }
  test.each<[string, Partial<GrantParameters>, string]>([
    ["without a type", {}, "unsupported_grant_type"],
    ["of a password", { grantType: "password" }, "unsupported_grant_type"],
    ["of a refresh token", { grantType: "refresh_token" }, "unsupported_grant_type"],
    ["in other letters", { grantType: "Client_Credentials" }, "unsupported_grant_type"],
    [
      "for another kind of token",
      { grantType: "client_credentials", requestedTokenType: patTokenType },
      "invalid_request",
    ],
    ["of client_credentials with a subject", { grantType: "client_credentials", ...subject }, "invalid_request"],
    [
      "of client_credentials with an empty subject",
      { grantType: "client_credentials", subjectToken: "" },
      "invalid_request",
    ],
    ["of client_credentials with an actor", { grantType: "client_credentials", actorToken: "a" }, "invalid_request"],
    ["of client_credentials with a pat", { grantType: "client_credentials", pat: "p" }, "invalid_request"],
    [
      "of client_credentials with a delegation",
      { grantType: "client_credentials", delegationId: dlg },
      "invalid_request",
    ],
    ["of pat without one", { grantType: "pat" }, "invalid_request"],
    ["of pat with an empty one", { grantType: "pat", pat: "" }, "invalid_request"],
    ["of pat in two parameters", { grantType: "pat", pat: "p", subjectToken: "p" }, "invalid_request"],
    ["of pat for an access token", { grantType: "pat", ...subject }, "invalid_request"],
    ["of pat with an actor", { grantType: "pat", pat: "p", actorToken: "a" }, "invalid_request"],
    ["of exchange without types", exchange, "invalid_request"],
    ["of exchange for an ID token", { ...exchange, subjectToken: "s", subjectTokenType: "id" }, "invalid_request"],
    [
      "of exchange with an empty subject",
      { ...exchange, subjectToken: "", subjectTokenType: accessTokenType },
      "invalid_request",
    ],
    ["of exchange without its subject", { ...exchange, subjectTokenType: accessTokenType }, "invalid_request"],
    ["of on_behalf_of without a subject", onBehalf, "invalid_request"],
    ["of on_behalf_of without the subject's type", { ...onBehalf, subjectToken: "s" }, "invalid_request"],
    [
      "of on_behalf_of for a pat",
      { ...onBehalf, subjectToken: "s", subjectTokenType: patTokenType },
      "invalid_request",
    ],
    ["of two subjects", { ...onBehalf, ...subject, delegationId: dlg }, "invalid_request"],
    [
      "of a subject's type and a delegation",
      { ...onBehalf, subjectTokenType: accessTokenType, delegationId: dlg },
      "invalid_request",
    ],
    ["of on_behalf_of with a pat", { ...onBehalf, ...subject, pat: "p" }, "invalid_request"],
    ["of pat with an actor's type", { grantType: "pat", pat: "p", actorTokenType: accessTokenType }, "invalid_request"],
    ["of pat with a delegation", { grantType: "pat", pat: "p", delegationId: dlg }, "invalid_request"],
    [
      "of client_credentials with a subject's type",
      { grantType: "client_credentials", subjectTokenType: accessTokenType },
      "invalid_request",
    ],
    ["of an empty subject and a delegation", { ...onBehalf, subjectToken: "", delegationId: dlg }, "invalid_request"],
    ["of an empty delegation", { ...onBehalf, delegationId: "" }, "invalid_request"],
    ["of an actor without its type", { ...onBehalf, ...subject, actorToken: "a" }, "invalid_request"],
    ["of an actor's type alone", { ...onBehalf, ...subject, actorTokenType: accessTokenType }, "invalid_request"],
    [
      "of an actor of another type",
      { ...onBehalf, ...subject, actorToken: "a", actorTokenType: patTokenType },
      "invalid_request",
    ],
  ])("%s", (_, change, error) => {
    const refused = grant(change)
    expect(refused).toBeInstanceOf(Refused)
    expect(refused instanceof Refused && refused.metadata.error).toBe(error)
  })
})
