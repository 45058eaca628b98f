import { describe, expect, test } from "vitest"
import { providerClient } from "../testing/records.ts"
import { type ClientValues, clientProblem, completed } from "./provider-client.ts"

const idpA: ClientValues = providerClient
const idpB: ClientValues = {
  ...idpA,
  provider: "IDP_B",
  providerTenant: "TEAM123456",
  clientKeyId: "KEY1234567",
  revocationEndpoint: "https://idp-b.example/revoke",
}
const idpC: ClientValues = completed({
  ...idpA,
  ...{ provider: "IDP_C", clientId: "project", providerTenant: "project", projectUrl: "https://project.example" },
  ...{ issuers: [], canonicalIssuer: "", audiences: [], authorizedParties: [], jwksUri: "" },
  ...{ tokenEndpoint: null, redirectUris: [] },
})
const kept = { clientSecret: true, tokenSecret: false }
const grounds = { before: null, secrets: kept, isLoopbackAllowed: false }
const fieldOf = (asked: ClientValues, change: Partial<typeof grounds> = {}) =>
  clientProblem(asked, { ...grounds, ...change })?.field.replace("provider_client.", "")

describe("a client", () => {
  test.each([idpA, idpB, idpC])("of $provider is valid", (client) => {
    expect(fieldOf(client)).toBeUndefined()
  })

  test("of IDP_A may send people to a page over TLS, for openid among other scopes", () => {
    const page = { authorizationEndpoint: "https://idp-a.example/a", scopes: ["email", "openid"] }
    expect(fieldOf({ ...idpA, ...page, requiresResponseIssuer: true })).toBeUndefined()
  })

  test.each<[string, ClientValues, Partial<ClientValues>, string]>([
    ["IDP_A has no team", idpA, { providerTenant: "TEAM" }, "provider_tenant"],
    ["IDP_A has no key id", idpA, { clientKeyId: "KEY" }, "client_key_id"],
    ["IDP_A is no project", idpA, { projectUrl: "https://project.example" }, "project_url"],
    ["IDP_A has nowhere to revoke", idpA, { revocationEndpoint: "https://idp-a.example/r" }, "revocation_endpoint"],
    ["a client id is needed", idpA, { clientId: "" }, "client_id"],
    ["an issuer is needed", idpA, { issuers: [] }, "issuers"],
    ["the canonical issuer is an issuer", idpA, { canonicalIssuer: "https://other.example" }, "canonical_issuer"],
    ["keys are needed", idpA, { jwksUri: "" }, "jwks_uri"],
    ["keys come over TLS", idpA, { jwksUri: "http://idp-a.example/jwks" }, "jwks_uri"],
    ["keys do not come from this machine", idpA, { jwksUri: "http://127.0.0.1/jwks" }, "jwks_uri"],
    ["codes are traded over TLS", idpA, { tokenEndpoint: "http://idp-a.example/t" }, "token_endpoint"],
    ["codes do not go to a script", idpA, { redirectUris: ["javascript:alert(1)"] }, "redirect_uris"],
    ["people are sent over TLS", idpA, { authorizationEndpoint: "http://idp-a.example/a" }, "authorization_endpoint"],
    ["people are not sent to a script", idpA, { authorizationEndpoint: "javascript:x" }, "authorization_endpoint"],
    ["openid is asked for", idpA, { scopes: ["email"] }, "scopes"],
    ["IDP_B answers no page", idpB, { authorizationEndpoint: "https://idp-b.example/a" }, "authorization_endpoint"],
    ["IDP_B is asked for no scopes", idpB, { scopes: ["openid"] }, "scopes"],
    ["IDP_B names itself nowhere", idpB, { requiresResponseIssuer: true }, "requires_response_issuer"],
    ["IDP_C has no connections", idpC, { connection: "second" }, "connection"],
    ["IDP_B has a team", idpB, { providerTenant: null }, "provider_tenant"],
    ["IDP_B has a key id to trade codes", idpB, { clientKeyId: null }, "client_key_id"],
    ["IDP_B's key id is one word", idpB, { clientKeyId: "KEY 1" }, "client_key_id"],
    ["IDP_B knows no domains", idpB, { hostedDomains: ["example.com"] }, "hosted_domains"],
    ["IDP_B revokes over TLS", idpB, { revocationEndpoint: "http://idp-b.example" }, "revocation_endpoint"],
    ["IDP_C has a project", idpC, { projectUrl: null }, "project_url"],
    ["IDP_C's project is a whole server", idpC, { projectUrl: "https://project.example/a" }, "project_url"],
    ["IDP_C's issuer is the project's", idpC, { issuers: ["https://other.example/auth/v1"] }, "issuers"],
    ["IDP_C's accounts are the project's", idpC, { canonicalIssuer: "https://other.example" }, "canonical_issuer"],
    ["IDP_C's keys are the project's", idpC, { jwksUri: "https://other.example/jwks" }, "jwks_uri"],
    ["IDP_C has a project reference", idpC, { providerTenant: null }, "provider_tenant"],
    ["IDP_C knows no domains", idpC, { hostedDomains: ["example.com"] }, "hosted_domains"],
    ["IDP_C trades no codes", idpC, { tokenEndpoint: "https://project.example/t" }, "token_endpoint"],
    ["IDP_C leads where the app says", idpC, { redirectUris: ["https://app.example/cb"] }, "redirect_uris"],
  ])("%s", (_, client, change, field) => {
    expect(fieldOf({ ...client, ...change })).toBe(field)
  })

  test("has exactly the secrets that its provider requires", () => {
    const none = { secrets: { clientSecret: false, tokenSecret: false } }
    const both = { secrets: { clientSecret: true, tokenSecret: true } }
    expect([fieldOf(idpA, none), fieldOf(idpB, none), fieldOf(idpC, none)]).toEqual([
      undefined,
      "client_secret",
      "client_secret",
    ])
    expect([fieldOf(idpA, both), fieldOf(idpB, both), fieldOf(idpC, both)]).toEqual([
      "token_secret",
      "token_secret",
      undefined,
    ])
    const withoutKeyId = { ...idpB, tokenEndpoint: null, clientKeyId: null }
    expect(fieldOf(withoutKeyId, none)).toBeUndefined()
    expect(fieldOf(withoutKeyId, { secrets: kept })).toBe("client_key_id")
  })

  test("keeps an address that is no longer allowed for new clients", () => {
    const before = { ...idpA, jwksUri: "http://127.0.0.1:1/jwks" }
    expect([fieldOf(before, { before: null }), fieldOf(before, { before } as never)]).toEqual(["jwks_uri", undefined])
    const canonicalIssuer = "https://idp-c.invalid/auth/v1"
    const stranger = { ...idpC, canonicalIssuer }
    expect(fieldOf(stranger, { before: stranger } as never)).toBeUndefined()
    const standIn = { ...idpA, canonicalIssuer: "https://idp-a.invalid" }
    expect(fieldOf(standIn, { before: standIn } as never)).toBeUndefined()
    const moved = { ...standIn, issuers: ["https://elsewhere.example"] }
    expect(fieldOf(moved, { before: standIn } as never)).toBe("canonical_issuer")
    const old = { ...idpC, issuers: ["https://old.example", ...idpC.issuers] }
    expect(fieldOf(old, { before: old } as never)).toBeUndefined()
    expect(fieldOf({ ...old, issuers: ["https://old.example"] }, { before: old } as never)).toBe("issuers")
  })

  test("gets defaults derived from its other fields", () => {
    const bare = { ...idpA, canonicalIssuer: "", audiences: [], authorizedParties: [] }
    expect(completed(bare)).toMatchObject({
      canonicalIssuer: "https://idp-a.example",
      audiences: ["notes-web"],
      authorizedParties: ["notes-web"],
    })
    expect(idpC).toMatchObject({
      issuers: ["https://project.example/auth/v1"],
      canonicalIssuer: "https://project.example/auth/v1",
      jwksUri: "https://project.example/auth/v1/.well-known/jwks.json",
      audiences: ["authenticated"],
      authorizedParties: [],
    })
    const asked = { issuers: ["i"], canonicalIssuer: "c", audiences: ["a"], jwksUri: "j" }
    expect(completed({ ...idpC, ...asked })).toMatchObject(asked)
    expect(completed({ ...idpC, projectUrl: null, issuers: [] })).toMatchObject({ issuers: [] })
  })
})
