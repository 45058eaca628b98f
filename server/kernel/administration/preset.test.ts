import { describe, expect, test } from "vitest"
import { isPageAddress, isServerAddress } from "./address.ts"
import { presetValues } from "./preset.ts"

const tenant = "72f988bf-86f1-41af-91ab-2d7cd011db47"
const good = [
  ["google", ""],
  ["entra", tenant],
  ["okta", "example.okta.com"],
  ["okta", "dev-1.oktapreview.com"],
  ["auth0", "example.auth0.com"],
  ["auth0", "example.eu.auth0.com"],
] as const

describe("a preset", () => {
  test.each(good)("%s %s fills in valid addresses below the provider's own domain", (name, of) => {
    const filled = presetValues(name, of)
    if (filled.is === "refuse") throw new Error(filled.problem.message)
    const { values } = filled
    expect(values.issuers).toContain(values.canonicalIssuer)
    const hosts = [values.jwksUri, values.tokenEndpoint ?? "", values.authorizationEndpoint ?? ""].map((address) => {
      expect(isServerAddress(address, false) && isPageAddress(address, false)).toBe(true)
      return new URL(address).hostname
    })
    const own = /^(accounts\.google\.com|www\.googleapis\.com|oauth2\.googleapis\.com|login\.microsoftonline\.com)$/
    for (const host of hosts) expect(host === of || own.test(host)).toBe(true)
  })

  test.each([
    ["google", "example.com", "preset_tenant"],
    ["entra", "", "preset_tenant"],
    ["entra", "common", "preset_tenant"],
    ["entra", "organizations", "preset_tenant"],
    ["entra", `${tenant}/../${tenant}`, "preset_tenant"],
    ["entra", tenant.toUpperCase(), "preset_tenant"],
    ["okta", "evil.example", "preset_tenant"],
    ["okta", "okta.com", "preset_tenant"],
    ["okta", "evil.example/x.okta.com", "preset_tenant"],
    ["okta", "evil.example?.okta.com", "preset_tenant"],
    ["okta", "user@evil.okta.com", "preset_tenant"],
    ["okta", "example.okta.com.evil.example", "preset_tenant"],
    ["okta", "example.okta.com:444", "preset_tenant"],
    ["okta", "example.okta.com\n", "preset_tenant"],
    ["okta", "a.b.okta.com", "preset_tenant"],
    ["okta", "exampleXokta.com", "preset_tenant"],
    ["auth0", "example.evil.auth0.com", "preset_tenant"],
    ["github", "", "preset"],
    ["constructor", "", "preset"],
    ["__proto__", "", "preset"],
  ])("%s with %j is refused, and the field is named", (name, of, field) => {
    expect(presetValues(name, of)).toMatchObject({
      is: "refuse",
      problem: { reason: "INVALID_FIELD", field: `provider_client.${field}` },
    })
  })
})
