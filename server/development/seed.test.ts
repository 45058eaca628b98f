import type { ProviderClientId } from "@signet/kernel/ids"
import { clientSecretLabel } from "@signet/kernel/keys/sealed-columns"
import { afterAll, beforeAll, expect, test } from "vitest"
import { openTestStore, storyStore, type TestStore } from "../../test/support/postgres.ts"
import { createSecrets } from "../keys/secrets.ts"
import { buildDevelopmentApp, buildProviderClients } from "./app.ts"
import { developmentAppId } from "./app-id.ts"
import { buildIdpBClients } from "./idp-b-clients.ts"
import { createTeamKey } from "./idp-b-keys.ts"
import { buildIdpCClients } from "./idp-c-clients.ts"
import { seedDevelopment } from "./seed.ts"

const secrets = createSecrets({
  peppers: [{ version: 1, key: new Uint8Array(32).fill(1) }],
  sealingKey: new Uint8Array(32).fill(2),
})
let opened: TestStore

beforeAll(async () => {
  opened = await openTestStore(storyStore)
})
afterAll(() => opened.close())

const teamKey = createTeamKey()
const idpC = { secretKey: "sb_secret_1", tokenSecret: null }
const seedAt = (origin: string, webSecret: string) =>
  seedDevelopment({
    store: opened.store,
    secrets,
    idp: { origin: () => origin, webSecret },
    partnerIdp: { webSecret: "partner" },
    idpB: { teamKey },
    idpC,
    authAudience: "auth",
    messagingAudience: "auth",
  })
const platforms = ["WEB", "ANDROID", "IOS"] as const

test("the development app and its clients are in the store after the start", async () => {
  const origin = "http://127.0.0.1:8080"
  await seedAt(origin, "s3cret")
  const expected = {
    IDP_A: buildProviderClients(origin, "s3cret", secrets),
    IDP_B: buildIdpBClients(origin, teamKey.privatePem, secrets),
    IDP_C: buildIdpCClients(origin, idpC, secrets),
  }
  await opened.store.transaction(async (tx) => {
    expect(await tx.apps.findApp(developmentAppId)).toEqual(buildDevelopmentApp(origin, "auth"))
    for (const provider of ["IDP_A", "IDP_B", "IDP_C"] as const) {
      for (const platform of platforms) {
        const [client] = await tx.apps.findConnections(developmentAppId, provider, platform)
        const wanted = expected[provider].find((one) => one.platform === platform)
        expect({ ...client, clientSecretSealed: null }).toEqual({ ...wanted, clientSecretSealed: null })
      }
    }
  })
})

test("a start at another port replaces them and keeps users' subjects", async () => {
  await seedAt("http://127.0.0.1:8080", "one")
  await seedAt("http://127.0.0.1:9090", "another")
  const [client] = await opened.store.transaction((tx) => tx.apps.findConnections(developmentAppId, "IDP_A", "WEB"))
  expect(client).toMatchObject({
    issuers: ["http://127.0.0.1:9090/dev/idp-a"],
    canonicalIssuer: "https://idp-a.invalid",
  })
  const label = clientSecretLabel(client?.id as ProviderClientId)
  expect(Buffer.from(secrets.open(label, client?.clientSecretSealed ?? new Uint8Array()) ?? []).toString()).toBe(
    "another",
  )
})
