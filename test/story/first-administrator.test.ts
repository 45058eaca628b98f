// A new installation has no administrator until its operator creates one with a command.
import Fastify from "fastify"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { developmentAdmin } from "../../server/development/admin.ts"
import { create } from "../../server/node/admin/create.ts"
import { parseConfig } from "../../server/node/config.ts"
import { createAdministrator } from "../../server/rpc/admin/create-administrator.ts"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { createTestDatabase, describeOnPostgres, describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const first = { name: "Ada", hours: 24, another: false }

describeStory("the first administrator", (kind) => {
  let server: TestServer
  let clients: Clients
  beforeAll(async () => {
    server = await startTestServer({ store: kind })
    const over = protocols["Connect JSON over HTTP/1.1"]
    if (over === undefined) throw new Error("no such protocol")
    clients = clientsOver(over(server.url))
  })
  afterAll(() => server?.close())

  const tokenOf = async (pat = "") => (await clients.pats.exchangePat({ pat })).accessToken
  const count = async () => {
    const find = (kind_: "app.created" | "admin.created") =>
      server.store.db.selectFrom("audit_event").select("id").where("kind", "=", kind_).execute()
    return [(await find("app.created")).length, (await find("admin.created")).length]
  }

  test("is one, however many are created at the same time", async () => {
    expect(await server.deps.store.transaction((tx) => tx.administration.findInstallation())).toBeUndefined()
    const made = await Promise.all(Array.from({ length: 4 }, () => createAdministrator(server.deps, first)))
    const pats = made.flatMap((one) => (one === undefined ? [] : [one.pat]))
    expect(pats.length).toBe(1)
    expect(await count()).toEqual([1, 1])
    expect(await createAdministrator(server.deps, first)).toBeUndefined()

    const token = await tokenOf(pats[0])
    const { apps } = await clients.admin.listApps({}, bearer(token))
    expect(apps.map(({ id }) => id)).toContain(server.app.id)
    const made_ = await clients.admin.createApp({ app: { name: "Draw" } }, bearer(token))
    expect(made_.app?.name).toBe("Draw")
    // The administrator's token belongs to no session: it cannot manage an account.
    expect(await refusal(clients.account.exportIdentity({}, bearer(token)))).toContain("PermissionDenied")
  })

  test("is followed by another only on request, in the same app", async () => {
    const another = await createAdministrator(server.deps, { ...first, another: true })
    const { apps } = await clients.admin.listApps({}, bearer(await tokenOf(another?.pat)))
    expect(apps.length).toBe(3)
    expect(await count()).toEqual([2, 2])
  })

  test("has a token that expires, and that is not in the database", async () => {
    const made = await createAdministrator(server.deps, { ...first, hours: 1, another: true })
    const rows = JSON.stringify([
      await server.store.db.selectFrom("pat").selectAll().execute(),
      await server.store.db.selectFrom("audit_event").selectAll().execute(),
    ])
    expect(rows).not.toContain(made?.pat ?? "")
    expect(rows).not.toContain(made?.pat.slice(6, 30) ?? "")
    server.advance(3_600_001)
    expect(await refusal(tokenOf(made?.pat))).toBe("Unauthenticated PAT_INVALID")
  })
})

const key = Buffer.alloc(32, 7).toString("base64")

describeOnPostgres("the command", () => {
  test("prints the token once, and creates no second administrator by accident", async () => {
    const database = await createTestDatabase()
    const config = parseConfig({
      SIGNET_PROFILE: "production",
      DATABASE_URL: database.url,
      SIGNET_ISSUER: "https://auth.example",
      SIGNET_SEALING_KEY: key,
      SIGNET_PEPPERS: `1:${key}`,
    })
    const said = await create(["--name", "Ada", "--hours", "2"], config)
    expect(said.text.match(/\bsgpat_[0-9A-Za-z]{50}\b/g)).toEqual([Object(said.json).pat])
    await expect(create([], config)).rejects.toThrow("An administrator exists already")
    expect((await create(["--another"], config)).text).toMatch(/sgpat_/)
    const { db, close } = openPostgres(database.url, { maxConnections: 1 })
    const apps = await db.selectFrom("app").select("is_installation").execute()
    expect(apps).toEqual([{ is_installation: true }])
    await close()
    await database.drop()
  })
})

describe("the command", () => {
  test.each([[["--hours", "0"]], [["--hours", "721"]], [["--hours", "1.5"]], [["--force"]], [["--name", "a\nb"]]])(
    "refuses %j before it opens anything",
    async (args) => {
      const config = parseConfig({ SIGNET_DATA: "/nowhere" })
      await expect(create(args, config)).rejects.toMatchObject({ name: "UsageError" })
    },
  )
})

test("the development profile gives a token to every caller", async () => {
  const app = Fastify()
  const create_ = async () => ({ pat: "sgpat_1", expiresAtMs: 0 })
  await app.register(developmentAdmin, { create: create_ })
  const answer = await app.inject({ method: "POST", url: "/dev/admin" })
  expect(answer.json()).toEqual({ pat: "sgpat_1", expiresAt: "1970-01-01T00:00:00.000Z" })
  expect(answer.headers["cache-control"]).toBe("no-store")
  expect((await app.inject({ method: "GET", url: "/dev/admin" })).statusCode).toBe(404)
})
