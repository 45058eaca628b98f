import { randomBytes } from "node:crypto"
import { newId } from "@signet/kernel/ids"
import { afterAll, beforeAll, expect, test } from "vitest"
import { openTestStore, storyStore, type TestStore } from "../../../test/support/postgres.ts"
import { createSecrets } from "../../keys/secrets.ts"
import { app, putApp } from "../../store/postgres/testing/people.ts"
import { backendScopes, createMessagingBackend } from "./create-backend.ts"

const secrets = createSecrets({
  peppers: [{ version: 1, key: new Uint8Array(32).fill(1) }],
  sealingKey: new Uint8Array(32).fill(2),
})
const random = { bytes: (length: number) => new Uint8Array(randomBytes(length)) }
let opened: TestStore
let deps: Parameters<typeof createMessagingBackend>[0]
beforeAll(async () => {
  opened = await openTestStore(storyStore)
  deps = { store: opened.store, secrets, random, clock: { nowMs: () => Date.now() }, authAudience: "auth" }
  await putApp(opened.store)
})
afterAll(() => opened.close())

const asked = (change: object = {}) => ({
  appId: app.id,
  name: "edge",
  messagingAudience: "messaging",
  replaces: true,
  ...change,
})
const find = async (clientId: string) =>
  (await deps.store.clients.find({ who: { clientId }, nowMs: Date.now() }))?.account

test("a backend has its scopes and nothing else, and nobody else holds them", async () => {
  const { clientId } = await createMessagingBackend(deps, asked())
  expect(await find(clientId)).toMatchObject({
    scopes: backendScopes,
    allowedAudiences: ["auth"],
    ownedAudiences: ["messaging"],
  })
  const scopes = (await deps.store.transaction((tx) => tx.apps.findApp(app.id)))?.scopes ?? []
  for (const key of backendScopes) expect(scopes).toContainEqual({ key, audience: "auth", isDefault: false })
})

test("a repeated call adds a secret to the same account, up to two", async () => {
  const [first, second] = [
    await createMessagingBackend(deps, asked({ name: "again", messagingAudience: "auth" })),
    await createMessagingBackend(deps, asked({ name: "again", messagingAudience: "auth" })),
  ]
  expect(second.clientId).toBe(first.clientId)
  expect(second.clientSecret).not.toBe(first.clientSecret)
  const account = await find(first.clientId)
  const kept = account && (await deps.store.transaction((tx) => tx.serviceAccounts.secrets(account.id)))
  const [newer, older] = kept ?? []
  expect(newer?.expiresAtMs).toBe(second.expiresAtMs)
  expect(older?.expiresAtMs).toBeLessThanOrEqual(Date.now() + 86_400_000)
  const third = createMessagingBackend(deps, asked({ name: "again", messagingAudience: "auth" }))
  await expect(third).rejects.toThrow("The account has 2 active secrets")
})

test("a disabled account's name makes a new account, and a name without the scopes is refused", async () => {
  const named = asked({ name: "disabled", messagingAudience: "auth" })
  const first = await createMessagingBackend(deps, named)
  const change = (set: object) =>
    opened.db
      .updateTable("service_account")
      .set(set)
      .where("client_id", "=", first.clientId as never)
      .execute()
  await change({ scopes: [] })
  await expect(createMessagingBackend(deps, named)).rejects.toThrow("use another name")
  await change({ status: "DISABLED" })
  const second = await createMessagingBackend(deps, named)
  expect(second.clientId).not.toBe(first.clientId)
})

test.each<[string, object, string]>([
  ["for an unknown app", { appId: newId("app", 1, random.bytes(10)) }, "No app has this id"],
  ["that owns another account's audience", { name: "a second one" }, "owns messaging's audience"],
])("no backend is made %s", async (_, change, message) => {
  await expect(createMessagingBackend(deps, asked(change))).rejects.toThrow(message)
})
