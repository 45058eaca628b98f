// Revocations while an introspection waits for the count of another call, on PostgreSQL.
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { addMachine, basic, type Machine, postForm } from "../support/machines.ts"
import { describeOnPostgres } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

describeOnPostgres("an introspection that waits for another call's count", () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ store: "postgres" })
  })
  afterAll(() => server?.close())

  const end = {
    "its token": (_: Machine, { account }: Machine) =>
      sql`update service_account set status = 'DISABLED' where id = ${account.id}`,
    "its client's secret": ({ account }: Machine) =>
      sql`update service_secret set revoked_at = now() where service_account_id = ${account.id}`,
    "its client": ({ account }: Machine) =>
      sql`update service_account set status = 'DISABLED' where id = ${account.id}`,
  }
  test.each([
    ["its token", { status: 200, body: { active: false } }],
    ["its client's secret", { status: 401, body: { reason: "CLIENT_INVALID" } }],
    ["its client", { status: 401, body: { reason: "CLIENT_INVALID" } }],
  ] as const)("sees that %s was revoked meanwhile", async (what, expected) => {
    const { db } = server.store
    const audience = `svc-${crypto.randomUUID()}`
    const owner = await addMachine(server, { ownedAudiences: [audience], scopes: ["auth.introspect"] })
    const machine = await addMachine(server, { allowedAudiences: [audience] })
    const grant = { grant_type: "client_credentials", audience }
    const { access_token } = (await postForm(`${server.url}/auth/token`, grant, basic(machine))).body
    const ask = () => postForm(`${server.url}/auth/token/introspect`, { token: String(access_token) }, basic(owner))
    for (let call = 0; call < 3; call++) expect((await ask()).body.active).toBe(true)

    const asked = await db.transaction().execute(async (holder) => {
      await sql`update rate_limit set step_us = step_us`.execute(holder)
      const waiting = ask()
      await vi.waitFor(async () => {
        // On a slow machine the process no longer knows the client, and asks by another statement.
        const { rows } = await sql`select from pg_stat_activity where wait_event_type = 'Lock'
          and datname = current_database() and query like 'with %'`.execute(db)
        expect(rows).toHaveLength(1)
      }, 20_000)
      await end[what](owner, machine).execute(db)
      await new Promise((resolve) => setTimeout(resolve, 150))
      return { waiting }
    })
    expect(await asked.waiting).toMatchObject(expected)
    expect(await ask()).toMatchObject(expected)
  })
})
