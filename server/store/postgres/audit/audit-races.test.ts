// Two processes append and link at once, at both isolation levels: no call fails, and each event is linked once.
import type { AuditEvent } from "@signet/kernel/audit/event"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testAuditLogDeps, testSeals } from "../../../../test/support/audit-log-deps.ts"
import { describeOnPostgres, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { createStore } from "../store.ts"
import { freshId } from "../testing/people.ts"
import { linkPending } from "./audit-chain.ts"
import { verifyAudit } from "./audit-verify.ts"

const event = (change: Partial<AuditEvent>): AuditEvent => ({
  id: freshId("aud"),
  occurredAtMs: Date.now(),
  kind: "login.succeeded",
  outcome: "SUCCESS",
  reason: null,
  appId: null,
  tenantId: null,
  contextId: null,
  actorPrincipalId: null,
  subjectPrincipalId: null,
  subjectIdentityId: null,
  sessionId: null,
  target: null,
  request: { id: "", route: "", ipTruncated: "192.0.2.0/24" },
  ...change,
})

describeOnPostgres("the audit under load", () => {
  describe.each(["read committed", "serializable"] as const)("with %s", (isolationLevel) => {
    let opened: TestStore
    beforeAll(async () => {
      opened = await openTestStore("postgres", { maxConnections: 30 })
    })
    afterAll(() => opened.close())

    const processes = () =>
      [1, 2].map(() => ({ runs: 0, store: createStore(opened.db, { isolationLevel, audit: testAuditLogDeps() }) }))
    const verified = () =>
      verifyAudit(opened.db, {
        seals: testSeals,
        nowMs: Date.now(),
        patienceMs: 60_000,
        open: () => undefined,
        kept: new Map(),
      })

    test.each<[string, () => Partial<AuditEvent>]>([
      ["of fifty people", () => ({ actorPrincipalId: freshId("prn") })],
      ["of one person", () => ({ actorPrincipalId: one })],
      ["of nobody known", () => ({})],
    ])("fifty events %s are appended, while both link", async (_, change) => {
      const before = await verified()
      const both = processes()
      let isOver = false
      const linking = both.map(async () => {
        while (!isOver) await linkPending(opened.db, testSeals, Date.now)
      })
      const appending = Array.from({ length: 50 }, (_, i) => {
        const process = both[i % 2] ?? expect.fail()
        return process.store.transaction(async (tx) => {
          process.runs += 1
          await tx.audit.append(event(change()))
          await tx.audit.append(event(change()))
        })
      })
      await Promise.all(appending)
      isOver = true
      await Promise.all(linking)
      await linkPending(opened.db, testSeals, Date.now)
      const after = await verified()
      expect(after).toMatchObject({ flaws: [], waiting: 0, links: before.links + 100 })
      // Linking blocks no append: at most the transactions that created the same key at the same time are retried.
      const runs = both.reduce((all, one) => all + one.runs, 0)
      expect(runs).toBeLessThanOrEqual(isolationLevel === "serializable" ? 250 : 50)
    })
    const one = freshId("prn")

    test("the personal fields of all events open again", async () => {
      const [first, second] = processes()
      await first?.store.transaction((tx) => tx.audit.append(event({ actorPrincipalId: one })))
      const list = second?.store.transaction((tx) => {
        const of = { kinds: [], outcome: null, targetType: null, targetId: null, fromMs: null, untilMs: null }
        const filter = { appId: null, tenantId: null, contextId: null, principalId: one, ...of }
        return tx.audit.list(filter, { size: 200, before: null })
      })
      const found = (await list) ?? []
      expect(found).toHaveLength(101)
      expect(new Set(found.map(({ request }) => request.ipTruncated))).toEqual(new Set(["192.0.2.0/24"]))
    })
  })
})
