import type { CountQuery } from "@signet/kernel/audit/count"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { freshId } from "../testing/people.ts"

describeOnEachStore("the counts of audit events", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
    await opened.store.transaction(async ({ audit }) => {
      for (const event of events) await audit.append(event)
    })
  })
  afterAll(() => opened?.close())

  const [appId, otherAppId, tenantId, contextId] = [freshId("app"), freshId("app"), freshId("ten"), freshId("ctx")]
  const eventAt = (occurredAtMs: number, change: Partial<AuditEvent> = {}): AuditEvent => ({
    id: freshId("aud"),
    occurredAtMs,
    kind: "session.refreshed",
    outcome: "SUCCESS",
    reason: null,
    appId,
    tenantId: null,
    contextId: null,
    actorPrincipalId: null,
    subjectPrincipalId: null,
    subjectIdentityId: null,
    sessionId: null,
    target: null,
    request: { id: "", route: "", ipTruncated: null },
    ...change,
  })
  const denied = { kind: "authz.denied", outcome: "DENIED" } as const
  const events: readonly AuditEvent[] = [
    eventAt(999),
    eventAt(1_000),
    eventAt(1_099, { tenantId }),
    eventAt(1_100, { ...denied, reason: "MISSING_SCOPE", tenantId, contextId }),
    eventAt(1_150, { ...denied, reason: "TENANT_MISMATCH", tenantId }),
    eventAt(1_150, { ...denied, reason: "TENANT_MISMATCH" }),
    eventAt(1_250, { kind: "login.failed", outcome: "FAILURE", reason: "PROVIDER_TOKEN_INVALID" }),
    eventAt(1_260, { appId: otherAppId }),
    eventAt(1_270, { appId: null, kind: "key.published" }),
    eventAt(1_300),
  ]

  const query: CountQuery = {
    appId,
    tenantId: null,
    contextId: null,
    kinds: [],
    outcome: null,
    buckets: { fromMs: 1_000, untilMs: 1_300, widthMs: 100 },
    groupBy: [],
    most: 100,
  }
  const count = (change: Partial<CountQuery>) =>
    opened.store.transaction(({ audit }) => audit.count({ ...query, ...change }))
  const byStart = async (change: Partial<CountQuery>) =>
    Object.fromEntries((await count(change)).counts.map(({ startMs, count }) => [startMs, count]))

  test.each<[string, Partial<CountQuery>, Record<string, number>]>([
    ["an app, in buckets with their start and without their end", {}, { 1000: 2, 1100: 3, 1200: 1 }],
    ["another app", { appId: otherAppId }, { 1200: 1 }],
    ["a tenant", { tenantId }, { 1000: 1, 1100: 2 }],
    ["a context", { tenantId, contextId }, { 1100: 1 }],
    ["another app and a tenant that is not in it", { appId: otherAppId, tenantId }, {}],
    ["everything, with the events of no app", { appId: null }, { 1000: 2, 1100: 3, 1200: 3 }],
    ["kinds, also unknown ones", { kinds: ["login.failed", "no.kind"] }, { 1200: 1 }],
    ["an unknown kind", { kinds: ["no.kind"] }, {}],
    ["an outcome", { outcome: "DENIED" }, { 1100: 3 }],
    ["one bucket", { buckets: { fromMs: 1_000, untilMs: 1_300, widthMs: 300 } }, { 1000: 6 }],
    [
      "a range whose last bucket is shorter",
      { buckets: { fromMs: 1_000, untilMs: 1_255, widthMs: 200 } },
      { 1000: 5, 1200: 1 },
    ],
  ])("are of %s", async (_, change, expected) => {
    expect(await byStart(change)).toEqual(expected)
    expect((await count(change)).countedFromMs).toBe(1_000)
  })

  test("are split by the properties that are asked for, and by no others", async () => {
    const buckets = { fromMs: 1_000, untilMs: 1_300, widthMs: 300 }
    const split = async (groupBy: CountQuery["groupBy"]) =>
      (await count({ buckets, groupBy })).counts.map(({ kind, outcome, reason, count }) =>
        [kind, outcome, reason, count].join(" "),
      )
    expect(await split(["KIND", "OUTCOME", "REASON"])).toEqual([
      "authz.denied DENIED MISSING_SCOPE 1",
      "authz.denied DENIED TENANT_MISMATCH 2",
      "login.failed FAILURE PROVIDER_TOKEN_INVALID 1",
      "session.refreshed SUCCESS  2",
    ])
    expect(await split(["OUTCOME"])).toEqual([" DENIED  3", " FAILURE  1", " SUCCESS  2"])
    expect(await split(["REASON"])).toEqual([
      "  MISSING_SCOPE 1",
      "  PROVIDER_TOKEN_INVALID 1",
      "  TENANT_MISMATCH 2",
      "   2",
    ])
    expect(await split([])).toEqual(["   6"])
  })

  test("stop after the newest events, and go on before them without a gap or a repetition", async () => {
    const { counts, countedFromMs } = await count({ most: 3 })
    // The two events of 1,150 and the one of 1,250.
    expect([counts.map(({ count }) => count), countedFromMs]).toEqual([[2, 1], 1_101])
    const sums: Record<string, number> = {}
    let calls = 0
    for (let untilMs = 1_300; untilMs > 1_000 && calls < 10; calls++) {
      const part = await count({ most: 3, buckets: { ...query.buckets, untilMs } })
      for (const { startMs, count } of part.counts) sums[startMs] = (sums[startMs] ?? 0) + count
      untilMs = part.countedFromMs
    }
    expect([sums, calls]).toEqual([{ 1000: 2, 1100: 3, 1200: 1 }, 2])
    expect((await count({ most: 6 })).countedFromMs).toBe(1_000)
  })

  test("leave out a millisecond of which they cannot count all", async () => {
    expect(await count({ most: 2 })).toMatchObject({ counts: [{ startMs: 1_200, count: 1 }], countedFromMs: 1_151 })
  })

  test("read no more events when a filter leaves most of them out", async () => {
    expect(await count({ most: 3, kinds: ["session.refreshed"] })).toEqual({ counts: [], countedFromMs: 1_101 })
    expect(await count({ most: 1, tenantId, contextId })).toEqual({ counts: [], countedFromMs: 1_101 })
  })

  test("include the events that their own transaction appends", async () => {
    const aborted = opened.store.transaction(async ({ audit }) => {
      await audit.append(eventAt(1_050))
      const { counts } = await audit.count({ ...query, buckets: { fromMs: 1_050, untilMs: 1_051, widthMs: 1 } })
      throw new Error(`counted ${counts[0]?.count}`)
    })
    await expect(aborted).rejects.toThrow("counted 1")
  })
})
