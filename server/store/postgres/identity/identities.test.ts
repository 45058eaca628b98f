import { randomBytes } from "node:crypto"
import { inspect } from "node:util"
import { Refused } from "@signet/kernel/errors"
import type { AppId } from "@signet/kernel/ids"
import type { Store } from "@signet/kernel/ports"
import type { Identity } from "@signet/kernel/records"
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
  type TestStore,
} from "../../../../test/support/postgres.ts"
import { untilWaiting } from "../../../../test/support/waiting.ts"
import { app, freshId, newPerson, providerClient, putApp, putPerson, putSignIn } from "../testing/people.ts"

describeOnEachStore("apps, identities and memberships", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
  })
  afterAll(() => opened.close())

  test("an app and its provider client are stored unchanged", async () => {
    const sealed = { ...providerClient, clientSecretSealed: Uint8Array.of(0, 1, 255), providerTenant: "team-1" }
    await store.transaction(async (tx) => {
      expect(await tx.apps.findApp(app.id)).toStrictEqual(app)
      await tx.apps.putProviderClient(sealed)
      expect(await tx.apps.findConnections(app.id, "IDP_A", "WEB")).toStrictEqual([sealed])
      await tx.apps.putProviderClient(providerClient)
      expect(await tx.apps.findConnections(app.id, "IDP_A", "WEB")).toStrictEqual([providerClient])
    })
    const found = { app, connections: [providerClient] }
    expect(await store.apps.findWithConnections(app.id, "IDP_A", "WEB")).toStrictEqual(found)
    const way = { appId: app.id, provider: "IDP_A", platform: "WEB" } as const
    const bucket = { key: new Uint8Array(32).fill(7), window: { limit: 1, seconds: 60 } }
    const count = () => store.apps.countAndFind({ asks: [bucket], locks: [], nowMs: 1_000 }, way)
    expect(await count()).toMatchObject({ ...found, counted: [{ granted: true }] })
    expect(await count()).toMatchObject({ app: undefined, connections: [], counted: [{ granted: false }] })
  })

  test("several calls at once are counted, and each finds its own app and connections", async () => {
    const [other, suspended] = [
      { ...app, id: freshId("app") },
      { ...app, id: freshId("app"), status: "SUSPENDED" as const },
    ]
    const connections = ["a", "b"].map((connection) => ({
      ...providerClient,
      ...{ id: freshId("pcl"), appId: other.id, connection, clientId: freshId("pcl") },
    }))
    await store.transaction(async (tx) => {
      await tx.apps.putApp(other)
      await tx.apps.putApp(suspended)
      for (const one of connections) await tx.apps.putProviderClient(one)
    })
    const bucketOf = (limit: number) => ({ key: randomBytes(32), window: { limit, seconds: 60 } })
    const [network, full] = [bucketOf(5), bucketOf(1)]
    for (const bucket of [network, full]) await store.limits.take([bucket], [], 1_000)
    const find = (appId: AppId, bucket = network) => {
      const counting = { asks: [bucket], locks: [], nowMs: 1_000 }
      return store.apps.countAndFind(counting, { appId, provider: "IDP_A", platform: "WEB" })
    }
    const calls = [find(other.id), find(app.id), find(freshId("app")), find(suspended.id), find(app.id, full)]
    expect(await Promise.all(calls)).toMatchObject([
      { app: other, connections, counted: [{ granted: true }] },
      { app, connections: [providerClient], counted: [{ granted: true }] },
      { app: undefined, connections: [], counted: [{ granted: true }] },
      { app: suspended, connections: [], counted: [{ granted: true }] },
      { app: undefined, connections: [], counted: [{ granted: false }] },
    ])
    expect((await find(app.id)).counted).toMatchObject([{ granted: false }])
  })

  test("an unknown record is not found", async () => {
    await store.transaction(async (tx) => {
      expect(await tx.apps.findApp(freshId("app"))).toBeUndefined()
      expect(await tx.apps.findConnections(app.id, "IDP_B", "WEB")).toEqual([])
      expect(await tx.apps.findConnections(app.id, null, "IOS")).toEqual([])
      expect(await tx.identities.findIdentity(freshId("idn"))).toBeUndefined()
      expect(await tx.identities.findPrincipal(freshId("prn"))).toBeUndefined()
    })
    const none = { app: undefined, connections: [] }
    expect(await store.apps.findWithConnections(freshId("app"), "IDP_A", "WEB")).toStrictEqual(none)
    expect(await store.apps.findWithConnections(app.id, "IDP_B", "WEB")).toStrictEqual({ ...none, app })
  })

  test("the origins of active apps are listed once each", async () => {
    const origins = ["https://notes.example", `https://${freshId("app")}.example`]
    const suspended = `https://${freshId("app")}.example`
    await store.transaction(async (tx) => {
      await tx.apps.putApp({ ...app, id: freshId("app"), settings: { ...app.settings, allowedOrigins: origins } })
      const settings = { ...app.settings, allowedOrigins: [suspended] }
      await tx.apps.putApp({ ...app, id: freshId("app"), status: "SUSPENDED", settings })
      const listed = await tx.apps.listAllowedOrigins()
      expect(listed).toEqual(expect.arrayContaining(origins))
      expect(new Set(listed).size).toBe(listed.length)
      expect(listed).not.toContain(suspended)
    })
  })

  test("an app's settings are replaced by the next put", async () => {
    const other = { ...app, id: freshId("app") }
    const changed = {
      ...other,
      name: "Other",
      settings: { ...app.settings, retryWindowSeconds: 0, allowedOrigins: [] },
    }
    await store.transaction(async (tx) => {
      await tx.apps.putApp(other)
      await tx.apps.putApp(changed)
      expect(await tx.apps.findApp(other.id)).toStrictEqual(changed)
    })
  })

  test("an identity is stored with its account and its principal", async () => {
    const { identity, account, principal } = await putPerson(store)
    await store.transaction(async (tx) => {
      expect(await tx.identities.findIdentity(identity.id)).toStrictEqual(identity)
      expect(await tx.identities.findAccount(account)).toStrictEqual(account)
      expect(await tx.identities.findAccounts(identity.id)).toStrictEqual([account])
      expect(await tx.identities.findPrincipal(principal.id)).toStrictEqual(principal)
      expect(await tx.identities.findUserPrincipal(identity.id)).toStrictEqual(principal)
    })
  })

  test("an existing account key inserts nothing", async () => {
    const first = await putPerson(store)
    const second = newPerson()
    const account = { ...second.account, subject: first.account.subject }
    await store.transaction(async (tx) => {
      expect(await tx.identities.insertIdentity(second.identity, account, second.principal)).toBe(false)
      expect(await tx.identities.findIdentity(second.identity.id)).toBeUndefined()
      expect(await tx.identities.findPrincipal(second.principal.id)).toBeUndefined()
      expect((await tx.identities.findAccount(account))?.identityId).toBe(first.identity.id)
    })
  })

  test.each([
    ["issuer", { issuer: "https://other.example" }],
    ["provider", { provider: "IDP_B" as const }],
    ["provider tenant", { providerTenant: "team-1" }],
  ])("the same subject of another %s is another person, even with the same email", async (_, change) => {
    const { account } = await putPerson(store)
    const other = newPerson()
    const key = { ...other.account, subject: account.subject, ...change }
    await store.transaction(async (tx) => {
      expect(await tx.identities.findAccount(key)).toBeUndefined()
      expect(await tx.identities.insertIdentity(other.identity, key, other.principal)).toBe(true)
      expect((await tx.identities.findAccount(key))?.identityId).toBe(other.identity.id)
    })
  })

  test("a used account stores the newest email and is linked again, unless it is blocked", async () => {
    const person = await putPerson(store)
    const { account, identity } = person
    const neighbor = await putPerson(store)
    await opened.db
      .updateTable("provider_account")
      .set({ status: "REVOKED" })
      .where("id", "=", neighbor.account.id)
      .execute()
    const mark = (email: string | null) => putSignIn(store, person, { email })
    const find = () => store.transaction((tx) => tx.identities.findAccount(account))
    const become = (status: "REVOKED" | "BLOCKED") =>
      opened.db.updateTable("provider_account").set({ status }).where("id", "=", account.id).execute()
    await become("REVOKED")
    await mark("new@example.com")
    expect(await find()).toMatchObject({ email: "new@example.com", status: "LINKED" })
    await become("BLOCKED")
    await mark(null)
    expect(await find()).toMatchObject({ email: "new@example.com", status: "BLOCKED" })
    await store.transaction((tx) => tx.identities.setPrimaryEmail(identity.id, "me@example.com", 77))
    const changed = await store.transaction((tx) => tx.identities.findIdentity(identity.id))
    expect(changed).toStrictEqual({ ...identity, primaryEmail: "me@example.com", updatedAtMs: 77 })
    await store.transaction(async (tx) => {
      const unchanged = { ...neighbor.account, status: "REVOKED" }
      expect(await tx.identities.findAccount(neighbor.account)).toStrictEqual(unchanged)
      expect(await tx.identities.findIdentity(neighbor.identity.id)).toStrictEqual(neighbor.identity)
    })
  })

  test("a place has one membership, until it is removed", async () => {
    const { membership, principal } = await putPerson(store)
    const again = { ...membership, id: freshId("mem"), profile: { name: "Ada" } }
    const inTenant = { ...again, id: freshId("mem"), tenantId: freshId("ten") }
    const find = () => store.transaction((tx) => tx.identities.findMembership(principal.id, app.id, null, null))
    await store.transaction(async (tx) => {
      expect(await tx.identities.insertMembership(again)).toStrictEqual(membership)
      expect(await tx.identities.insertMembership(inTenant)).toStrictEqual(inTenant)
      const { tenantId } = inTenant
      expect(await tx.identities.findMembership(principal.id, app.id, tenantId, null)).toStrictEqual(inTenant)
      expect(await tx.identities.findMembership(principal.id, app.id, tenantId, freshId("ctx"))).toBeUndefined()
      expect(await tx.identities.findMemberships(principal.id, app.id)).toStrictEqual([membership, inTenant])
    })
    await opened.db.updateTable("membership").set({ status: "REMOVED" }).where("id", "=", membership.id).execute()
    expect(await find()).toStrictEqual({ ...membership, status: "REMOVED" })
    await store.transaction((tx) => tx.identities.insertMembership(again))
    expect(await find()).toStrictEqual(again)
  })

  test("a provider's token is accepted once", async () => {
    const hash = new Uint8Array(32).fill(7)
    const use = () => store.transaction((tx) => tx.idTokenUses.use(hash, 5_000))
    expect(await use()).toBe(true)
    expect(await use()).toBe(false)
  })

  test("a transaction that throws is rolled back", async () => {
    const person = newPerson()
    const work = store.transaction(async (tx) => {
      await tx.identities.insertIdentity(person.identity, person.account, person.principal)
      throw new Error("no")
    })
    await expect(work).rejects.toThrow("no")
    expect(await store.transaction((tx) => tx.identities.findIdentity(person.identity.id))).toBeUndefined()
  })

  test("a text with a zero character is refused as INVALID_FIELD", async () => {
    const { identity } = await putPerson(store)
    const put = store.transaction((tx) => tx.identities.setPrimaryEmail(identity.id, "a\0@example.com", 1))
    await expect(put).rejects.toSatisfy((error) => error instanceof Refused && error.reason === "INVALID_FIELD")
  })

  test("an error of the database quotes no row", async () => {
    const { identity } = await putPerson(store)
    const error = await opened.db
      .insertInto("identity")
      .values(rowOf(identity))
      .execute()
      .catch((thrown) => thrown)
    expect(error).toMatchObject({ code: "23505" })
    expect(inspect(error, { showHidden: true, depth: 5 })).not.toMatch(/secret@|idn_/)
  })

  test.each([
    ["app", "status", "GONE"],
    ["provider_client", "nonce_mode", "NONE"],
    ["identity", "status", "BLOCKED"],
    ["provider_account", "status", ""],
    ["principal", "kind", "ROBOT"],
    ["membership", "status", "active"],
  ])("the table %s refuses a %s of %j", async (table, column, value) => {
    await putPerson(store)
    const update = sql`update ${sql.table(table)} set ${sql.ref(column)} = ${value}`.execute(opened.db)
    await expect(update).rejects.toMatchObject({ code: "23514" })
  })
})

const rowOf = ({ id, status }: Identity) => ({
  id,
  status,
  primary_email: "secret@example.com",
  created_at: new Date(0),
  updated_at: new Date(0),
})

describeOnPostgres("sign-ins that meet", () => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore("postgres", { maxConnections: 50 })
    await putApp(opened.store)
  })
  afterAll(() => opened.close())

  test("50 concurrent first sign-ins of one account make one identity, and all see it", async () => {
    const { subject } = newPerson().account
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => {
        const { identity, account, principal } = newPerson()
        return opened.store.transaction(async (tx) => {
          const created = await tx.identities.insertIdentity(identity, { ...account, subject }, principal)
          const found = await tx.identities.findAccount({ ...account, subject })
          return { created, identityId: found?.identityId }
        })
      }),
    )
    expect(outcomes.filter((outcome) => outcome.created)).toHaveLength(1)
    expect(new Set(outcomes.map((outcome) => outcome.identityId)).size).toBe(1)
    expect(await opened.db.selectFrom("identity").select("id").execute()).toHaveLength(1)
    expect(await opened.db.selectFrom("principal").select("id").execute()).toHaveLength(1)
  })

  test("of 20 concurrent uses of one provider token, one is accepted", async () => {
    const hash = new Uint8Array(32).fill(9)
    const uses = await Promise.all(
      Array.from({ length: 20 }, () => opened.store.transaction((tx) => tx.idTokenUses.use(hash, 5_000))),
    )
    expect(uses.filter(Boolean)).toHaveLength(1)
  })

  test("a sign-in succeeds when its concurrent rival rolls back", async () => {
    const [rival, person] = [newPerson(), newPerson()]
    const account = { ...rival.account, identityId: person.identity.id, id: person.account.id }
    const [inserted, isWaiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const rolledBack = opened.store.transaction(async (tx) => {
      await tx.identities.insertIdentity(rival.identity, rival.account, rival.principal)
      inserted.resolve()
      await isWaiting.promise
      throw new Error("rolled back")
    })
    await inserted.promise
    const created = opened.store.transaction((tx) =>
      tx.identities.insertIdentity(person.identity, account, person.principal),
    )
    const lost = expect(rolledBack).rejects.toThrow("rolled back")
    await untilWaiting(opened.db)
    isWaiting.resolve()
    await lost
    expect(await created).toBe(true)
  })
})
