// What callers do to make the audit large, or to keep something out of it.
import { afterAll, beforeAll, expect, test } from "vitest"
import { type AdministeredWorld, administeredWorld } from "../support/administration.ts"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { signIn } from "../support/people.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

let server: TestServer
let clients: Clients
let world: AdministeredWorld
beforeAll(async () => {
  // One connection: what a call leaves to be written is written before the next call is answered.
  server = await startTestServer({ store: "pglite" })
  const connect = protocols["Connect JSON over HTTP/1.1"]
  if (connect === undefined) throw new Error("no protocol")
  clients = clientsOver(connect(server.url))
  world = await administeredWorld(server, clients)
})
afterAll(() => server?.close())

const denials = () =>
  server.store.db
    .selectFrom("audit_event")
    .select(["reason", "target_type", "target_id"])
    .where("kind", "=", "authz.denied")
    .where("actor_principal_id", "=", world.people.tenantAdmin.principalId as never)
    .orderBy("id")
    .execute()

test("a signed-in caller who is denied again and again is written down so many times a minute, and then counted", async () => {
  const deny = () =>
    clients.admin.getTenant({ appId: world.app.id, tenantId: world.otherTenant.id }, world.as("tenantAdmin"))
  server.advance(60_000 - (server.deps.clock.nowMs() % 60_000))
  const before = (await denials()).length
  for (let i = 0; i < 75; i++) expect(await refusal(deny())).toBe("PermissionDenied RESOURCE_UNRESOLVED")
  expect(await denials()).toHaveLength(before + 60)
  server.advance(60_000)
  await refusal(deny())
  expect((await denials()).at(-1)).toEqual({
    reason: "TENANT_MISMATCH",
    target_type: "denials_not_written",
    target_id: "15",
  })
})

test("whoever shows a personal access token as a bearer again and again is written down so many times a minute, too", async () => {
  const owner = await signIn(server, clients, "who misuses a token")
  const asked = { name: "flood", allowedAudiences: ["svc-notes"], scopes: ["notes.read"] }
  const { pat, token } = await clients.pats.createPat(asked, bearer(owner.token))
  const misuses = () =>
    server.store.db
      .selectFrom("audit_event")
      .select(["target_type", "target_id"])
      .where("kind", "=", "pat.misused")
      .orderBy("id")
      .execute()
  server.advance(60_000 - (server.deps.clock.nowMs() % 60_000))
  const misuse = () => refusal(clients.auth.me({}, bearer(token)))
  for (let i = 1; i <= 75; i++) {
    expect(await misuse()).toBe("Unauthenticated PAT_NOT_BEARER")
    if (i <= 60) await expect.poll(async () => (await misuses()).length).toBe(i)
  }
  server.advance(60_000)
  await misuse()
  await expect.poll(async () => (await misuses()).length).toBeGreaterThan(60)
  // Written in one millisecond: their ids do not say which was first.
  const later = (await misuses()).slice(60).map((event) => `${event.target_type} ${event.target_id}`)
  expect(later.sort()).toEqual(["denials_not_written 15", `pat ${pat?.id}`])
})
