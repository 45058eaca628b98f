import { describe, expect, test } from "vitest"
import type { ProviderClient } from "../records.ts"
import { providerClient } from "../testing/records.ts"
import { offered, scopesOf, selectConnection } from "./connection.ts"

const named = (connection: string, status: ProviderClient["status"] = "ACTIVE"): ProviderClient => ({
  ...providerClient,
  connection,
  status,
})

describe("the connection of a sign-in", () => {
  test.each<[string, string[], string, string]>([
    ["the only one, unnamed", [""], "", ""],
    ["the only one, although it has a name", ["google"], "", "google"],
    ["the default beside others", ["", "google", "okta"], "", ""],
    ["the one that is named", ["", "google", "okta"], "okta", "okta"],
    ["the one that is named, of several without a default", ["google", "okta"], "google", "google"],
  ])("is %s", (_, connections, name, expected) => {
    const selected = selectConnection(
      connections.map((each) => named(each)),
      name,
    )
    expect(selected).toMatchObject({ is: "selected", client: { connection: expected } })
  })

  test.each<[string, string[], string, string]>([
    ["none is named and there are several", ["google", "okta"], "", "CONNECTION_REQUIRED"],
    ["the name is unknown, even with a default", ["", "google"], "okta", "CONNECTION_UNKNOWN"],
    ["the name is unknown, even of the only one", ["google"], "okta", "CONNECTION_UNKNOWN"],
    ["the name is written otherwise", ["google", "okta"], "Google", "CONNECTION_UNKNOWN"],
  ])("is refused when %s, and what could be named is listed", (_, connections, name, reason) => {
    const all = connections.map((each) => named(each))
    expect(selectConnection(all, name)).toEqual({ is: "refuse", reason, names: connections })
  })

  test("is none if the app has none", () => {
    expect(selectConnection([], "")).toEqual({ is: "none" })
    expect(selectConnection([], "google")).toEqual({ is: "none" })
  })

  test("does not change when another one is disabled, which is no longer listed", () => {
    const both = [named("google", "DISABLED"), named("okta")]
    expect(selectConnection(both, "")).toEqual({ is: "refuse", reason: "CONNECTION_REQUIRED", names: ["okta"] })
    expect(selectConnection(both, "google")).toMatchObject({ is: "selected", client: { status: "DISABLED" } })
    expect(offered(both).map(({ connection }) => connection)).toEqual(["okta"])
  })
})

test("default scopes exist for IDP_A only", () => {
  expect(scopesOf({ provider: "IDP_A", scopes: [] })).toEqual(["openid", "email", "profile"])
  expect(scopesOf({ provider: "IDP_A", scopes: ["openid"] })).toEqual(["openid"])
  expect(scopesOf({ provider: "IDP_B", scopes: [] })).toEqual([])
})
