import type { PrincipalId, SessionId } from "@signet/kernel/ids"
import { afterAll, beforeAll, expect, test } from "vitest"
import { deviceSuite } from "../../../../test/support/messaging-store/devices.ts"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { putApp, putSession } from "../testing/people.ts"
import { changeOf, newAudit, newDevice, newList, nowMs } from "./testing/world.ts"

describeOnEachStore("messaging devices", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
    await putApp(opened.store)
  })
  afterAll(() => opened.close())
  const devices = () => opened.messaging.devices
  const session = (id: SessionId) => opened.store.transaction((tx) => tx.sessions.find(id))

  deviceSuite(() => opened.messaging)

  test("bind sessions; revoking one ends its sessions except the one bound now, and its effects are due", async () => {
    const [bound, now] = [await putSession(opened.store), await putSession(opened.store)]
    const userId: PrincipalId = bound.person.principal.id
    const [old, fresh] = [newDevice(userId), newDevice(userId)]
    await devices().change(changeOf(old, { bind: { sessionId: now.session.id, deviceId: old.id } }))
    const audit = newAudit("device.bound")
    // Twice with one event: the second call changes nothing, so it appends nothing.
    await devices().bindSession(bound.session.id, old.id, audit)
    await devices().bindSession(bound.session.id, old.id, audit)
    expect(await session(bound.session.id)).toMatchObject({ boundDeviceId: old.id, status: "ACTIVE" })
    const revoked = { ...old, status: "REVOKED" as const, revokedAtMs: nowMs }
    await devices().change(
      changeOf(fresh, {
        list: newList(2n),
        devices: [revoked, fresh],
        bind: { sessionId: now.session.id, deviceId: fresh.id },
        revoked: [old.id],
      }),
    )
    expect(await session(bound.session.id)).toMatchObject({ status: "REVOKED", revokeReason: "device_revoked" })
    expect(await session(now.session.id)).toMatchObject({ status: "ACTIVE", boundDeviceId: fresh.id })
    expect(await devices().dueEffects(1_000)).toContainEqual({ deviceId: old.id, userId })
    await devices().effectsDone(old.id)
    await devices().effectsDone(old.id)
    expect(await devices().dueEffects(1_000)).not.toContainEqual({ deviceId: old.id, userId })
  })
})
