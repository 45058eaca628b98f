import type { AuditEvent } from "@signet/kernel/audit/event"
import type { AuditFilter } from "@signet/kernel/audit/filter"
import type { Store } from "@signet/kernel/ports"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { freshId } from "../testing/people.ts"

const everything: AuditFilter = {
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

describeOnEachStore("the audit", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await store.transaction(async ({ audit }) => {
      for (const event of events) await audit.append(event)
    })
  })
  afterAll(() => opened.close())

  const [appId, otherAppId, tenantId, contextId] = [freshId("app"), freshId("app"), freshId("ten"), freshId("ctx")]
  const [ada, bob] = [freshId("prn"), freshId("prn")]
  const eventAt = (occurredAtMs: number, change: Partial<AuditEvent> = {}): AuditEvent => ({
    id: freshId("aud"),
    occurredAtMs,
    kind: "grant.created",
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
  const target = { type: "grant", id: "g1" }
  const events: readonly AuditEvent[] = [
    eventAt(1, { appId: null, kind: "key.published", target: { type: "signing_key", id: "k1" } }),
    eventAt(2, { appId: otherAppId, actorPrincipalId: ada }),
    eventAt(3, { tenantId, actorPrincipalId: ada, subjectPrincipalId: bob, target }),
    eventAt(4, { tenantId, contextId, subjectPrincipalId: ada, target: { ...target, id: "g2" } }),
    eventAt(5, { kind: "authz.denied", outcome: "DENIED", reason: "MISSING_SCOPE", actorPrincipalId: bob }),
    eventAt(5, { kind: "grant.revoked", subjectIdentityId: freshId("idn"), sessionId: freshId("ses") }),
    eventAt(6, {
      actorPrincipalId: ada,
      subjectPrincipalId: ada,
      request: { id: "r", route: "R/M", ipTruncated: "192.0.2.0/24" },
    }),
  ]

  const list = (filter: Partial<AuditFilter>) =>
    store.transaction(({ audit }) => audit.list({ ...everything, ...filter }, { size: 100, before: null }))
  const times = async (filter: Partial<AuditFilter>) => (await list(filter)).map(({ occurredAtMs }) => occurredAtMs)

  test("returns the appended events, newest first", async () => {
    const newestFirst = events.toSorted((a, b) => b.occurredAtMs - a.occurredAtMs || (a.id < b.id ? 1 : -1))
    expect(await list({})).toStrictEqual(newestFirst)
  })

  test.each<[string, Partial<AuditFilter>, number[]]>([
    ["an app", { appId }, [6, 5, 5, 4, 3]],
    ["another app", { appId: otherAppId }, [2]],
    ["a tenant", { appId, tenantId }, [4, 3]],
    ["a context", { appId, tenantId, contextId }, [4]],
    ["an app and a tenant that is not in it", { appId: otherAppId, tenantId }, []],
    ["a kind", { kinds: ["key.published"] }, [1]],
    ["kinds, also unknown ones", { kinds: ["grant.revoked", "key.published", "no.kind"] }, [5, 1]],
    ["a kind that is named twice", { kinds: ["grant.revoked", "grant.revoked"] }, [5]],
    ["an outcome", { outcome: "DENIED" }, [5]],
    ["a principal as actor or subject", { principalId: ada }, [6, 4, 3, 2]],
    ["a principal and a kind", { principalId: ada, kinds: ["grant.created"] }, [6, 4, 3, 2]],
    ["a principal and a target", { principalId: ada, targetId: "g1" }, [3]],
    ["a principal in an app", { appId, principalId: ada }, [6, 4, 3]],
    ["a type of target", { targetType: "grant" }, [4, 3]],
    ["a target", { targetId: "g2" }, [4]],
    ["a target of another type", { targetType: "signing_key", targetId: "g2" }, []],
    ["a time range, with its start and without its end", { fromMs: 3, untilMs: 5 }, [4, 3]],
    ["an empty time range", { fromMs: 5, untilMs: 5 }, []],
  ])("is listed by %s", async (_, filter, expected) => {
    expect(await times(filter)).toEqual(expected)
  })

  test("is found by its own id, where the other filters match", async () => {
    for (const event of events) {
      expect(await list({ targetId: event.id })).toStrictEqual([event])
      expect(await list({ targetId: event.id, appId: event.appId === appId ? otherAppId : appId })).toEqual([])
      expect(await list({ targetId: event.id, untilMs: event.occurredAtMs })).toEqual([])
    }
    expect(await list({ targetId: freshId("aud") })).toEqual([])
  })

  test("is listed in pages that have every event once, also events of one millisecond", async () => {
    const all = await list({})
    const paged = await store.transaction(async ({ audit }) => {
      const found: AuditEvent[] = []
      for (let page = await audit.list(everything, { size: 2, before: null }); page.length > 0; ) {
        found.push(...page)
        const last = page.at(-1)
        const before = last === undefined ? null : { createdAtMs: last.occurredAtMs, id: last.id }
        page = await audit.list(everything, { size: 2, before })
      }
      return found
    })
    expect(paged).toEqual(all)
  })
})
