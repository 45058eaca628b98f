import type { AuditEvent } from "@signet/kernel/audit/event"
import type { Ask } from "@signet/kernel/limits/ports"
import type { Store } from "@signet/kernel/ports"
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import { testAuditLogDeps } from "../../../../test/support/audit-log-deps.ts"
import {
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
  type TestStore,
} from "../../../../test/support/postgres.ts"
import { createStore } from "../store.ts"
import { freshAsk, inThreeProcesses, nothing, nowMs, plainEvent } from "../testing/calls.ts"
import { putService } from "../testing/machines.ts"
import { app, putApp } from "../testing/people.ts"

async function knownClient(store: Store) {
  const { account, principal } = await putService(store)
  const client = { who: { clientId: account.clientId }, nowMs }
  const { tag } = (await store.clients.findTagged(client)) ?? expect.unreachable()
  return { account, principal, asked: { client, tag } }
}
const storedOf = async (store: Store, events: readonly AuditEvent[]) =>
  store.transaction((tx) => tx.audit.storedIds(events.map(({ id }) => id)))

describeOnEachStore("calls of several clients at once", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
  })
  afterAll(() => opened.close())

  test("are granted, except those of a changed, a refused and a failing call", async () => {
    const [one, two, changed] = [await knownClient(store), await knownClient(store), await knownClient(store)]
    await store.transaction((tx) => tx.serviceAccounts.setStatus(changed.account.id, "DISABLED", nowMs))
    const [stored, full] = [plainEvent(), freshAsk(1)]
    await store.clients.countAndAppend(nothing, stored)
    await store.limits.take([full], [], nowMs)
    const events = Array.from({ length: 4 }, () => plainEvent())
    const [a, b, c, d] = events as [AuditEvent, AuditEvent, AuditEvent, AuditEvent]
    const bucket = freshAsk(5)
    const answers = await Promise.allSettled([
      store.clients.countAndAppendOf({ ...nothing, asks: [bucket] }, one.asked, a),
      store.clients.countAndAppendOf({ ...nothing, asks: [bucket] }, two.asked, b),
      store.clients.countAndAppendOf({ ...nothing, asks: [bucket] }, changed.asked, c),
      store.clients.countAndAppendOf({ ...nothing, asks: [full] }, one.asked, d),
      store.clients.countAndAppendOf({ ...nothing, asks: [bucket] }, two.asked, stored),
    ])
    expect(answers.map((answer) => (answer.status === "fulfilled" ? answer.value.is : answer.reason.message))).toEqual([
      "appended",
      "appended",
      "changed",
      "refused",
      expect.stringContaining("duplicate key"),
    ])
    expect(await storedOf(store, events)).toEqual(new Set([a.id, b.id]))
    // The two granted calls were counted, and no other.
    const { counted } = await store.limits.take([bucket], [], nowMs)
    expect(counted).toEqual([{ granted: true, fullAtMs: nowMs + 3 * 12_000 }])
  })

  test("read the liveness of their own tokens", async () => {
    const clients = [await knownClient(store), await knownClient(store), await knownClient(store)]
    await store.transaction((tx) =>
      tx.principals.end(clients[1]?.principal.id ?? expect.unreachable(), "SUSPENDED", nowMs),
    )
    const caller = await knownClient(store)
    const questions = clients.map(({ principal }) => ({
      principalId: principal.id,
      actorId: null,
      sessionId: null,
      credentialId: null,
      tokenId: null,
      issuedAtMs: nowMs,
      appId: app.id,
      tenantId: null,
      contextId: null,
      nowMs,
    }))
    const asks = [freshAsk(10)]
    const answers = await Promise.all(
      questions.map((liveness) =>
        store.clients.countAndFindLiveness({ ...nothing, asks }, { ...caller.asked, liveness }),
      ),
    )
    expect(answers.map(({ liveness }) => liveness?.principal)).toEqual(["ACTIVE", "SUSPENDED", "ACTIVE"])
    expect(answers.map(({ liveness }) => liveness)).toEqual(
      await Promise.all(questions.map((question) => opened.liveness.find(question))),
    )
    expect(new Set(answers.map(({ counted }) => counted[0]?.fullAtMs))).toEqual(
      new Set([1, 2, 3].map((call) => nowMs + call * 6_000)),
    )
  })
})

describeOnPostgres("calls of several clients at once", () => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore("postgres", { maxConnections: 20 })
    await putApp(opened.store)
  })
  afterAll(() => opened.close())

  test.each(["read committed", "serializable"])(
    "of three times the limit, in three processes, are granted and recorded exactly up to the limit (%s)",
    async (isolation) => {
      const { store, databaseUrl } = opened
      await inThreeProcesses(databaseUrl, isolation, async (databases) => {
        const stores = databases.map((db) => createStore(db, { audit: testAuditLogDeps() }))
        const clients = [await knownClient(store), await knownClient(store), await knownClient(store)]
        const asks = [freshAsk(20)]
        const events = Array.from({ length: 60 }, () => plainEvent())
        const answers = await Promise.all(
          events.map((event, i) => {
            const [process, client] = [stores[i % 3], clients[i % 2]]
            if (process === undefined || client === undefined) throw new Error("a process has no client")
            return process.clients.countAndAppendOf({ ...nothing, asks }, client.asked, event)
          }),
        )
        const granted = events.filter((_, i) => answers[i]?.is === "appended").map(({ id }) => id)
        expect(granted).toHaveLength(20)
        expect(new Set(answers.map(({ is }) => is))).toEqual(new Set(["appended", "refused"]))
        expect(await storedOf(store, events)).toEqual(new Set(granted))
      })
    },
  )

  test("are granted while another call's bucket is locked", async () => {
    const { store, db } = opened
    const [one, two] = [await knownClient(store), await knownClient(store)]
    const [locked, free] = [freshAsk(5), freshAsk(5)]
    await store.limits.take([locked], [], nowMs)
    const grant = (client: typeof one, ask: Ask) =>
      store.clients.countAndAppendOf({ ...nothing, asks: [ask] }, client.asked, plainEvent())
    let hasEnded = false
    const waiting = await db.transaction().execute(async (holder) => {
      await sql`update rate_limit set step_us = step_us where key = ${locked.key}`.execute(holder)
      const call = grant(one, locked)
      call.then(() => {
        hasEnded = true
      })
      for (let round = 0; round < 5; round++) expect(await grant(two, free)).toMatchObject({ is: "appended" })
      expect(hasEnded).toBe(false)
      return { call }
    })
    expect(["appended", "late"]).toContain((await waiting.call).is)
  })
})
