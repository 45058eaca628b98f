// Attempts by an app's administrator to sign in as any user, with an issuer that others trust and with keys of their
// own.
import { Platform, Provider } from "@signet/proto/auth/v1/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startAdministeredServer } from "../support/administered-server.ts"
import type { AdministeredWorld } from "../support/administration.ts"
import { type Clients, refusal } from "../support/clients.ts"
import { type FakeIdp, startFakeIdp } from "../support/idp.ts"
import type { TestServer } from "../support/server.ts"

let server: TestServer
let clients: Clients
let world: AdministeredWorld
let evil: FakeIdp
beforeAll(async () => {
  ;({ server, clients, world } = await startAdministeredServer())
  evil = await startFakeIdp({ nowMs: server.deps.clock.nowMs })
})
afterAll(() => Promise.all([server?.close(), evil?.stop()]))

const clientOf = (change: Record<string, unknown>) => ({
  provider: Provider.IDP_A,
  platform: Platform.ANDROID,
  clientId: "draw-android",
  issuers: [server.client.canonicalIssuer],
  jwksUri: server.client.jwksUri,
  signupEnabled: true,
  ...change,
})
const create = (change: Record<string, unknown>, by: "otherAdmin" | "root") =>
  clients.admin.createProviderClient({ appId: world.other.id, providerClient: clientOf(change) }, world.as(by))

test("an app's administrator can neither change a provider's settings nor add a provider", async () => {
  const refused = "InvalidArgument OUTPUT_ONLY_FIELD"
  expect(await refusal(create({ jwksUri: evil.jwksUri }, "otherAdmin"))).toBe(refused)
  expect(await refusal(create({ tokenEndpoint: evil.tokenEndpoint }, "otherAdmin"))).toBe(refused)
  expect(await refusal(create({ issuers: [evil.issuer] }, "otherAdmin"))).toBe(refused)
  expect(await refusal(create({ issuers: [evil.issuer], jwksUri: evil.jwksUri }, "otherAdmin"))).toBe(refused)

  const { providerClient } = await create({}, "otherAdmin")
  const named = { appId: world.other.id, providerClientId: providerClient?.id ?? "" }
  const update = (change: Record<string, unknown>, by: "otherAdmin" | "root" = "otherAdmin") =>
    clients.admin.updateProviderClient({ ...named, providerClient: change }, world.as(by))
  expect(await refusal(update({ jwksUri: evil.jwksUri }))).toBe(refused)
  expect(await refusal(update({ tokenEndpoint: evil.tokenEndpoint }))).toBe(refused)
  expect((await update({ requireNonce: true })).providerClient?.requireNonce).toBe(true)

  // Two providers of the installation: the keys of one do not verify tokens of the other.
  await clients.admin.createProviderClient(
    {
      appId: world.app.id,
      providerClient: clientOf({ platform: Platform.IOS, issuers: [evil.issuer], jwksUri: evil.jwksUri }),
    },
    world.as("root"),
  )
  expect(await refusal(update({ jwksUri: evil.jwksUri }))).toBe(refused)
  const both = [server.client.canonicalIssuer, evil.issuer]
  expect(await refusal(update({ issuers: both, jwksUri: evil.jwksUri }))).toBe(refused)
  const whole = { platform: Platform.IOS, clientId: "draw-ios", issuers: [evil.issuer], jwksUri: evil.jwksUri }
  expect((await create(whole, "otherAdmin")).providerClient?.canonicalIssuer).toBe(evil.issuer)
})
