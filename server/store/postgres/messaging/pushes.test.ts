import type { DeviceId, SessionId } from "@signet/kernel/ids"
import { pushLimits } from "@signet/kernel/messaging/push"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testAuditLogDeps } from "../../../../test/support/audit-log-deps.ts"
import {
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
  type TestStore,
} from "../../../../test/support/postgres.ts"
import { run } from "../sql.ts"
import { freshId, putApp, putSession } from "../testing/people.ts"
import { createPushEndpoints } from "./pushes.ts"
import { newAudit, newDeviceId, nowMs, random } from "./testing/world.ts"

const endpointOf = (deviceId: DeviceId, sessionId: SessionId = freshId("ses")) => ({
  deviceId,
  sessionId,
  registrationId: random(16),
  kind: "WEB_PUSH" as const,
  url: `https://push.example/${deviceId}`,
})

const open = ({ db }: TestStore) => createPushEndpoints(db, { audit: testAuditLogDeps() })
const storedIn = async ({ db }: TestStore) =>
  (await run<{ device_id: DeviceId }>(db, "select device_id from push_endpoint", [])).map((row) => row.device_id)

describeOnEachStore("push endpoints", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
    await putApp(opened.store)
  })
  afterAll(() => opened.close())

  test("end with their session, and no other endpoint does", async () => {
    const endpoints = open(opened)
    const [one, other] = [newDeviceId(), newDeviceId()]
    const { session } = await putSession(opened.store)
    const { session: bystander } = await putSession(opened.store)
    await endpoints.set(endpointOf(one, session.id), nowMs, newAudit("push_endpoint.set"))
    await endpoints.set(endpointOf(other, bystander.id), nowMs, newAudit("push_endpoint.set"))
    await opened.store.transaction((tx) => tx.sessions.end(session.id, "REVOKED", "logout", nowMs))
    expect(await storedIn(opened)).toEqual([other])
  })

  test("are audited when the device sets or deletes one, without the URL", async () => {
    const endpoints = open(opened)
    const deviceId = newDeviceId()
    const [set, deleted, nothing] = [
      newAudit("push_endpoint.set"),
      newAudit("push_endpoint.deleted"),
      newAudit("push_endpoint.deleted"),
    ]
    await endpoints.set(endpointOf(deviceId), nowMs, set)
    await endpoints.delete(deviceId, deleted)
    await endpoints.delete(deviceId, nothing)
    const ids = [set, deleted, nothing].map(({ id }) => id)
    const events = await run<{ id: string }>(opened.db, "select * from audit_event where id = any($1::text[])", [ids])
    expect(events.map(({ id }) => id).toSorted()).toEqual([set.id, deleted.id].toSorted())
    expect(JSON.stringify(events)).not.toContain("push.example")
  })

  test("are all deleted once pushes are disabled", async () => {
    const endpoints = open(opened)
    for (const id of [newDeviceId(), newDeviceId()]) {
      await endpoints.set(endpointOf(id), nowMs, newAudit("push_endpoint.set"))
    }
    await endpoints.deleteAll()
    expect(await storedIn(opened)).toEqual([])
  })
})

describeOnPostgres("push endpoints that several appends schedule", () => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore("postgres")
  })
  afterAll(() => opened.close())

  describe("are locked in one order", () => {
    test.each(["the last stored is the first", "the first stored is the first"])("%s", async (order) => {
      const endpoints = open(opened)
      await endpoints.deleteAll()
      const [low = expect.fail(), high = expect.fail()] = [newDeviceId(), newDeviceId()].toSorted()
      const stored = order.startsWith("the last") ? [high, low] : [low, high]
      for (const id of stored) await endpoints.set(endpointOf(id), nowMs, newAudit("push_endpoint.set"))
      await opened.db.transaction().execute(async (trx) => {
        await run(trx, "select 1 from push_endpoint where device_id = $1 for update", [low])
        const scheduled = endpoints.schedule({ deviceIds: [high, low] }, nowMs, () => 0)
        await waiting(opened)
        // Free: the append waits for the first of its rows, and holds none.
        await run(trx, "select 1 from push_endpoint where device_id = $1 for update nowait", [high])
        return { scheduled }
      })
      await expect.poll(async () => (await endpoints.takeDue(nowMs + pushLimits.everyMs, 10)).length).toBe(2)
    })
  })
})

/** Resolves once a statement waits for a lock. */
async function waiting({ db }: TestStore): Promise<void> {
  const text = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
  await expect.poll(async () => (await run(db, text, [])).length).toBeGreaterThan(0)
}
