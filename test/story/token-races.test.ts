// Revocations while the grant of a client's token waits for the count of another call, on PostgreSQL.
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { addMachine, basic, type Machine, postForm } from "../support/machines.ts"
import { describeOnPostgres } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

describeOnPostgres("a client's token that waits for another call's count", () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ store: "postgres" })
  })
  afterAll(() => server?.close())

  const revokeSecret = ({ account }: Machine) =>
    sql`update service_secret set revoked_at = now() where service_account_id = ${account.id}`
  const disable = ({ account }: Machine) => sql`update service_account set status = 'DISABLED' where id = ${account.id}`
  test.each([
    ["is refused if the secret was revoked meanwhile", revokeSecret, 401],
    ["is refused if the client was disabled meanwhile", disable, 401],
    ["is granted once if nothing has changed", () => sql`select`, 200],
  ] as const)("%s", async (_, change, status) => {
    const { db } = server.store
    const machine = await addMachine(server)
    const ask = () =>
      postForm(`${server.url}/auth/token`, { grant_type: "client_credentials", audience: "svc-notes" }, basic(machine))
    const events = async () => {
      const { rows } = await sql`select from audit_event where kind = 'token.issued'
        and actor_principal_id = ${machine.account.principalId}`.execute(db)
      return rows.length
    }
    for (let call = 0; call < 3; call++) expect((await ask()).status).toBe(200)
    expect(await events()).toBe(3)

    const asked = await db.transaction().execute(async (holder) => {
      await sql`update rate_limit set step_us = step_us`.execute(holder)
      const waiting = ask()
      await vi.waitFor(async () => {
        const { rows } = await sql`select from pg_stat_activity where wait_event_type = 'Lock'
          and datname = current_database() and query like 'with %'`.execute(db)
        expect(rows).toHaveLength(1)
      }, 20_000)
      await change(machine).execute(db)
      await new Promise((resolve) => setTimeout(resolve, 150))
      return { waiting }
    })
    expect((await asked.waiting).status).toBe(status)
    expect((await ask()).status).toBe(status)
    expect(await events()).toBe(status === 200 ? 5 : 3)
  })
})
