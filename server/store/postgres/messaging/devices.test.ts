import type { PrincipalId, SessionId } from "@signet/kernel/ids"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { freshId, putApp, putSession } from "../testing/people.ts"
import { changeOf, newAudit, newDevice, newList, nowMs, place, putUser, random } from "./testing/world.ts"

describeOnEachStore("messaging devices", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
    await putApp(opened.store)
  })
  afterAll(() => opened.close())
  const devices = () => opened.messaging.devices
  const session = (id: SessionId) => opened.store.transaction((tx) => tx.sessions.find(id))

  test("are read back as they were written, by id, by key, and with the newest list", async () => {
    const userId = freshId("prn")
    const first = newDevice(userId, { previousKey: { leafKey: random(), expiresAtMs: nowMs }, createdAtMs: nowMs })
    const second = newDevice(userId, { createdAtMs: nowMs + 1, status: "REVOKED", revokedAtMs: nowMs + 2 })
    expect(await devices().ofUser(userId, place)).toEqual({ devices: [], newest: undefined })
    await devices().change(changeOf(first))
    const list = newList(2n)
    await devices().change(changeOf(second, { list }))
    expect(await devices().find(first.id)).toEqual(first)
    expect(await devices().findByKey(second.leafKey)).toEqual(second)
    expect(await devices().findByKey(random())).toBeUndefined()
    expect(await devices().ofUser(userId, place)).toEqual({ devices: [second, first], newest: list })
    expect(await devices().activeOf([userId, freshId("prn")], place)).toEqual([first])
    expect(await devices().activeOf([userId], { ...place, tenantId: freshId("ten") })).toEqual([])
    expect(await devices().lists(userId, place, 1n, 10)).toEqual([list])
    expect((await devices().lists(userId, place, 0n, 10)).map(({ version }) => version)).toEqual([1n, 2n])
  })

  test("change only after the list before, and a change that lost leaves nothing", async () => {
    const { userId } = await putUser(opened.messaging, 2)
    const device = newDevice(userId)
    const audit = newAudit()
    for (const version of [1n, 2n, 4n]) {
      expect(await devices().change(changeOf(device, { list: newList(version), audit: [audit] }))).toBe("lost")
    }
    expect(await devices().find(device.id)).toBeUndefined()
    expect(await devices().change(changeOf(device, { list: newList(3n), audit: [audit] }))).toBe("done")
    expect(await devices().change(changeOf(device, { list: newList(3n) }))).toBe("lost")
  })

  test("keep a leaf key for good: also one that was given up is no other device's", async () => {
    const { userId, devices: put } = await putUser(opened.messaging)
    const device = put[0] ?? expect.fail()
    const renewed = { ...device, leafKey: random(), previousKey: { leafKey: device.leafKey, expiresAtMs: nowMs } }
    expect(await devices().change(changeOf(renewed, { list: newList(2n) }))).toBe("done")
    expect(await devices().findByKey(device.leafKey)).toEqual(renewed)
    const thief = newDevice(freshId("prn"), { leafKey: device.leafKey })
    expect(await devices().change(changeOf(thief))).toBe("lost")
    expect(await devices().ofUser(thief.userId, place)).toEqual({ devices: [], newest: undefined })
    expect(await devices().lists(thief.userId, place, 0n, 10)).toEqual([])
    expect(await devices().lists(userId, place, 1n, 10)).toHaveLength(1)
  })

  test("bind sessions; revoking one ends its sessions, but not the one that is bound now, and is an effect that is due", async () => {
    const [bound, now] = [await putSession(opened.store), await putSession(opened.store)]
    const userId: PrincipalId = bound.person.principal.id
    const [old, fresh] = [newDevice(userId), newDevice(userId)]
    await devices().change(changeOf(old, { bind: { sessionId: now.session.id, deviceId: old.id } }))
    const audit = newAudit("device.bound")
    // Twice with one event: nothing is done the second time, so nothing is appended.
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

  test("use a nonce once", async () => {
    const device = newDevice(freshId("prn"))
    const nonce = random(16)
    expect(await opened.messaging.proofNonces.use(device.id, nonce, nowMs)).toBe(true)
    expect(await opened.messaging.proofNonces.use(device.id, nonce, nowMs + 1)).toBe(false)
    expect(await opened.messaging.proofNonces.use(newDevice(device.userId).id, nonce, nowMs)).toBe(true)
  })
})
