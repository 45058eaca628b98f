import { hex } from "@signet/kernel/messaging/bytes"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import { sql } from "kysely"
import { Client } from "pg"
import { afterAll, beforeAll, expect, test } from "vitest"
import { testAuditLogDeps } from "../../../../test/support/audit-log-deps.ts"
import {
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
  type TestStore,
} from "../../../../test/support/postgres.ts"
import { recorded } from "../../../../test/support/statements.ts"
import { untilWaiting } from "../../../../test/support/waiting.ts"
import { inThreeProcesses } from "../testing/calls.ts"
import { freshId } from "../testing/people.ts"
import { createMessagingStore } from "./store.ts"
import {
  changeOf,
  newAudit,
  newClaim,
  newDevice,
  newKeyPackage,
  nowMs,
  place,
  putUser,
  random,
} from "./testing/world.ts"

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

/** A device with this number of key packages. */
async function deviceWith(store: MessagingStore, count: number): Promise<MessagingDevice> {
  const device = (await putUser(store)).devices[0] ?? expect.unreachable()
  const packages = times(count, () => newKeyPackage(device))
  if (count > 0) await store.keyPackages.upload(packages, nowMs)
  return device
}

type Asked = ReturnType<typeof newClaim>
type Outcome = Awaited<ReturnType<MessagingStore["keyPackages"]["claim"]>>

const claim = (store: MessagingStore, of: Asked, audit = newAudit("key_package.claimed")) =>
  store.keyPackages.claim(of, nowMs, audit)
const refsOf = (outcome: Outcome) =>
  outcome.is === "claimed" ? outcome.claim.packages.map(({ ref }) => hex(ref)) : [outcome.is]
const fromOf = (outcome: Outcome): readonly string[] | string =>
  outcome.is === "claimed" ? outcome.claim.packages.map(({ deviceId }) => deviceId) : outcome.is

describeOnEachStore("claims of several calls at once", (kind) => {
  let opened: TestStore
  let store: MessagingStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.messaging
    // The gates of the place.
    await claim(store, newClaim(await deviceWith(store, 0), {}))
  })
  afterAll(() => opened.close())

  test("are one statement, and each gets what it would get alone", async () => {
    const [ana, bea, cleo, scarce] = await Promise.all([10, 10, 10, 2].map((count) => deviceWith(store, count)))
    if (!ana || !bea || !cleo || !scarce) return expect.unreachable()
    await store.keyPackages.upload([newKeyPackage(cleo, { isLastResort: true })], nowMs)
    const crowd = times(maxCount.subjectsPerCommit / maxCount.devicesPerUser, () => freshId("prn"))
    for (const userId of crowd) {
      const devices = times(maxCount.devicesPerUser, () => newDevice(userId))
      await store.devices.change(changeOf(devices[0] ?? expect.unreachable(), { devices }))
    }
    const blocked = { userId: cleo.userId, place, change: { userId: bea.userId, isBlocked: true } }
    await store.blocks.change(blocked, newAudit("user.blocked"))
    const asked = [
      newClaim(ana, { userIds: [bea.userId, scarce.userId] }),
      newClaim(bea, { userIds: [ana.userId], deviceIds: [scarce.id, ana.id] }),
      newClaim(ana, { deviceIds: [scarce.id] }),
      newClaim(bea, { userIds: [cleo.userId] }),
      newClaim(bea, { userIds: [cleo.userId] }, { addable: [cleo.userId] }),
      newClaim(ana, { userIds: [ana.userId] }),
      newClaim(ana, { userIds: [bea.userId] }, { place: { ...place, appId: freshId("app") } }),
    ]
    const audits = asked.map(() => newAudit("key_package.claimed"))
    let outcomes: Outcome[] = []
    const statements = await recorded(async () => {
      outcomes = await Promise.all(asked.slice(0, 6).map((of, i) => claim(store, of, audits[i])))
    })
    expect(statements).toHaveLength(1)
    // Three claims want one of two packages.
    const but = (ids: readonly string[] | string) =>
      typeof ids === "string" ? ids : ids.filter((id) => id !== scarce.id)
    expect(outcomes.map((each) => but(fromOf(each)))).toEqual([[bea.id], [ana.id], [], [], [cleo.id], []])
    expect(outcomes.flatMap(fromOf).filter((id) => id === scarce.id)).toHaveLength(2)
    const without = outcomes.map((each) => (each.is === "claimed" ? each.claim.withoutDeviceIds : []))
    expect(without.map((ids) => but(ids))).toEqual([[], [], [], [cleo.id], [], []])
    expect(without.flat().filter((id) => id === scarce.id)).toHaveLength(1)
    // The statement as a whole leaves Cleo nine.
    const low = outcomes.map((each) => (each.is === "claimed" ? each.low : each.is))
    const [ofAna, ofBea] = [[bea.id, scarce.id].toSorted(), [ana.id, scarce.id].toSorted()]
    expect(low).toEqual([ofAna, ofBea, [scarce.id], [cleo.id], [cleo.id], []])
    const refs = outcomes.flatMap(refsOf)
    expect(new Set(refs).size).toBe(refs.length)
    // Each is stored as it was returned, and audited once.
    for (const [i, of] of asked.slice(0, 6).entries()) {
      const [again, outcome] = [await claim(store, of, audits[i]), outcomes[i]]
      if (again.is !== "claimed" || outcome?.is !== "claimed") return expect.unreachable()
      expect(again.claim).toEqual(outcome.claim)
    }
    const ids = audits.map(({ id }) => id)
    const written = await sql<{ id: string }>`select id from audit_event where id = any(${ids})`.execute(opened.db)
    expect(written.rows.map(({ id }) => id).toSorted()).toEqual(ids.slice(0, 6).toSorted())

    // A claim that is too large, and one at a place without gates, do not affect the one between them.
    const mixed = [
      newClaim(ana, { userIds: [...crowd, bea.userId] }),
      newClaim(ana, { userIds: [bea.userId] }),
      asked[6] ?? expect.unreachable(),
    ]
    const last = await Promise.all(mixed.map((of) => claim(store, of)))
    expect(last.map(fromOf)).toEqual(["tooMany", [bea.id], []])
    expect((await store.keyPackages.inventory(bea.id, nowMs)).available).toBe(8)
  })

  test("do not share their statement with a claim of more than 16 targets", async () => {
    const [by, target] = [await deviceWith(store, 0), await deviceWith(store, 9)]
    const claimed = async (...counts: number[]) => {
      const asked = counts.map((count) =>
        newClaim(by, { userIds: [target.userId, ...times(count - 1, () => freshId("prn"))] }),
      )
      const statements = await recorded(async () => {
        expect((await Promise.all(asked.map((of) => claim(store, of)))).map(fromOf)).toEqual(
          counts.map(() => [target.id]),
        )
      })
      return statements.filter(({ text }) => text.includes("insert into claim_package")).length
    }
    expect(await claimed(16, 1)).toBe(1)
    expect(await claimed(17, 1)).toBe(2)
    const alone = newClaim(by, { userIds: times(17, () => freshId("prn")) })
    expect(await recorded(() => claim(store, alone))).toHaveLength(3)
  })

  test("have as many devices in one statement as a commit adds, and the others follow", async () => {
    const by = await deviceWith(store, 0)
    const crowd = times(20, () => freshId("prn"))
    for (const userId of crowd) {
      const devices = times(maxCount.devicesPerUser, () => newDevice(userId))
      await store.devices.change(changeOf(devices[0] ?? expect.unreachable(), { devices }))
    }
    const asked = times(5, (i) => newClaim(by, { userIds: crowd.slice(4 * i, 4 * i + 4) }))
    let outcomes: Outcome[] = []
    const statements = await recorded(async () => {
      outcomes = await Promise.all(asked.map((of) => claim(store, of)))
    })
    const count = 4 * maxCount.devicesPerUser
    expect(outcomes.map((each) => each.is === "claimed" && each.claim.withoutDeviceIds.length)).toEqual(
      times(5, () => count),
    )
    const together = Math.floor(maxCount.subjectsPerCommit / count)
    const writing = statements.filter(({ text }) => text.includes("insert into claim_package"))
    expect(writing).toHaveLength(1 + 5 - together)
  })

  test("of one id are one claim, beside another request with this id", async () => {
    const [by, target] = [await deviceWith(store, 0), await deviceWith(store, 9)]
    const of = newClaim(by, { userIds: [target.userId] })
    const other = { ...of, requestHash: random() }
    const outcomes = await Promise.all([of, of, other, of, newClaim(by, of.targets)].map((one) => claim(store, one)))
    const [first, second, third, fourth, apart] = outcomes.map(refsOf)
    expect([second, third, fourth]).toEqual([first, ["mismatch"], first])
    expect(apart).not.toEqual(first)
    expect((await store.keyPackages.inventory(target.id, nowMs)).available).toBe(7)
  })
})

describeOnPostgres("claims of several calls at once", () => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore("postgres", { maxConnections: 20 })
    await claim(opened.messaging, newClaim(await deviceWith(opened.messaging, 0), {}))
  })
  afterAll(() => opened.close())

  test.each(["read committed", "serializable"])("of three processes take each package once (%s)", async (isolation) => {
    const { messaging, databaseUrl } = opened
    const targets = await Promise.all(times(3, () => deviceWith(messaging, 15)))
    const by = await deviceWith(messaging, 0)
    await inThreeProcesses(databaseUrl, isolation, async (databases) => {
      const stores = databases.map((db) => createMessagingStore(db, { audit: testAuditLogDeps() }))
      const calls = times(90, (i) => {
        const [one, two] = [targets[i % 3], targets[(i + 1) % 3]]
        if (!one || !two) return expect.unreachable()
        const named = i % 2 === 0 ? { userIds: [one.userId, two.userId] } : { deviceIds: [two.id, one.id] }
        return claim(stores[i % 3] ?? expect.unreachable(), newClaim(by, named))
      })
      const refs = (await Promise.all(calls)).flatMap(refsOf)
      expect(new Set(refs).size).toBe(refs.length)
      const left = await Promise.all(targets.map(({ id }) => messaging.keyPackages.inventory(id, nowMs)))
      // A claim skips packages that another process has locked, so some may be left.
      expect(refs.length + left.reduce((sum, { available }) => sum + available, 0)).toBe(45)
      expect(refs.length).toBeGreaterThan(15)
    })
  })

  test.each([
    ["together", 1],
    ["alone", 17],
  ])("do not fail because another process writes one of them (%s)", async (_, count) => {
    const { messaging, db } = opened
    const [by, target] = [await deviceWith(messaging, 0), await deviceWith(messaging, 9)]
    const same = newClaim(by, { userIds: [target.userId, ...times(count - 1, () => freshId("prn"))] })
    const beside = newClaim(by, { userIds: [target.userId] })
    const outcomes = await db.transaction().execute(async (holder) => {
      await sql`insert into claim (id, requester_device_id, conversation_id, request_hash, without_device_ids, claimed_at)
        values (${same.id}, ${by.id}, ${same.conversationId}, ${Buffer.from(same.requestHash)}, '{}', now())`.execute(
        holder,
      )
      const calls = [same, beside].map((of) => claim(messaging, of))
      await untilWaiting(db)
      return { calls }
    })
    expect((await Promise.all(outcomes.calls)).map(fromOf)).toEqual([[], [target.id]])
    expect((await messaging.keyPackages.inventory(target.id, nowMs)).available).toBe(8)
  })

  test("alone are refused when their place is held after their gate was locked", async () => {
    const { messaging, db } = opened
    const tenantId = freshId("ten")
    const at = { ...place, tenantId }
    const by = await deviceWith(messaging, 0)
    const targets = { userIds: times(17, () => freshId("prn")) }
    expect((await claim(messaging, newClaim(by, targets, { place: at }))).is).toBe("claimed")
    const { query } = Client.prototype
    let isHeld = false
    Client.prototype.query = function late(this: Client, ...of: unknown[]) {
      const text = typeof of[0] === "object" && of[0] !== null && "text" in of[0] ? String(of[0].text) : String(of[0])
      if (isHeld || !text.includes("insert into claim_package")) return Reflect.apply(query, this, of)
      isHeld = true
      const hold = sql`insert into messaging_place (app_id, tenant_id, state) values (${at.appId}, ${tenantId}, 'HOLDING')`
      return hold.execute(db).then(() => Reflect.apply(query, this, of))
    }
    try {
      const refused = claim(messaging, newClaim(by, targets, { place: at }))
      await expect(refused).rejects.toMatchObject({ reason: "PLACE_HELD" })
      expect(isHeld).toBe(true)
    } finally {
      Client.prototype.query = query
      await sql`delete from messaging_place where tenant_id = ${tenantId}`.execute(db)
    }
  })

  test("do not wait for another one's gate, and are refused at a held place", async () => {
    const { messaging, db } = opened
    const target = await deviceWith(messaging, 9)
    const held = await deviceWith(messaging, 0)
    let free = await deviceWith(messaging, 0)
    while (free.id.at(-1) === held.id.at(-1)) free = await deviceWith(messaging, 0)
    const targets = { userIds: [target.userId] }
    const shard = held.id.at(-1)
    let hasEnded = false
    const { refused } = await db.transaction().execute(async (holder) => {
      await sql`update messaging_gate set is_open = false where shard = ${shard}`.execute(holder)
      const refused = claim(messaging, newClaim(held, targets)).catch((error: unknown) => error)
      refused.then(() => {
        hasEnded = true
      })
      expect(fromOf(await claim(messaging, newClaim(free, targets)))).toEqual([target.id])
      expect(hasEnded).toBe(false)
      return { refused }
    })
    try {
      expect(await refused).toMatchObject({ reason: "PLACE_HELD" })
      expect((await messaging.keyPackages.inventory(target.id, nowMs)).available).toBe(8)
    } finally {
      await sql`update messaging_gate set is_open = true where shard = ${shard}`.execute(db)
    }
    expect(fromOf(await claim(messaging, newClaim(held, targets)))).toEqual([target.id])
  })
})
