// Attempts to fill the audit, or to keep an event out of it.
import { budgetWindowMs } from "@signet/kernel/limits/audit-budget"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type AdministeredWorld, administeredWorld } from "../support/administration.ts"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { signIn } from "../support/people.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

let server: TestServer
let clients: Clients
let world: AdministeredWorld
beforeAll(async () => {
  // With one connection, the deferred events of a call are written before the next call is answered.
  server = await startTestServer({ store: "pglite", isClockStopped: true })
  const connect = protocols["Connect JSON over HTTP/1.1"]
  if (connect === undefined) throw new Error("no protocol")
  clients = clientsOver(connect(server.url))
  world = await administeredWorld(server, clients)
})
afterAll(() => server?.close())

const rowsOf = (kind: string) =>
  server.store.db
    .selectFrom("audit_event")
    .select(["reason", "actor_principal_id", "subject_principal_id", "target_type", "target_id"])
    .where("kind", "=", kind as never)
    .orderBy("id")
    .execute()
const countOf = (kind: string) => rowsOf(kind).then(({ length }) => length)
/** The number of counted refusals, by actor or network. */
const counted = async () =>
  Object.fromEntries(
    (await rowsOf("audit.counted")).map((row) => [
      row.actor_principal_id ?? row.subject_principal_id ?? "strangers",
      [row.target_type, row.target_id],
    ]),
  )
/** Advances the clock to the start of a window, so that a test runs in one window. */
async function nextWindow() {
  server.advance(budgetWindowMs - (server.deps.clock.nowMs() % budgetWindowMs))
  await server.deps.refusals.flush()
}

test.runIf(isLong)("repeated denials of a signed-in caller are audited up to the budget and then counted", async () => {
  const deny = () =>
    clients.admin.getTenant({ appId: world.app.id, tenantId: world.otherTenant.id }, world.as("tenantAdmin"))
  await nextWindow()
  const before = await countOf("authz.denied")
  for (let i = 0; i < 75; i++) expect(await refusal(deny())).toBe("PermissionDenied RESOURCE_UNRESOLVED")
  expect(await countOf("authz.denied")).toBe(before + 60)
  await nextWindow()
  const { principalId } = world.people.tenantAdmin
  expect((await counted())[principalId]).toEqual(["events_not_written", "15"])
})

test("repeated use of a personal access token as a bearer token is audited up to the budget", async () => {
  const owner = await signIn(server, clients, "who misuses a token")
  const asked = { name: "flood", allowedAudiences: ["svc-notes"], scopes: ["notes.read"] }
  const { token } = await clients.pats.createPat(asked, bearer(owner.token))
  await nextWindow()
  for (let i = 1; i <= 35; i++) {
    expect(await refusal(clients.auth.me({}, bearer(token)))).toBe("Unauthenticated PAT_NOT_BEARER")
    if (i <= 20) await expect.poll(() => countOf("pat.misused")).toBe(i)
  }
  await expect
    .poll(async () => {
      await nextWindow()
      return (await counted())[owner.principalId]
    })
    .toEqual(["events_not_written", "15"])
  expect(await countOf("pat.misused")).toBe(20)
})

test.runIf(isLong)(
  "two hundred failed sign-ins from one network write twenty rows, and one with the count of the others",
  async () => {
    await nextWindow()
    const [before, all] = [await countOf("login.failed"), await countOf("audit.counted")]
    const garbage = { ...(await server.login("nobody")), credential: { case: "idToken", value: "a.b.c" } } as const
    for (let i = 0; i < 200; i++) {
      expect(await refusal(clients.auth.externalLogin(garbage))).toBe("Unauthenticated PROVIDER_TOKEN_INVALID")
    }
    expect(await countOf("login.failed")).toBe(before + 20)
    await nextWindow()
    expect(await countOf("audit.counted")).toBe(all + 1)
    expect((await counted()).strangers).toEqual(["events_not_written", "180"])
  },
)

test.runIf(isLong)("pending counts are written when the server stops", async () => {
  await nextWindow()
  const garbage = { ...(await server.login("nobody")), credential: { case: "idToken", value: "a.b.c" } } as const
  for (let i = 0; i < 23; i++) await refusal(clients.auth.externalLogin(garbage))
  await server.deps.refusals.flush(Number.POSITIVE_INFINITY)
  expect((await rowsOf("audit.counted")).at(-1)).toMatchObject({ target_id: "3", actor_principal_id: null })
})
