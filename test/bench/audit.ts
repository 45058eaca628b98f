// What the audit costs a sign-in, and how long an event waits for its link while people sign in; each rate as a ratio of a
// one-row UPDATE in the same run. Then how fast events are linked and verified.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createClient, createRouterTransport } from "@connectrpc/connect"
import { newId } from "@signet/kernel/ids"
import type { SignIns, Store } from "@signet/kernel/ports"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { sql } from "kysely"
import { createAuditCrypto } from "../../server/keys/audit-crypto.ts"
import { parseConfig } from "../../server/node/config.ts"
import { loadLocalSecrets } from "../../server/node/local-secrets.ts"
import { createLog } from "../../server/node/log.ts"
import { type Program, startProgram } from "../../server/node/program.ts"
import { ownEvent } from "../../server/rpc/audit/audit.ts"
import { authService } from "../../server/rpc/auth/auth-service.ts"
import { errors } from "../../server/serving/interceptors/errors.ts"
import { linkPending } from "../../server/store/postgres/audit/audit-chain.ts"
import { createAuditLogDeps } from "../../server/store/postgres/audit/audit-log-deps.ts"
import { verifyAudit } from "../../server/store/postgres/audit/audit-verify.ts"
import { openPostgres } from "../../server/store/postgres/open.ts"
import type { Database } from "../../server/store/postgres/sql.ts"
import { createStore } from "../../server/store/postgres/store.ts"
import { freePort } from "../support/free-port.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { baseName, durable, loginPool, measure, workers } from "./sign-in.ts"

type Row = Readonly<Record<string, string | number>>

export const sizes = {
  usual: { rounds: 4, seconds: 1, events: 20_000 },
  smallest: { rounds: 1, seconds: 0.1, events: 1_000 },
}

export async function run({ rounds, seconds, events }: typeof sizes.usual): Promise<Row[]> {
  const postgres = await startPostgres(durable)
  if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
  const folder = mkdtempSync(join(tmpdir(), "signet-bench-"))
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true }), () => postgres.stop()]
  try {
    const settings = { SIGNET_PROFILE: "development", SIGNET_LIMITS: "off", DATABASE_URL: postgres.url }
    const own = { SIGNET_DATA: folder, ADMIN_PORT: "0", PORT: String(await freePort()) }
    const program = await startProgram(parseConfig({ ...settings, ...own }), createLog("silent"))
    closing.push(() => program.close())
    const { db, close } = openPostgres(postgres.url, { maxConnections: workers })
    closing.push(close)
    await sql`create table bench_row (id integer primary key, n integer not null)`.execute(db)
    await sql`insert into bench_row select id, 0 from generate_series(0, ${sql.lit(workers - 1)}) as id`.execute(db)

    const logins = loginPool(program.url)
    const signIns = (store: Store) => {
      const routes = createRouterTransport(
        (router) => router.service(AuthService, authService({ ...program.deps, store })),
        {
          router: { interceptors: [errors((fault) => console.error(fault))] },
        },
      )
      const client = createClient(AuthService, routes)
      return async () => client.externalLogin(await logins.take())
    }
    // Linked once a second, when the program looks for what nobody told of.
    const unlinked = createStore(db, { audit: createAuditLogDeps(sealsOf(folder)) })
    const signedIn = await measure(
      [
        [baseName, (worker) => sql`update bench_row set n = n + 1 where id = ${worker}`.execute(db)],
        ["sign-in, nothing written down", signIns(withoutAudit(program.deps.store))],
        ["sign-in, sealed and stamped", signIns(unlinked)],
        ["sign-in, sealed, stamped and linked", signIns(program.deps.store)],
      ],
      rounds,
      seconds,
      logins,
    )
    const sinceMs = Date.now()
    await measure([["sign-in", signIns(program.deps.store)]], rounds, seconds, logins)
    const lag = await lagOf(db, sinceMs)
    return [...signedIn.map((row) => ({ ...row })), lag, ...(await linkedAndVerified(program, db, folder, events))]
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

const sealsOf = (folder: string) => createAuditCrypto(loadLocalSecrets(folder).sealingKey)

/** The store as it would be if nobody asked what happened. */
const withoutAudit = (store: Store): Store => ({
  ...store,
  transaction: (work) =>
    store.transaction(async (tx) => {
      // A session is written with its events: without them it takes statements of its own.
      const writes: (() => Promise<void>)[] = []
      const insertSession: SignIns["insertSession"] = (session, token) =>
        void writes.push(
          () => tx.sessions.insert(session),
          () => tx.refreshTokens.insert(token),
        )
      const audit = { ...tx.audit, append: async () => {} }
      const result = await work({ ...tx, audit, signIns: { ...tx.signIns, insertSession } })
      for (const write of writes) await write()
      return result
    }),
})

/** From the moment that an event is of to its link: most of it is the rest of the event's own transaction. */
async function lagOf(db: Database, sinceMs: number): Promise<Row> {
  await pendingGone(db)
  const { rows } = await sql<{ p50: number; p99: number; most: number }>`
    select percentile_cont(0.5) within group (order by ms) as p50, percentile_cont(0.99) within group (order by ms) as p99,
      max(ms) as most
    from (select extract(epoch from linked_at - occurred_at)::float8 * 1000 as ms
      from audit_link join audit_event on id = event_id
      where kind = 'login.succeeded' and occurred_at >= ${new Date(sinceMs)}) as lag`.execute(db)
  const { p50 = Number.NaN, p99 = Number.NaN, most = Number.NaN } = rows[0] ?? {}
  return { name: "event to link, while people sign in", p50Ms: p50, p99Ms: p99, mostMs: most }
}

async function pendingGone(db: Database): Promise<void> {
  for (;;) {
    const { rows } = await sql`select 1 from audit_pending limit 1`.execute(db)
    if (rows.length === 0) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function linkedAndVerified({ deps }: Program, db: Database, folder: string, count: number): Promise<Row[]> {
  const seals = sealsOf(folder)
  const store = createStore(db, { audit: createAuditLogDeps(seals) })
  const appId = newId("app", 1, deps.random.bytes(10))
  for (let made = 0; made < count; made += 1_000) {
    await store.transaction(async (tx) => {
      for (let i = 0; i < 1_000; i++) {
        await tx.audit.append(ownEvent(deps, Date.now(), { kind: "grant.created", appId }))
      }
    })
  }
  let began = performance.now()
  let linked = 0
  for (let isFull = true; isFull; ) {
    const done = await linkPending(db, seals, Date.now)
    linked += done.linked
    isFull = done.isFull
  }
  const linkedPerSecond = (linked / (performance.now() - began)) * 1_000
  await pendingGone(db)
  began = performance.now()
  const verified = await verifyAudit(db, {
    seals,
    nowMs: Date.now(),
    patienceMs: 60_000,
    open: () => undefined,
    kept: new Map(),
  })
  if (verified.flaws.length > 0) throw new Error(`the audit is not whole: ${JSON.stringify(verified.flaws[0]?.what)}`)
  const verifiedPerSecond = (verified.links / (performance.now() - began)) * 1_000
  return [
    { name: "linked by one process", perSecond: linkedPerSecond },
    { name: "verified", perSecond: verifiedPerSecond },
  ]
}
