// Attempts to present one kind of JWT as another. Each purpose has its own keys, so a stolen key signs only for its
// purpose.

import { createPrivateKey, sign } from "node:crypto"
import { signingKeyLabel } from "@signet/kernel/keys/sealed-columns"
import { afterAll, beforeAll, expect, test } from "vitest"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

let server: TestServer
let clients: Clients
let accessToken: string
beforeAll(async () => {
  server = await startTestServer({ store: storyStore })
  clients = clientsOver((protocols.gRPC ?? expect.unreachable)(server.url))
  ;({ accessToken } = await clients.auth.externalLogin(await server.login("ada")))
})
afterAll(() => server?.close())

const decode = (part: string | undefined): Record<string, unknown> =>
  JSON.parse(Buffer.from(part ?? "", "base64url").toString())
const encode = (json: object) => Buffer.from(JSON.stringify(json)).toString("base64url")
const me = (token: string) => refusal(clients.auth.me({}, bearer(token)))

test("a JWT with valid access claims but another type is refused as a bearer token", async () => {
  const claims = decode(accessToken.split(".")[1])
  for (const typ of ["rev+jwt", "perm+jwt", "aud-cp+jwt", "ctx+jwt", "ekc+jwt"] as const) {
    expect(await me(server.keys.sign(typ, claims))).toBe("Unauthenticated TYP_NOT_ALLOWED")
  }
  await clients.auth.me({}, bearer(server.keys.sign("at+jwt", claims)))
})

test.each(["STATEMENT", "CONTEXT"] as const)("a stolen %s key cannot sign an access token", async (purpose) => {
  const claims = decode(accessToken.split(".")[1])
  const [key] = (await server.store.signingKeys.list()).filter((one) => one.purpose === purpose)
  const pkcs8 = key && server.secrets.open(signingKeyLabel(key), key.privateSealed)
  if (key === undefined || pkcs8 === undefined) throw new Error("no key was taken")
  const input = `${encode({ alg: "ES256", typ: "at+jwt", kid: key.kid })}.${encode(claims)}`
  const privateKey = createPrivateKey({ key: Buffer.from(pkcs8), format: "der", type: "pkcs8" })
  const signature = sign("sha256", Buffer.from(input), { key: privateKey, dsaEncoding: "ieee-p1363" })
  expect(await me(`${input}.${signature.toString("base64url")}`)).toBe("Unauthenticated KEY_UNKNOWN")
})

test("each purpose has its own key set address, and no key is in two sets", async () => {
  const addresses = ["jwks", "statement-keys", "context-keys"].map((name) => `${server.url}/.well-known/${name}.json`)
  const sets = await Promise.all(
    addresses.map(async (address) => {
      const response = await fetch(address)
      expect(response.headers.get("content-type")).toBe("application/jwk-set+json")
      expect(response.headers.get("cache-control")).toBe("public, max-age=300, stale-while-revalidate=600")
      return ((await response.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)
    }),
  )
  expect(sets.map((kids) => kids.length)).toEqual([2, 2, 2])
  expect(new Set(sets.flat()).size).toBe(6)
  const metadata = await fetch(`${server.url}/.well-known/oauth-authorization-server`)
  const { issuer } = server.deps
  expect(await metadata.json()).toMatchObject({
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    statement_keys_uri: `${issuer}/.well-known/statement-keys.json`,
    context_keys_uri: `${issuer}/.well-known/context-keys.json`,
  })
})
