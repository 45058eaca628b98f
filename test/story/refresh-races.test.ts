// Changes while a refresh waits for a lock of another call, on PostgreSQL.
import { ConnectError } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { type RawBuilder, sql } from "kysely"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { type Clients, clientsOver, protocols } from "../support/clients.ts"
import { describeOnPostgres } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

describeOnPostgres("a refresh that waits for another call's lock", () => {
  let server: TestServer
  let clients: Clients
  beforeAll(async () => {
    server = await startTestServer({ store: "postgres" })
    clients = clientsOver(protocols.gRPC?.(server.url) ?? expect.unreachable())
  })
  afterAll(() => server?.close())

  interface Case {
    /** The rows that the other call locks. */
    readonly held: (sessionId: string) => RawBuilder<unknown>
    /** The beginning of the statement that waits. */
    readonly waits: string
    /** The change meanwhile; the other call makes it if it holds the row. */
    readonly change: (sessionId: string) => RawBuilder<unknown>
    readonly isChangedByHolder?: true
    readonly reason: string
  }
  const ofSession = (id: string) => sql`select principal_id from session where id = ${id}`
  const suspend = (id: string) =>
    sql`update membership set status = 'SUSPENDED' where principal_id = (${ofSession(id)})`
  const session = (id: string) => sql`select from session where id = ${id} for update`
  const cases: Record<string, Case> = {
    "its session ended": {
      held: session,
      waits: "with locked as%",
      change: (id) =>
        sql`update session set status = 'REVOKED', revoked_at = now(), revoke_reason = 'logout' where id = ${id}`,
      isChangedByHolder: true,
      reason: "REFRESH_TOKEN_INVALID",
    },
    "its membership was suspended": {
      held: session,
      waits: "with locked as%",
      change: suspend,
      reason: "MEMBERSHIP_INACTIVE",
    },
    "its membership was suspended, before it read the facts": {
      held: () => sql`update rate_limit set step_us = step_us`,
      waits: "with taken as%",
      change: suspend,
      reason: "MEMBERSHIP_INACTIVE",
    },
  }

  test.each(Object.keys(cases))("sees that %s, and rotates nothing", async (name) => {
    const { held, waits, change, isChangedByHolder, reason } = cases[name] ?? expect.unreachable()
    const { db } = server.store
    const signedIn = await clients.auth.externalLogin(await server.login(crypto.randomUUID()))
    let { refreshToken } = signedIn
    const sessionId = signedIn.session?.id ?? expect.unreachable()
    const refresh = async () => (await clients.auth.refresh({ refreshToken })).refreshToken
    refreshToken = await refresh()
    const tokens = async () => (await sql`select from refresh_token where session_id = ${sessionId}`.execute(db)).rows
    expect(await tokens()).toHaveLength(2)

    const asked = await db.transaction().execute(async (holder) => {
      await held(sessionId).execute(holder)
      const waiting = refresh().then(
        () => "refreshed",
        (error: unknown) => ConnectError.from(error).findDetails(ErrorInfoSchema)[0]?.reason,
      )
      await vi.waitFor(async () => {
        const { rows } = await sql`select from pg_stat_activity where wait_event_type = 'Lock'
          and datname = current_database() and query like ${waits}`.execute(db)
        expect(rows).toHaveLength(1)
      }, 20_000)
      await change(sessionId).execute(isChangedByHolder ? holder : db)
      await new Promise((resolve) => setTimeout(resolve, 150))
      return { waiting }
    })
    expect(await asked.waiting).toBe(reason)
    expect(await tokens()).toHaveLength(2)
    if (isChangedByHolder) return
    await sql`update membership set status = 'ACTIVE' where principal_id = (${ofSession(sessionId)})`.execute(db)
    expect(await refresh()).toMatch(/^sgrt_/)
  })
})
