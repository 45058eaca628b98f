import { describe, expect, test } from "vitest"
import { newId } from "../ids.ts"
import type { ProviderClient } from "../records.ts"
import { providerClient } from "../testing/records.ts"
import { providerProblem } from "./provider.ts"

const known: ProviderClient = {
  ...providerClient,
  issuers: ["https://idp.example", "https://idp.example/old"],
  canonicalIssuer: "https://idp.example",
  jwksUri: "https://idp.example/keys",
  tokenEndpoint: "https://idp.example/token",
}
const another: ProviderClient = {
  ...known,
  issuers: ["https://other.example"],
  canonicalIssuer: "https://other.example",
  jwksUri: "https://other.example/keys",
}
const appId = newId("app", 9, new Uint8Array(10))
const grounds = { before: null, isInstallationAdmin: false, isPreset: false, appId, known: [known, another] }
const mine = { clientId: "mine", audiences: ["mine"] }
const problemOf = (change: Partial<ProviderClient>, more: Partial<Parameters<typeof providerProblem>[1]> = {}) =>
  providerProblem({ ...known, ...mine, ...change }, { ...grounds, ...more })?.field

describe("an app's administrator", () => {
  test("may reuse a known provider, or a part of its endpoints", () => {
    expect(problemOf({})).toBeUndefined()
    expect(problemOf({ issuers: ["https://idp.example"], tokenEndpoint: null })).toBeUndefined()
  })

  test("may omit each of the provider's optional endpoints", () => {
    const ends = {
      authorizationEndpoint: "https://idp.example/authorize",
      revocationEndpoint: "https://idp.example/end",
    }
    const full = { ...known, ...ends }
    expect(problemOf(ends, { known: [full] })).toBeUndefined()
    for (const name of ["authorizationEndpoint", "revocationEndpoint", "tokenEndpoint"] as const) {
      expect(problemOf({ ...ends, [name]: null }, { known: [full] })).toBeUndefined()
    }
  })

  test("may use a preset, but not another app's client id", () => {
    const preset = { isPreset: true, known: [] }
    expect(problemOf({ jwksUri: "https://preset.example/keys" }, preset)).toBeUndefined()
    expect(problemOf({ clientId: known.clientId }, { isPreset: true })).toBe("provider_client.client_id")
  })

  test.each<[Partial<ProviderClient>, string]>([
    [{ jwksUri: "https://evil.example/keys" }, "provider_client.jwks_uri"],
    [{ tokenEndpoint: "https://evil.example/token" }, "provider_client.token_endpoint"],
    [{ authorizationEndpoint: "https://evil.example/authorize" }, "provider_client.authorization_endpoint"],
    [{ revocationEndpoint: "https://evil.example/revoke" }, "provider_client.revocation_endpoint"],
    [{ projectUrl: "https://evil.example" }, "provider_client.project_url"],
    [{ issuers: ["https://idp.example", "https://victim.example"] }, "provider_client.issuers"],
    [{ canonicalIssuer: "https://victim.example" }, "provider_client.canonical_issuer"],
    // Each value is known by itself, but not together: keys of one issuer do not vouch for another.
    [{ jwksUri: another.jwksUri }, "provider_client.canonical_issuer"],
    [{ canonicalIssuer: another.canonicalIssuer }, "provider_client.canonical_issuer"],
  ])("cannot introduce a provider: %j", (change, field) => {
    expect(problemOf(change)).toBe(field)
    expect(problemOf(change, { isInstallationAdmin: true })).toBeUndefined()
    expect(problemOf(change, { before: { ...known, ...change }, known: [] })).toBeUndefined()
  })

  test("cannot use another app's client id or audience", () => {
    const [theirs = ""] = known.audiences
    expect(problemOf({ clientId: known.clientId })).toBe("provider_client.client_id")
    expect(problemOf({ clientId: theirs })).toBe("provider_client.client_id")
    expect(problemOf({ audiences: ["mine", theirs] })).toBe("provider_client.audiences")
    expect(problemOf({ audiences: [theirs] }, { isInstallationAdmin: true })).toBeUndefined()
    expect(problemOf({ audiences: [theirs] }, { appId: known.appId })).toBeUndefined()
    expect(problemOf({ audiences: [theirs] }, { before: { ...known, ...mine, audiences: [theirs] } })).toBeUndefined()
    const team = { ...known, provider: "IDP_B", providerTenant: "TEAM000001" } as const
    const sameTeam = { provider: "IDP_B", providerTenant: "TEAM000001" } as const
    expect(problemOf(sameTeam, { known: [team] })).toBe("provider_client.provider_tenant")
    expect(problemOf(sameTeam, { known: [team], appId: team.appId })).toBeUndefined()
    expect(problemOf(sameTeam, { known: [team], before: { ...team, ...mine } })).toBeUndefined()
    expect(problemOf({ ...sameTeam, providerTenant: "TEAM000002" }, { known: [team] })).toBeUndefined()
    const project = { ...known, ...mine, provider: "IDP_C", audiences: ["authenticated"] } as const
    expect(problemOf(project, { known: [project] })).toBeUndefined()
  })

  test("has nothing to reuse without a client of the same provider", () => {
    expect(problemOf({}, { known: [] })).toBe("provider_client.canonical_issuer")
    expect(problemOf({}, { known: [{ ...known, provider: "IDP_B" }] })).toBe("provider_client.canonical_issuer")
  })
})
