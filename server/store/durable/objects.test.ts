// The objects on the real runtime: the suite of every store, and tests of the objects themselves.
import { newId } from "@signet/kernel/ids"
import { hex } from "@signet/kernel/messaging/bytes"
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import { nowMs, place } from "@signet/kernel/messaging/testing/records"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import { archiveSuite } from "../../../test/support/messaging-store/archives.ts"
import { blockSuite } from "../../../test/support/messaging-store/blocks.ts"
import { deviceSuite } from "../../../test/support/messaging-store/devices.ts"
import {
  changeOf,
  newAudit,
  newDevice,
  newKeyPackage,
  newList,
  putUser,
  random,
} from "../postgres/messaging/testing/world.ts"
import { freshId } from "../postgres/testing/people.ts"
import { keyName, placeName, userName } from "./names.ts"
import type { Entry } from "./outbox.ts"
import { createDurableStore } from "./store.ts"
import { type StartedObjects, startObjects } from "./testing/start.ts"

const probeSteps = ["create table kept (text text not null)"]
let objects: StartedObjects
let store: MessagingStore

beforeAll(async () => {
  objects = await startObjects(probeSteps)
  store = createDurableStore(objects.env)
})
afterAll(() => objects?.close())

const device = async () => (await putUser(store)).devices[0] ?? expect.fail()
const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const reset = () => objects.world({ faults: 0, gone: [], passedMs: 0 })
const until = async (isDone: () => Promise<boolean>) => {
  while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, 50))
}

describe("devices in objects", () => deviceSuite(() => store))
describe("archives in objects", () => archiveSuite(() => store))
describe("blocked users in objects", () => blockSuite(() => store))

describe("an object", () => {
  const probe = (name = freshId("dev")) => objects.env.PROBES.getByName(name)
  const entry = (lane: string, body: unknown): Entry => ({ lane, kind: "told", body })
  const delivered = async (lane: string) => (await objects.world()).delivered.filter((each) => each.lane === lane)

  test("without a write creates no table, whatever is called", async () => {
    const id = newDevice(freshId("prn")).id
    expect(await store.devices.find(id)).toBeUndefined()
    expect(await store.devices.ofUser(freshId("prn"), place)).toEqual({ devices: [], newest: undefined })
    expect(await store.devices.findByKey(random())).toBeUndefined()
    expect(await objects.env.DEVICES.getByName(id).blank()).toBe(true)
  })

  test("delivers its entries in the order of each lane, and none that were rolled back", async () => {
    const [one, other, name] = [freshId("dev"), freshId("dev"), freshId("dev")]
    expect(await probe(name).fail(entry(one, 0))).toBe("failed")
    const entries = times(6, (i) => entry(i % 2 === 0 ? one : other, { i: BigInt(i), bytes: new Uint8Array([i]) }))
    await probe(name).send(entries, true)
    expect(await delivered(one)).toMatchObject([0n, 2n, 4n].map((i) => ({ body: { i } })))
    expect(await delivered(other)).toMatchObject([1, 3, 5].map((i) => ({ body: { bytes: new Uint8Array([i]) } })))
    expect(await probe(name).rowsOf("select * from outbox")).toEqual([])
  })

  test.runIf(isLong)("delivers failed entries by its alarm, in order, also after it lost its memory", async () => {
    const [lane, other, name, lost] = [freshId("dev"), freshId("dev"), freshId("dev"), freshId("dev")]
    await objects.world({ faults: 2 })
    await probe(name).send([entry(lane, 1), entry(lane, 2)], true)
    await probe(lost).send([entry(other, 3)], true)
    expect([...(await delivered(lane)), ...(await delivered(other))]).toEqual([])
    await expect(probe(lost).crash()).rejects.toMatchObject({ durableObjectReset: true })
    await until(async () => (await delivered(lane)).length === 2 && (await delivered(other)).length > 0)
    expect((await delivered(lane)).map(({ body }) => body)).toEqual([1, 2])
  })

  test("drops an entry that is rejected permanently, and delivers the later ones", async () => {
    const [lane, name] = [freshId("dev"), freshId("dev")]
    await objects.world({ permanentlyRefused: [lane] })
    await probe(name).send([entry(lane, "poison"), entry(lane, "more of it")], true)
    expect(await probe(name).rowsOf("select * from outbox")).toEqual([])
    await objects.world({ permanentlyRefused: [] })
    await probe(name).send([entry(lane, "behind it")], true)
    expect((await delivered(lane)).map(({ body }) => body)).toEqual(["behind it"])
  })

  test.runIf(isLong)("keeps an entry that is rejected temporarily, and delivers it later", async () => {
    const [lane, name] = [freshId("dev"), freshId("dev")]
    await objects.world({ refused: [lane] })
    await probe(name).send([entry(lane, "first")], true)
    for (let i = 1; i <= 30; i++) {
      await objects.world({ passedMs: i * 301_000 })
      await probe(name).wake()
    }
    expect(await probe(name).rowsOf("select tries from outbox")).toEqual([{ tries: 31 }])
    await objects.world({ refused: [], passedMs: 31 * 301_000 })
    await probe(name).wake()
    expect((await delivered(lane)).map(({ body }) => body)).toEqual(["first"])
    await reset()
  })

  test("is not erased before its entries are delivered, once each", async () => {
    const [lane, name] = [freshId("dev"), freshId("dev")]
    await objects.world({ refused: [lane] })
    await probe(name).send([entry(lane, "kept")], true)
    await probe(name).setPlace({ place, transferId: random(16), state: "MOVED" })
    expect(await probe(name).eraseAll(place)).toBe(false)
    expect(await probe(name).rowsOf("select lane from outbox")).toEqual([{ lane }])
    await objects.world({ refused: [] })
    expect(await probe(name).eraseAll(place)).toBe(true)
    expect((await delivered(lane)).map(({ body }) => body)).toEqual(["kept"])
    expect(await probe(name).blank()).toBe(true)
  })

  test.runIf(isLong)("migrates when it wakes, and refuses older code", async () => {
    const name = freshId("dev")
    await probe(name).rowsOf("insert into kept (text) values ('old')")
    const kept = await device()
    await store.keyPackages.upload([newKeyPackage(kept)], nowMs)
    await objects.restart({
      probeSteps: [...probeSteps, "alter table kept add column more text not null default 'new'"],
    })
    expect(await probe(name).rowsOf("select * from kept")).toEqual([{ text: "old", more: "new" }])
    // A restart keeps the data.
    expect(await createDurableStore(objects.env).devices.find(kept.id)).toEqual(kept)
    expect(await store.keyPackages.inventory(kept.id, nowMs)).toMatchObject({ available: 1 })
    await objects.restart()
    await expect(probe(name).rowsOf("select * from kept")).rejects.toThrow("newer than this code")
  })
})

describe("a device's key", () => {
  test("of an abandoned change is free, and the late change is rejected", async () => {
    const [late, soon] = [newDevice(freshId("prn")), newDevice(freshId("prn"))]
    const at = userName(late.userId, place)
    const { leafKey } = late
    // As left by a Worker that ended between its calls.
    await objects.env.DEVICES.getByName(late.id).belong(at)
    await objects.env.NAMES.getByName(keyName(leafKey)).take({ owner: late.id, at })
    expect(await store.devices.findByKey(leafKey)).toBeUndefined()
    const taken = { ...soon, leafKey }
    expect(await store.devices.change(changeOf(taken))).toBe("done")
    expect(await objects.env.USERS.getByName(at).change(changeOf(late), true)).toEqual({ is: "lost" })
    expect(await store.devices.change(changeOf(late))).toBe("lost")
    expect(await store.devices.findByKey(leafKey)).toEqual(taken)
    expect(await store.devices.find(late.id)).toBeUndefined()
  })

  test("stays with its user: a device never changes its user", async () => {
    const one = await device()
    const stranger = { ...one, userId: freshId("prn"), leafKey: random() }
    expect(await store.devices.change(changeOf(stranger))).toBe("lost")
    expect(await store.devices.find(one.id)).toEqual(one)
  })
})

test("only its owner releases a name or passes it on", async () => {
  const name = objects.env.NAMES.getByName(keyName(random()))
  const of = (owner: string) => ({ owner, at: "" })
  await name.take(of("owner"))
  expect(await name.take(of("stranger"))).toMatchObject({ owner: "owner" })
  await name.release("stranger")
  expect(await name.replace("stranger", of("heir"))).toMatchObject({ owner: "owner" })
  expect(await name.replace("owner", of("heir"))).toMatchObject({ owner: "heir" })
  await name.release("heir")
  expect(await name.holder()).toBeUndefined()
})

describe("a user", () => {
  const user = ({ userId }: MessagingDevice) => objects.env.USERS.getByName(userName(userId, place))
  const revoke = async (one: MessagingDevice) => {
    const revoked: MessagingDevice = { ...one, status: "REVOKED", revokedAtMs: nowMs }
    expect(await store.devices.change(changeOf(revoked, { list: newList(2n), revoked: [one.id] }))).toBe("done")
    return revoked
  }

  test("binds sessions before the answer, and delivers earlier failures first", async () => {
    const [one, sessionId] = [newDevice(freshId("prn")), newId("ses", nowMs, random(10))]
    const bind = { sessionId, deviceId: one.id }
    await objects.world({ faults: 1 })
    const audit = newAudit()
    const list = newList(1n)
    await store.devices.change(changeOf(one, { bind, list, audit: [audit] }))
    const told = async () =>
      (await objects.world()).sessions.filter((each) => each.bind?.sessionId === sessionId).map(({ list }) => hex(list))
    expect(await told()).toEqual([])
    // A retried call does not wait for the alarm.
    await store.devices.bindSession(sessionId, one.id, newAudit("device.bound"))
    expect(await told()).toEqual([hex(list.bytes), hex(list.bytes)])
    expect((await objects.world()).sessions.at(-2)).toEqual({ list: list.bytes, bind, revoked: [], nowMs })
    await until(async () => (await objects.world()).audit.some(({ id }) => id === audit.id))
  })

  test("reports no session of a revoked device, which would be rejected permanently", async () => {
    const one = await device()
    await revoke(one)
    const sessionId = newId("ses", nowMs, random(10))
    const audit = newAudit("device.bound")
    await store.devices.bindSession(sessionId, one.id, audit)
    expect((await objects.world()).sessions.filter((each) => each.bind?.sessionId === sessionId)).toEqual([])
    expect(await user(one).rowsOf("select * from outbox where kind = 'sessions'")).toEqual([])
    // Nothing was bound, so the audit has no event. A later event of the same lane is delivered by then.
    const later = newAudit("device.bound")
    await store.devices.change(changeOf(newDevice(one.userId), { list: newList(3n), audit: [later] }))
    await until(async () => (await objects.world()).audit.some(({ id }) => id === later.id))
    expect((await objects.world()).audit.map(({ id }) => id)).not.toContain(audit.id)
  })

  test.runIf(isLong)(
    "reports pending changes with its newest list, and binds nothing to a device revoked meanwhile",
    async () => {
      const one = newDevice(freshId("prn"))
      const bind = { sessionId: newId("ses", nowMs, random(10)), deviceId: one.id }
      await objects.world({ faults: 2 })
      await store.devices.change(changeOf(one, { bind }))
      const revoked: MessagingDevice = { ...one, status: "REVOKED", revokedAtMs: nowMs }
      const list = newList(2n)
      expect(await store.devices.change(changeOf(revoked, { list, revoked: [one.id] }))).toBe("done")
      await objects.world({ faults: 0 })
      await objects.env.USERS.getByName(userName(one.userId, place)).wake()
      const said = async () => (await objects.world()).sessions.filter((each) => each.revoked.includes(one.id))
      await until(async () => (await said()).length > 0)
      expect((await objects.world()).sessions.filter((each) => each.bind?.sessionId === bind.sessionId)).toEqual([])
      expect(await said()).toEqual([{ list: list.bytes, bind: null, revoked: [one.id], nowMs }])
    },
  )

  test("applies the effects of revocations by its alarm until they are done", async () => {
    const one = await device()
    expect(await store.devices.find(one.id)).toEqual(one)
    const revoked = await revoke(one)
    // At once, whatever this process remembers.
    expect(await store.devices.find(one.id)).toEqual(revoked)
    const carried = async () => (await objects.world()).carriedOut.filter(({ deviceId }) => deviceId === one.id)
    await user(one).wake()
    expect(await carried()).toEqual([])
    await objects.world({ passedMs: 6_000 })
    await user(one).wake()
    expect(await carried()).toEqual([{ deviceId: one.id, userId: one.userId }])
    await objects.world({ passedMs: 12_000 })
    await user(one).wake()
    await store.devices.effectsDone(one.id)
    await objects.world({ passedMs: 18_000 })
    await user(one).wake()
    expect(await carried()).toHaveLength(2)
    await reset()
  })

  test("applies the effects of one revocation after another", async () => {
    const [one, other] = (await putUser(store, 2)).devices
    if (one === undefined || other === undefined) return expect.fail("no devices")
    const devices = [one, other].map((each): MessagingDevice => ({ ...each, status: "REVOKED", revokedAtMs: nowMs }))
    const change = changeOf(one, { devices, list: newList(3n), revoked: [one.id, other.id] })
    expect(await store.devices.change(change)).toBe("done")
    await store.devices.effectsDone(one.id)
    await objects.world({ passedMs: 6_000 })
    await user(one).wake()
    const carried = (await objects.world()).carriedOut.filter(({ userId }) => userId === one.userId)
    expect(carried).toEqual([{ deviceId: other.id, userId: one.userId }])
    await reset()
  })

  test("is in the index of its place", async () => {
    const before = newId("prn", Date.now(), new Uint8Array(10))
    const { userId } = await device()
    const users = () => objects.env.PLACES.getByName(placeName(place)).users({ after: before, size: 1 })
    await until(async () => (await users()).includes(userId))
  })

  test("is checked by its place after the loss of all devices, until its archives are erased", async () => {
    const at = { ...place, tenantId: freshId("ten") }
    const one = newDevice(freshId("prn"), { tenantId: at.tenantId })
    await store.devices.change(changeOf(one))
    const of = { userId: one.userId, place: at }
    const backup = { id: hex(random(16)), deviceId: one.id }
    const created = { ...backup, is: "create", kind: "BACKUP", header: "aa" } as const
    await store.archives.change({ ...of, change: created }, nowMs, null)
    const revoked: MessagingDevice = { ...one, status: "REVOKED", revokedAtMs: nowMs }
    await store.devices.change(changeOf(revoked, { list: newList(2n), revoked: [one.id] }))
    const object = objects.env.PLACES.getByName(placeName(at))
    const asked = () => object.rowsOf("select id from user where has_devices = 1")
    await until(async () => (await asked()).length === 1)
    await objects.world({ gone: [one.userId], passedMs: 301_000 })
    await object.wake()
    const ended = (await objects.world()).ended.filter((each) => each.place.tenantId === at.tenantId)
    expect(ended).toEqual([of])
    await store.archives.change({ ...of, change: { ...backup, is: "delete" } }, nowMs, null)
    await store.archives.forget(of, backup.id, nowMs)
    await until(async () => (await asked()).length === 0)
    await reset()
  })

  test("loses all devices after a removal: the place checks every user with devices", async () => {
    const at = { ...place, tenantId: freshId("ten") }
    const newcomer = async () => {
      const one = newDevice(freshId("prn"), { tenantId: at.tenantId })
      await store.devices.change(changeOf(one))
      return one
    }
    const [gone, stays, without] = [await newcomer(), await newcomer(), await newcomer()]
    const revoked: MessagingDevice = { ...without, status: "REVOKED", revokedAtMs: nowMs }
    await store.devices.change(changeOf(revoked, { list: newList(2n), revoked: [without.id] }))
    const object = objects.env.PLACES.getByName(placeName(at))
    const asked = () => object.rowsOf("select id from user where has_devices = 1")
    await until(async () => (await asked()).length === 2)
    // An outdated notice changes nothing.
    await object.tellUser({ userId: without.userId, place: at, version: 1n, hasDevices: true })
    expect(await asked()).toHaveLength(2)
    await objects.world({ gone: [gone.userId, without.userId], passedMs: 301_000 })
    await object.wake()
    const ended = async () => (await objects.world()).ended.filter((each) => each.place.tenantId === at.tenantId)
    expect(await ended()).toEqual([{ userId: gone.userId, place: at }])
    await object.wake()
    expect(await ended()).toHaveLength(1)
    for (const one of [gone, stays]) {
      await store.devices.change(changeOf({ ...one, status: "REVOKED" }, { list: newList(2n), revoked: [one.id] }))
    }
    await until(async () => (await asked()).length === 0)
    await objects.world({ passedMs: 602_000 })
    await object.wake()
    expect(await object.rowsOf("select at from look")).toEqual([{ at: null }])
    await reset()
  })
})
