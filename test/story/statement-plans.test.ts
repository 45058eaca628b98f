// The plans of frequent statements in large tables: none reads a whole table or index, so none slows down with age.
import type { CountQuery } from "@signet/kernel/audit/count"
import type { AuditFilter } from "@signet/kernel/audit/filter"
import { parseId } from "@signet/kernel/ids"
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { isAnyPending, linkPending } from "../../server/store/postgres/audit/audit-chain.ts"
import { createMessagingStore } from "../../server/store/postgres/messaging/store.ts"
import { createStreamOwners } from "../../server/store/postgres/messaging/stream-owners.ts"
import { analyzeGrown } from "../../server/store/postgres/statistics.ts"
import { freshId } from "../../server/store/postgres/testing/people.ts"
import { sceneOf } from "../conformance/scene.ts"
import { testSeals } from "../support/audit-log-deps.ts"
import { type Clients, clientsOver, protocols } from "../support/clients.ts"
import { effort, isLong } from "../support/effort.ts"
import { accountTables, grow, messagingTables } from "../support/growth.ts"
import { addMachine, assertion, basic, postForm } from "../support/machines.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { blocksOf, keptScans, type Scan, wholeScans } from "../support/plans.ts"
import { describeOnPostgres } from "../support/postgres.ts"
import { recorded, type Statement } from "../support/statements.ts"

vi.setConfig({ testTimeout: effort(60_000, 300_000, 3_600_000), hookTimeout: effort(60_000, 300_000, 3_600_000) })

/** Rows per table, one after the other. */
const sizes = effort([2_000], [10_000, 30_000], [10_000, 100_000, 1_000_000])

const grown = [...accountTables, ...messagingTables]
const tables = new Set(grown.map(({ table }) => table))
/** An index of rows that wait for a periodic task, which reads and empties it. */
const queues = new Set(["revocation_pending"])
/** It joins the table with up to 2,000 pending rows, whose number PostgreSQL does not know before it analyses. */
const sequencing = "with pending as (\n  select kind, key, app_id from revocation"

const noFilter: AuditFilter = {
  appId: null,
  tenantId: null,
  contextId: null,
  kinds: [],
  outcome: null,
  principalId: null,
  targetType: null,
  targetId: null,
  fromMs: null,
  untilMs: null,
}

describeOnPostgres("the plans of frequent statements", () => {
  let server: MessagingServer
  let clients: Clients
  let statements: readonly Statement[]
  beforeAll(async () => {
    server = await startMessagingServer({ store: "postgres" })
    clients = clientsOver(protocols.gRPC?.(server.url) ?? expect.unreachable())
    statements = distinct(await recorded(useAll))
  })
  afterAll(() => server?.close())

  const rareFilters: readonly Partial<AuditFilter>[] = [
    { principalId: parseId("prn", `prn_${"1900".padStart(26, "0")}`) ?? null },
    { targetId: "target1900" },
    { targetId: `jti_${"1900".padStart(26, "0")}` },
    { targetId: `aud_${"1900".padStart(26, "0")}` },
    { kinds: ["grant.created", "grant.revoked"] },
  ]
  const listAudit = (filter: Partial<AuditFilter>) =>
    server.store.store.transaction(({ audit }) => audit.list({ ...noFilter, ...filter }, { size: 50, before: null }))

  const tenantId = freshId("ten")
  const countedPlaces = (): readonly Pick<CountQuery, "appId" | "tenantId">[] => [
    { appId: null, tenantId: null },
    { appId: server.app.id, tenantId: null },
    { appId: server.app.id, tenantId },
  ]
  /** Of ten minutes, in which the large tables have 600 events. */
  const countAudit = (place: Pick<CountQuery, "appId" | "tenantId">) =>
    server.store.store.transaction(({ audit }) => {
      const fromMs = Date.now() - 600_000
      const buckets = { fromMs, untilMs: fromMs + 660_000, widthMs: 60_000 }
      const of = { ...place, contextId: null, kinds: ["grant.created"], outcome: null } as const
      return audit.count({ ...of, buckets, groupBy: ["KIND", "REASON"], most: 250_000 })
    })

  async function useAll(): Promise<void> {
    const owner = await addMachine(server, { ownedAudiences: ["svc-notes"], scopes: ["auth.introspect", "notes.read"] })
    const machine = await addMachine(server)
    const grant = { grant_type: "client_credentials", audience: "svc-notes" }
    const post = async (path: string, form: Record<string, string>, headers = {}) => {
      const answer = await postForm(`${server.url}/auth/${path}`, form, headers)
      expect(answer.status).toBe(200)
      return answer.body
    }
    const { access_token } = await post("token", grant, basic(machine))
    await post("token", { ...grant, ...assertion(machine) })
    // The first calls record the use of the secret; the last one uses the facts of the call before.
    for (let call = 0; call < 2; call++) await post("token", grant, basic(machine))
    await post("token/introspect", { token: String(access_token) }, basic(owner))
    await clients.auth.externalLogin(await server.login("ada"))
    const { refreshToken } = await clients.auth.externalLogin(await server.login("ada"))
    const refreshed = await clients.auth.refresh({ refreshToken })
    await clients.auth.logout({ refreshToken: refreshed.refreshToken })
    await useMessaging()
    const { db, revocationLog } = server.store
    await linkPending(db, testSeals, Date.now)
    await isAnyPending(db)
    await revocationLog.sequence()
    await createMessagingStore(db, { audit: null }).devices.dueEffects(100)
    await listAudit({})
    await listAudit({ appId: server.app.id })
    for (const filter of rareFilters) await listAudit(filter)
    for (const place of countedPlaces()) await countAudit(place)
    await revocationLog.read({ after: 0, limit: 10, nowMs: Date.now() })
    const owners = [machine, owner].map(() => ({ deviceId: freshId("dev"), sessionId: freshId("ses") }))
    await createStreamOwners(db)(owners, Date.now())
  }

  async function useMessaging(): Promise<void> {
    const newUser = () => server.person(crypto.randomUUID())
    const scene = sceneOf({ baseUrl: server.url, newUser }, "gRPC", server.transport)
    const [one, two] = await scene.pair()
    const third = await scene.device()
    const room = await scene.group(one, two)
    await one.send(room, "hello")
    await one.add(room, { userIds: [third.userId] })
    await two.sync(two.room(room.id))
    await two.update(two.room(room.id))
  }

  /** Those of large tables, without the indexes of queues. */
  const inLarge = (scans: readonly Scan[]) =>
    scans.filter(({ table, index }) => tables.has(table) && !queues.has(index ?? "")).map(({ text }) => text)

  /** The scans of whole tables or indexes, by statement. */
  async function found(of = statements): Promise<Record<string, readonly string[]>> {
    const scans: Record<string, readonly string[]> = {}
    for (const statement of of) {
      const whole = inLarge(await wholeScans(server.store.db, statement))
      if (whole.length > 0) scans[statement.text] = whole
    }
    return scans
  }

  /** Blocks of the statements that read events, as they are planned for their values. */
  async function auditBlocks(work: () => Promise<unknown>): Promise<number> {
    const ofAudit = distinct(await recorded(work)).filter(({ text }) => text.includes("audit_event where"))
    expect(ofAudit.length).toBeGreaterThan(0)
    let blocks = 0
    for (const statement of ofAudit) blocks += await blocksOf(server.store.db, statement)
    return blocks
  }
  async function expectFewBlocks(): Promise<void> {
    for (const filter of rareFilters) expect(await auditBlocks(() => listAudit(filter))).toBeLessThan(400)
    for (const place of countedPlaces()) expect(await auditBlocks(() => countAudit(place))).toBeLessThan(400)
  }

  test.runIf(isLong).each(sizes.map((to, i) => ({ from: sizes[i - 1] ?? 0, to })))(
    "read no whole table or index of $to rows, also by plans that were made before these rows",
    async (size) => {
      const { db } = server.store
      const kept = await keptScans(db, statements, async () => {
        await grow(db, size, grown)
        expect(statements.length).toBeGreaterThan(80)
        expect(await found(statements.filter(({ text }) => !text.startsWith(sequencing)))).toEqual({})
        await expectFewBlocks()
        await analyzeGrown(db)
      })
      // Planned for the few rows of the test.
      if (size.from === 0) expect(kept.flatMap(({ first }) => inLarge(first)).length).toBeGreaterThan(5)
      expect(kept.filter(({ later }) => inLarge(later).length > 0)).toEqual([])
      await sql`analyze`.execute(db)
      await expectFewBlocks()
      expect(await found()).toEqual({})
    },
  )
})

/** The statements that read or write tables, one of each text. */
function distinct(all: readonly Statement[]): readonly Statement[] {
  const byText = new Map(all.map((statement) => [statement.text.replace("/* last */ ", ""), statement.values]))
  return Array.from(byText, ([text, values]) => ({ text, values })).filter(({ text }) =>
    /^\s*(with|select|insert|update|delete)/i.test(text),
  )
}
