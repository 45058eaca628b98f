import { newId } from "@signet/kernel/ids"
import type { KeyPackageRecord, MessagingDevice } from "@signet/kernel/messaging/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { run } from "../sql.ts"
import { freshId } from "../testing/people.ts"
import { sweepMessaging } from "./sweep.ts"
import { changeOf, newAudit, newDevice, newKeyPackage, nowMs, putUser, random } from "./testing/world.ts"

const day = 86_400_000
const [lifeDays, claimDays] = [5, 14]

describeOnEachStore("a sweep", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())
  const packages = () => opened.messaging.keyPackages
  const sweepAfter = (days: number) => sweepMessaging(opened.db, nowMs + days * day)
  const isKept = async ({ ref }: KeyPackageRecord) =>
    (await run(opened.db, "select 1 from key_package where ref = $1", [ref])).length > 0
  const device = async () => (await putUser(opened.messaging)).devices[0] ?? expect.fail()
  const expiring = (of: MessagingDevice) => newKeyPackage(of, { notAfterMs: nowMs + lifeDays * day })

  async function claimOf(target: MessagingDevice) {
    const requester = await device()
    const of = {
      id: newId("clm", nowMs, random(10)),
      requester: { deviceId: requester.id, userId: requester.userId },
      conversationId: newId("cnv", nowMs, random(10)),
      targets: { userIds: [], deviceIds: [target.id] },
      addable: [],
      place: { appId: target.appId, tenantId: target.tenantId },
      requestHash: random(),
    }
    return async () => {
      const outcome = await packages().claim(of, nowMs, newAudit("key_package.claimed"))
      return outcome.is === "claimed" ? outcome.claim.packages.map(({ ref }) => ref) : expect.fail(outcome.is)
    }
  }

  test("keeps an expired key package while a repeated claim may return it", async () => {
    const target = await device()
    const [claimed, unclaimed] = [expiring(target), expiring(target)]
    await packages().upload([claimed], nowMs)
    const claim = await claimOf(target)
    expect(await claim()).toEqual([claimed.ref])
    await packages().upload([unclaimed], nowMs)
    await sweepMessaging(opened.db, nowMs + lifeDays * day - 1)
    expect([await isKept(claimed), await isKept(unclaimed)]).toEqual([true, true])
    await sweepAfter(lifeDays)
    expect([await isKept(claimed), await isKept(unclaimed)]).toEqual([true, false])
    await sweepMessaging(opened.db, nowMs + claimDays * day - 1)
    expect(await claim()).toEqual([claimed.ref])
    await sweepAfter(claimDays)
    expect(await isKept(claimed)).toBe(false)
    expect(await claim()).toEqual([])
  })

  test("keeps expired key packages only at a place that is being moved", async () => {
    const at = { tenantId: freshId("ten") }
    const [moved, beside] = [newDevice(freshId("prn"), at), await device()]
    expect(await opened.messaging.devices.change(changeOf(moved))).toBe("done")
    const [kept, gone] = [expiring(moved), expiring(beside)]
    await packages().upload([kept], nowMs)
    await packages().upload([gone], nowMs)
    const text = "insert into messaging_place (app_id, tenant_id, state) values ($1, $2, 'HELD')"
    await run(opened.db, text, [moved.appId, at.tenantId])
    await sweepAfter(lifeDays)
    expect([await isKept(kept), await isKept(gone)]).toEqual([true, false])
  })
})
