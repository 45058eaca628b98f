import { Refused } from "@signet/kernel/errors"
import type { Place } from "@signet/kernel/messaging/records"
import { type IsolationLevel, sql } from "kysely"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testAuditLogDeps } from "../../../../../test/support/audit-log-deps.ts"
import { effort } from "../../../../../test/support/effort.ts"
import { fillPlace, tenantAt } from "../../../../../test/support/messaging-store/full-place.ts"
import { attemptsOn, held, newAttachment } from "../../../../../test/support/messaging-store/moving.ts"
import { describeOnPostgres, openTestStore, type TestStore } from "../../../../../test/support/postgres.ts"
import { untilWaiting } from "../../../../../test/support/waiting.ts"
import { counted, exported, newTenant, step } from "../testing/moves.ts"
import { newCommit, newMessage, nowMs, random, signReceipt } from "../testing/world.ts"
import { lockGate, lockPlaceGate } from "./gates.ts"
import { createMoving } from "./moving.ts"

const levels = ["read committed", "serializable"] as const

/** A promise and the function that resolves it. */
function pause(): [() => void, Promise<void>] {
  const { promise, resolve } = Promise.withResolvers<void>()
  return [resolve, promise]
}

async function closedGates(db: TestStore["db"], { tenantId }: Place): Promise<number> {
  const closed = sql<{ n: number }>`select count(*)::int as n from messaging_gate
    where tenant_id = ${tenantId} and not is_open`
  return (await closed.execute(db)).rows[0]?.n ?? expect.fail()
}

describeOnPostgres("a hold", () => {
  describe.each(effort<readonly IsolationLevel[]>(["read committed"], levels, levels))("%s", (isolationLevel) => {
    let opened: TestStore
    beforeAll(async () => {
      opened = await openTestStore("postgres", { isolationLevel, maxConnections: 16 })
    })
    afterAll(() => opened.close())

    test("waits for a write in progress, and refuses writes that waited for another lock", async () => {
      const { messaging: store, db } = opened
      const moving = createMoving(db, { isolationLevel, audit: testAuditLogDeps() })
      const place = tenantAt(newTenant())
      const { ana, group } = await fillPlace(store, place)
      const transferId = random(16)
      const done: string[] = []
      const gone = (name: string) => () => void done.push(name)
      const [leave, left] = pause()
      const [enterNow, entered] = pause()
      const writer = db.transaction().execute(async (trx) => {
        await lockGate(trx, "device", ana.id)
        enterNow()
        await left
        done.push("written")
      })
      await entered
      // These wait for the conversation, and have seen an open place.
      const [unlock, unlocked] = pause()
      const [lockNow, locked] = pause()
      const locker = db.transaction().execute(async (trx) => {
        await sql`select 1 from conversation where id = ${group.id} for update`.execute(trx)
        lockNow()
        await unlocked
      })
      await locked
      const waiting = [
        store.conversations.append(newMessage(group, ana), signReceipt, nowMs, []),
        store.conversations.append(newCommit(group, ana, group.roster, { membership: null }), signReceipt, nowMs, []),
        store.conversations.decideDirective(
          group.id,
          () => ({ is: "close" }),
          () => null,
        ),
      ].map((one) =>
        one.then(
          () => "done",
          (error: unknown) => (error instanceof Refused ? error.reason : error),
        ),
      )
      // One process appends in turn: one append waits, and so does the statement that closes the conversation.
      await untilWaiting(db, 2)
      const hold = step(moving, place, transferId, "HOLD").then(gone("held"))
      await untilWaiting(db, 3)
      expect(done).toEqual([])
      await expect(moving.exportPage({ place, transferId, cursor: "", maxBytes: 1 })).rejects.toMatchObject({
        reason: "STATE_CONFLICT",
      })
      leave()
      await Promise.all([writer, hold])
      expect(done).toEqual(["written", "held"])
      unlock()
      await locker
      expect(await Promise.all(waiting)).toEqual(["PLACE_HELD", "PLACE_HELD", "PLACE_HELD"])
    })

    test("a place that was written to while it was found empty is open again, and not as a target", async () => {
      const { db } = opened
      const moving = createMoving(db, { isolationLevel, audit: testAuditLogDeps() })
      const [place, transferId] = [tenantAt(newTenant()), random(16)]
      const [leave, left] = pause()
      const [enterNow, entered] = pause()
      const writer = db.transaction().execute(async (trx) => {
        await lockPlaceGate(trx, place, "0")
        await sql`insert into device_list (user_id, app_id, tenant_id, version, signed, hash)
          values ('user_0', ${place.appId}, ${place.tenantId}, 1, ''::bytea, ${random(32)})`.execute(trx)
        enterNow()
        await left
      })
      await entered
      const received = expect(step(moving, place, transferId, "RECEIVE")).rejects.toMatchObject({
        reason: "STATE_CONFLICT",
      })
      await untilWaiting(db, 1)
      leave()
      await Promise.all([writer, received])
      // With the id, the command would take it for a target that is already filled.
      expect(await moving.status(place)).toMatchObject({ state: "OPEN", transferId: null, isEmpty: false })
      await expect(step(moving, place, transferId, "FINISH")).rejects.toMatchObject({ reason: "STATE_CONFLICT" })
    })

    test("that is aborted while it waits for a write leaves no gate closed", async () => {
      const { messaging: store, db } = opened
      const moving = createMoving(db, { isolationLevel, audit: testAuditLogDeps() })
      const place = tenantAt(newTenant())
      const { ana, group } = await fillPlace(store, place)
      const transferId = random(16)
      const [leave, left] = pause()
      const [enterNow, entered] = pause()
      const writer = db.transaction().execute(async (trx) => {
        await lockGate(trx, "device", ana.id)
        enterNow()
        await left
      })
      await entered
      const hold = step(moving, place, transferId, "HOLD")
      await untilWaiting(db, 1)
      // It does not wait for the write: only closed gates are opened.
      expect(await step(moving, place, transferId, "ABORT")).toMatchObject({ state: "OPEN" })
      leave()
      await writer
      expect(await hold).toMatchObject({ state: "OPEN", transferId: null })
      expect(await closedGates(db, place)).toBe(0)
      const sent = await store.conversations.append(newMessage(group, ana), signReceipt, nowMs + 9, [])
      expect(sent.is).toBe("appended")
    })

    test("that ended in the middle of an abort is repaired by another abort, and refuses writes until then", async () => {
      const { messaging: store, db } = opened
      const moving = createMoving(db, { isolationLevel, audit: testAuditLogDeps() })
      const place = tenantAt(newTenant())
      const full = await fillPlace(store, place)
      const transferId = random(16)
      await step(moving, place, transferId, "HOLD")
      await step(moving, place, transferId, "ABORT")
      await sql`update messaging_gate set is_open = false where tenant_id = ${place.tenantId}`.execute(db)
      for (const [name, { isWrite, run }] of attemptsOn(store, full)) {
        if (isWrite) await expect(run(), name).rejects.toMatchObject(held)
      }
      await step(moving, place, transferId, "ABORT")
      expect(await closedGates(db, place)).toBe(0)
    })

    test("completes writes in progress and refuses new ones, so the export is complete", async () => {
      const { messaging: store } = opened
      const moving = createMoving(opened.db, { isolationLevel, audit: testAuditLogDeps() })
      for (let round = 0; round < effort(1, 5, 50); round++) {
        const place = tenantAt(newTenant())
        const { ana, bea, group } = await fillPlace(store, place)
        let isOver = false
        let refused = 0
        const [wrote, wasRefused] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
        const writers = Array.from({ length: 8 }, async (_, i) => {
          while (!isOver) {
            const by = i % 2 === 0 ? ana : bea
            const work =
              i < 6
                ? store.conversations.append(newMessage(group, by), signReceipt, nowMs + 9, [])
                : store.attachments.create(newAttachment(group.id, by))
            await work.then(
              () => wrote.resolve(),
              (error: unknown) => {
                expect(error).toMatchObject({ reason: "PLACE_HELD" })
                // As many as there are writers.
                if (++refused === 8) wasRefused.resolve()
              },
            )
          }
        })
        await wrote.promise
        const transferId = random(16)
        await step(moving, place, transferId, "HOLD")
        const before = await exported(moving, place, transferId)
        await wasRefused.promise
        isOver = true
        await Promise.all(writers)
        expect(refused).toBeGreaterThan(0)
        expect(counted(await exported(moving, place, transferId))).toEqual(counted(before))
      }
    })
  })
})
