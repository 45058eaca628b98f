// The upgrade of an audit from before the chains.
import { CompiledQuery } from "kysely"
import { expect, test } from "vitest"
import { testAuditLogDeps, testSeals } from "../../../../test/support/audit-log-deps.ts"
import { isLong } from "../../../../test/support/effort.ts"
import {
  createTestDatabase,
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
} from "../../../../test/support/postgres.ts"
import { migrate, readMigrations } from "../migrate.ts"
import { openPostgres } from "../open.ts"
import type { Database } from "../sql.ts"
import { sweep } from "../sweep.ts"
import { freshId } from "../testing/people.ts"
import { linkPending } from "./audit-chain.ts"
import { makeCheckpoint } from "./audit-checkpoints.ts"
import { auditTypes } from "./audit-row.ts"
import { verifyAudit } from "./audit-verify.ts"

const asBefore = (db: Database, id: string) =>
  db.executeQuery(
    CompiledQuery.raw(
      `insert into audit_event (id, occurred_at, kind, outcome, request_id, request_route)
      values ($1, now(), 'login.succeeded', 'SUCCESS', '', '')`,
      [id],
    ),
  )
const columns = async (db: Database) => {
  const text = "select column_name as name from information_schema.columns where table_name = 'audit_event'"
  const { rows } = await db.executeQuery<{ name: string }>(CompiledQuery.raw(text))
  return rows.map(({ name }) => name)
}
const verify = (db: Database) =>
  verifyAudit(db, { seals: testSeals, nowMs: Date.now(), patienceMs: 60_000, open: () => undefined, kept: new Map() })

describeOnPostgres("the audit of before there were chains", () => {
  test.runIf(isLong)("is linked unchanged, and the address column that no stamp covers is dropped", async () => {
    const database = await createTestDatabase({ migrated: false })
    const { db, close } = openPostgres(database.url, { maxConnections: 2 })
    const files = await readMigrations()
    await migrate(db, { files: files.filter(({ name }) => name < "0011") })
    await asBefore(db, "aud_1")
    await db.executeQuery(CompiledQuery.raw("update audit_event set request_ip_truncated = '192.0.2.0/24'"))
    await migrate(db, { files, scope: "finish" })
    // The stamp covers every column except itself.
    expect((await columns(db)).toSorted()).toEqual(Object.keys(auditTypes).toSorted())
    await linkPending(db, testSeals, Date.now)
    expect(await verify(db)).toMatchObject({ flaws: [], links: 1, unstamped: 1 })
    await close()
    await database.drop()
  })
})

describeOnEachStore("the first checkpoint", (kind) => {
  test("is made a period after the first link, and not while an older event is pending", async () => {
    const { db, store, close } = await openTestStore(kind)
    const event = (id = freshId("aud")) => ({
      id,
      occurredAtMs: Date.now(),
      kind: "login.failed" as const,
      outcome: "FAILURE" as const,
      ...{ reason: null, appId: null, tenantId: null, contextId: null, actorPrincipalId: null, sessionId: null },
      ...{ subjectPrincipalId: null, subjectIdentityId: null, target: null },
      request: { id: "", route: "", ipTruncated: "192.0.2.0/24" },
    })
    const make = (nowMs: number) =>
      makeCheckpoint(db, {
        writing: testAuditLogDeps(),
        iss: "https://auth.example",
        nowMs,
        everyMs: 1_000,
        sign: (claims) => JSON.stringify(claims),
        event: () => event(),
      })
    const link = (nowMs: number) => linkPending(db, testSeals, () => nowMs)
    expect(await make(9_000)).toBeUndefined()
    await store.transaction((tx) => tx.audit.append(event()))
    await link(10_000)
    expect(await make(10_999)).toBeUndefined()
    await asBefore(db, "aud_before")
    expect(await make(11_000)).toBeUndefined()
    await link(11_000)
    expect((await make(11_000))?.number).toBe(1n)
    expect(
      await db
        .selectFrom("audit_link")
        .select("event_id")
        .where("event_id", "=", "aud_before" as never)
        .execute(),
    ).toHaveLength(1)

    // An address of no known person is sealed under its day's key, which is erased after ninety days.
    const keys = async () => (await db.selectFrom("audit_data_key").selectAll().execute()).map((key) => key.key_sealed)
    expect(await keys()).toEqual([expect.any(Uint8Array)])
    await sweep(db, Date.now() + 89 * 86_400_000)
    expect(await keys()).toEqual([expect.any(Uint8Array)])
    await sweep(db, Date.now() + 91 * 86_400_000)
    expect(await keys()).toEqual([null])
    await close()
  })
})
