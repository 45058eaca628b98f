// Tests of devices and nonces for every messaging store.
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import { expect, test } from "vitest"
import {
  changeOf,
  newAudit,
  newDevice,
  newList,
  nowMs,
  place,
  putUser,
  random,
} from "../../../server/store/postgres/messaging/testing/world.ts"
import { freshId } from "../../../server/store/postgres/testing/people.ts"

export function deviceSuite(store: () => MessagingStore): void {
  const devices = () => store().devices

  test("are read as they were written, by id and by key, with the newest list", async () => {
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

  test("belong to one place: the same user has other devices and another list in a tenant or another app", async () => {
    const userId = freshId("prn")
    const places = [place, { ...place, tenantId: freshId("ten") }, { ...place, appId: freshId("app") }]
    const put = places.map((at, i) => newDevice(userId, { ...at, createdAtMs: nowMs + i }))
    const lists = places.map(() => newList(1n))
    for (const [i, device] of put.entries()) {
      expect(await devices().change(changeOf(device, { list: lists[i] ?? newList(1n) }))).toBe("done")
    }
    for (const [i, at] of places.entries()) {
      expect(await devices().ofUser(userId, at)).toEqual({ devices: [put[i]], newest: lists[i] })
      expect(await devices().activeOf([userId], at)).toEqual([put[i]])
      expect(await devices().lists(userId, at, 0n, 10)).toEqual([lists[i]])
    }
    const [first] = put
    // Lists of different places are independent.
    const renewed = { ...(first ?? expect.fail()), changedAtMs: nowMs + 9 }
    expect(await devices().change(changeOf(renewed, { list: newList(2n) }))).toBe("done")
    const [, second] = put
    expect(await devices().change(changeOf(second ?? expect.fail(), { list: newList(3n) }))).toBe("lost")
    expect(await devices().lists(userId, places[1] ?? place, 0n, 10)).toHaveLength(1)
  })

  test("change only with the next list version, and a change that lost writes nothing", async () => {
    const { userId } = await putUser(store(), 2)
    const device = newDevice(userId)
    const audit = newAudit()
    for (const version of [1n, 2n, 4n]) {
      expect(await devices().change(changeOf(device, { list: newList(version), audit: [audit] }))).toBe("lost")
    }
    expect(await devices().find(device.id)).toBeUndefined()
    expect(await devices().change(changeOf(device, { list: newList(3n), audit: [audit] }))).toBe("done")
    expect(await devices().change(changeOf(device, { list: newList(3n) }))).toBe("lost")
  })

  test("keep a leaf key permanently: no other device can use a former one", async () => {
    const { userId, devices: put } = await putUser(store())
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

  test("accept a nonce once", async () => {
    const device = newDevice(freshId("prn"))
    const nonce = random(16)
    expect(await store().proofNonces.use(device.id, nonce, nowMs)).toBe(true)
    expect(await store().proofNonces.use(device.id, nonce, nowMs + 1)).toBe(false)
    expect(await store().proofNonces.use(newDevice(device.userId).id, nonce, nowMs)).toBe(true)
  })
}
