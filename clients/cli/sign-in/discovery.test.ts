import { expect, test } from "vitest"
import { fakeCli } from "../testing/fake-cli.ts"
import { discover } from "./discovery.ts"

const issuer = "https://idp.example"
const discovered = (said: object) => {
  const { cli } = fakeCli({ fetch: async () => Response.json({ issuer, ...said }) })
  return discover(cli, issuer)
}

test("discovery returns the provider's endpoints", async () => {
  const authorizationEndpoint = "https://login.idp.example/authorize"
  expect(await discovered({ authorization_endpoint: authorizationEndpoint })).toMatchObject({ authorizationEndpoint })
})

test.each([
  ["a script to run", { authorization_endpoint: "javascript:alert(1)" }],
  ["a file to open", { authorization_endpoint: "file:///etc/passwd" }],
  ["a program to start", { authorization_endpoint: "vscode://install" }],
  ["keys over plain http", { jwks_uri: "http://idp.example/keys" }],
  ["another issuer", { issuer: "https://other.example" }],
])("a provider that names %s is none", async (_, said) => {
  await expect(discovered(said)).rejects.toMatchObject({ reason: "PROVIDER_UNREACHABLE" })
})
