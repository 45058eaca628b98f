// The data of a device's object on the real runtime: key packages, claims and welcomes.
import { idOf, newId } from "@signet/kernel/ids"
import { hex } from "@signet/kernel/messaging/bytes"
import { chooseKeyPackage } from "@signet/kernel/messaging/key-package"
import { lifetimeMs } from "@signet/kernel/messaging/limits"
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import { pushLimits } from "@signet/kernel/messaging/push"
import type { KeyPackageRecord, MessagingDevice, WelcomeRecord } from "@signet/kernel/messaging/records"
import { nowMs, place } from "@signet/kernel/messaging/testing/records"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import { keyPackageSuite } from "../../../test/support/messaging-store/key-packages.ts"
import { claimRaceSuite } from "../../../test/support/messaging-store/races.ts"
import {
  leavesOf,
  newAudit,
  newCommit,
  newKeyPackage,
  putGroup,
  putUser,
  random,
  signReceipt,
} from "../postgres/messaging/testing/world.ts"
import type { DeviceNotice } from "./conversation/notices.ts"
import type { DurableEnv } from "./env.ts"
import { durablePushes } from "./pushes.ts"
import { createDurableStore } from "./store.ts"
import { type StartedObjects, startObjects } from "./testing/start.ts"

const day = 86_400_000
let objects: StartedObjects
let store: MessagingStore
type WelcomePage = Parameters<MessagingStore["welcomes"]["listPending"]>[2]

beforeAll(async () => {
  objects = await startObjects()
  store = createDurableStore(objects.env)
})
afterAll(() => objects?.close())

const there = <T>(value: T | null | undefined): T => value ?? expect.fail("nothing is there")
const device = async () => there((await putUser(store)).devices[0])
/** Devices of one user, who may have others. */
async function devicesOf(
  count: number,
): Promise<[first: MessagingDevice, second: MessagingDevice, ...others: MessagingDevice[]]> {
  const [first, second, ...others] = (await putUser(store, count)).devices
  return [there(first), there(second), ...others]
}
const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const reset = () => objects.world({ faults: 0, gone: [], passedMs: 0 })
const until = async (isDone: () => Promise<boolean>) => {
  while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, 50))
}

describe("key packages in objects", () => keyPackageSuite(() => store))
describe("claims in objects, at once", () => claimRaceSuite(() => store))

describe("a claim", () => {
  test.runIf(isLong)("takes the packages that the kernel would choose, until none is left", async () => {
    const [requester, target] = await devicesOf(2)
    const pool = times(16, (i) =>
      newKeyPackage(target, {
        isLastResort: i === 0,
        notBeforeMs: nowMs + ([-day, 0, 1][i % 3] ?? 0),
        notAfterMs: nowMs + ([3 * day, day, day + 1, 2 * day, 3 * day][i % 5] ?? 0),
      }),
    )
    await store.keyPackages.upload(pool, nowMs)
    for (const _ of pool) {
      const claimId = newId("clm", nowMs, random(10))
      const { taken } = await objects.env.DEVICES.getByName(target.id).take(
        { claimId, requesterDeviceId: requester.id },
        nowMs,
      )
      const chosen = chooseKeyPackage(pool, nowMs)
      expect(taken?.notAfterMs).toBe(chosen?.notAfterMs)
      expect(taken?.isLastResort).toBe(chosen?.isLastResort)
      // Packages with the same expiry are interchangeable.
      const i = pool.findIndex(({ ref }) => hex(ref) === hex(taken?.ref ?? new Uint8Array()))
      if (taken?.isLastResort === false) pool[i] = { ...there(pool[i]), status: "CLAIMED" }
    }
    expect(pool.filter(({ status }) => status === "CLAIMED").length).toBe(pool.filter((one) => isOfUse(one)).length)
  })

  const isOfUse = (one: KeyPackageRecord) =>
    !one.isLastResort && one.notBeforeMs <= nowMs && one.notAfterMs > nowMs + lifetimeMs.keyPackageReserve

  test.runIf(isLong)("that was interrupted at any step is finished by the retry, with the same packages", async () => {
    const [requester, ...targets] = await devicesOf(4)
    for (const one of targets)
      await store.keyPackages.upload(
        times(2, () => newKeyPackage(one)),
        nowMs,
      )
    const calls = 1 + targets.length + 1
    const given = new Set()
    for (const stopAt of times(calls, (i) => i)) {
      const of = {
        id: newId("clm", nowMs, random(10)),
        requester: { deviceId: requester.id, userId: requester.userId },
        conversationId: newId("cnv", nowMs, random(10)),
        targets: { userIds: [], deviceIds: targets.slice(1).map(({ id }) => id) },
        addable: [],
        place,
        requestHash: random(),
      }
      for (const one of targets) await store.keyPackages.upload([newKeyPackage(one)], nowMs)
      const before = await Promise.all(targets.map(({ id }) => store.keyPackages.inventory(id, nowMs)))
      const stopped = createDurableStore(stoppingAfter(stopAt))
      const audits = times(3, () => newAudit("key_package.claimed"))
      await stopped.keyPackages.claim(of, nowMs, there(audits[0])).catch(() => undefined)
      // By now the retry targets one more device, but a claim keeps its first targets.
      const again = {
        ...of,
        targets: { userIds: [], deviceIds: targets.slice(stopAt === 0 ? 1 : 0).map(({ id }) => id) },
      }
      const claimed = async (attempt: 1 | 2) => {
        const outcome = await store.keyPackages.claim(again, nowMs, there(audits[attempt]))
        return outcome.is === "claimed" ? outcome.claim : expect.fail(outcome.is)
      }
      const first = await claimed(1)
      expect(first.packages.map(({ deviceId }) => deviceId)).toEqual(
        targets
          .slice(1)
          .map(({ id }) => id)
          .toSorted(),
      )
      expect(await claimed(2)).toEqual(first)
      // Whichever call finished the claim, it is in the audit once.
      const ids = audits.map(({ id }) => id)
      const audited = async () => (await objects.world()).audit.filter(({ id }) => ids.includes(id))
      await expect.poll(audited).toHaveLength(1)
      // The taken packages equal the returned ones, and no other claim gets them.
      for (const { ref } of first.packages) given.add(hex(ref))
      expect(given.size).toBe((stopAt + 1) * (targets.length - 1))
      const after = await Promise.all(targets.map(({ id }) => store.keyPackages.inventory(id, nowMs)))
      expect(after.map(({ available }, i) => there(before[i]).available - available)).toEqual([0, 1, 1])
    }
  })

  /**
   * An environment in which the Worker ends after this many writing calls of a claim; the last one succeeds without an
   * answer.
   */
  function stoppingAfter(count: number): DurableEnv {
    let left = count
    const writing: readonly (string | symbol)[] = ["beginClaim", "take", "finishClaim"]
    const DEVICES = {
      getByName: (name: string) =>
        new Proxy(objects.env.DEVICES.getByName(name), {
          get:
            (stub, method) =>
            async (...args: unknown[]) => {
              const call = (): unknown => Reflect.apply(Reflect.get(stub, method), stub, args)
              if (!writing.includes(method)) return call()
              if (left === 0) throw new Error("stopped")
              left--
              const answer = await call()
              if (left === 0) throw new Error("stopped")
              return answer
            },
        }),
    }
    return { ...objects.env, DEVICES }
  }

  test("sets the alarm for its expiry, and for every earlier one", async () => {
    const one = await device()
    const alarmAt = () => objects.env.DEVICES.getByName(one.id).alarmAt()
    const slackMs = 600_000
    const near = async (endMs: number) => Math.abs(there(await alarmAt()) - endMs - slackMs) < 60_000
    await store.keyPackages.upload([newKeyPackage(one, { notAfterMs: nowMs + 20 * day })], nowMs)
    expect(await near(nowMs + 20 * day)).toBe(true)
    await store.proofNonces.use(one.id, random(16), nowMs + 2 * day)
    expect(await near(nowMs + 2 * day)).toBe(true)
    await store.proofNonces.use(one.id, random(16), nowMs + 3 * day)
    expect(await near(nowMs + 2 * day)).toBe(true)
  })

  test.runIf(isLong)("expires with its packages, while init keys are permanent", async () => {
    const [requester, target] = await devicesOf(2)
    const [one, other] = [newKeyPackage(target), newKeyPackage(target)]
    await store.keyPackages.upload([one, other], nowMs)
    const of = {
      id: newId("clm", nowMs, random(10)),
      requester: { deviceId: requester.id, userId: requester.userId },
      conversationId: newId("cnv", nowMs, random(10)),
      targets: { userIds: [], deviceIds: [target.id] },
      addable: [],
      place,
      requestHash: random(),
    }
    await store.keyPackages.claim(of, nowMs, newAudit())
    await store.proofNonces.use(target.id, random(16), nowMs + 60_000)
    const stored = (one: MessagingDevice, table: string) =>
      objects.env.DEVICES.getByName(one.id).rowsOf(`select 1 from ${table}`)
    const wake = (one: MessagingDevice) => objects.env.DEVICES.getByName(one.id).wake()
    await objects.world({ passedMs: 15 * day })
    await Promise.all([wake(requester), wake(target)])
    for (const table of ["claim", "claim_package"]) expect(await stored(requester, table)).toEqual([])
    for (const table of ["taken", "nonce"]) expect(await stored(target, table)).toEqual([])
    await objects.world({ passedMs: 40 * day })
    await wake(target)
    expect(await stored(target, "key_package")).toEqual([])
    expect(await stored(target, "init_key")).toHaveLength(2)
    await reset()
    const again = newKeyPackage(target, { initKey: one.initKey })
    expect(await store.keyPackages.upload([again], nowMs)).toEqual({ is: "duplicate" })
  })
})

describe("the alarm of a device", () => {
  test("keeps unexpired nonces, packages, claims and taken packages", async () => {
    const [requester, target] = await devicesOf(2)
    const DEVICES = objects.env.DEVICES
    const late = { notAfterMs: nowMs + 80 * day }
    await store.keyPackages.upload([newKeyPackage(target, late), newKeyPackage(target, late)], nowMs)
    const claim = (atMs: number) => {
      const of = {
        id: newId("clm", nowMs, random(10)),
        requester: { deviceId: requester.id, userId: requester.userId },
        conversationId: newId("cnv", nowMs, random(10)),
        targets: { userIds: [], deviceIds: [target.id] },
        addable: [],
        place,
        requestHash: random(),
      }
      return store.keyPackages.claim(of, atMs, newAudit())
    }
    await claim(nowMs)
    await claim(nowMs + 10 * day)
    const [ended, kept] = [random(16), random(16)]
    await store.proofNonces.use(target.id, ended, nowMs + day)
    await store.proofNonces.use(target.id, kept, nowMs + 60 * day)
    await objects.world({ passedMs: 15 * day })
    await Promise.all([requester, target].map(({ id }) => DEVICES.getByName(id).wake()))
    const stored = async (one: MessagingDevice, table: string) =>
      (await DEVICES.getByName(one.id).rowsOf(`select 1 from ${table}`)).length
    expect([await stored(requester, "claim"), await stored(requester, "claim_package")]).toEqual([1, 1])
    expect([await stored(target, "taken"), await stored(target, "key_package")]).toEqual([1, 2])
    expect(await store.proofNonces.use(target.id, kept, nowMs + 60 * day)).toBe(false)
    expect(await store.proofNonces.use(target.id, ended, nowMs + 60 * day)).toBe(true)
    await reset()
  })
})

describe("a key of an attachment", () => {
  test("is freed by the attachment that it names, and by no other", async () => {
    const object = objects.env.DEVICES.getByName((await device()).id)
    const [key, beside] = [random(16), random(16)]
    const [first, second] = [idOf("att", random(16)), idOf("att", random(16))]
    await object.takeAttachmentKey(key, first)
    await object.takeAttachmentKey(beside, first)
    await object.freeAttachmentKey(key, second)
    expect(await object.takeAttachmentKey(key, second)).toBe(first)
    await object.freeAttachmentKey(key, first)
    expect(await object.takeAttachmentKey(key, second)).toBe(second)
    expect(await object.takeAttachmentKey(beside, second)).toBe(first)
  })
})

describe("a welcome", () => {
  const welcomeOf = (one: MessagingDevice, change: Partial<WelcomeRecord> = {}): WelcomeRecord => ({
    id: newId("wel", nowMs, random(10)),
    deviceId: one.id,
    conversationId: newId("cnv", nowMs, random(10)),
    mlsGroupId: random(),
    conversationKind: "GROUP",
    epoch: 1n,
    commitSeq: 5n,
    keyPackageRef: random(),
    welcome: random(100),
    treeHash: random(),
    receipt: random(50),
    proof: random(50),
    adderDeviceId: one.id,
    status: "PENDING",
    consumedWithKey: null,
    createdAtMs: nowMs,
    expiresAtMs: nowMs + day,
    ...change,
  })
  const notice = ({ conversationId }: WelcomeRecord, change: Partial<DeviceNotice> = {}): DeviceNotice => ({
    conversationId,
    createdAtMs: nowMs,
    revision: 1,
    isMember: true,
    isClosed: false,
    voidBeforeSeq: null,
    ...change,
  })
  const tell = (welcome: WelcomeRecord, change: Partial<DeviceNotice> = {}, sent?: WelcomeRecord) =>
    objects.env.DEVICES.getByName(welcome.deviceId).applyNotice(notice(welcome, change), sent)
  const put = (welcome: WelcomeRecord) => tell(welcome, {}, welcome)
  const list = (one: MessagingDevice, change: Partial<WelcomePage> = {}) =>
    store.welcomes.listPending(one.id, nowMs, { size: 10, maxBytes: 1_000_000, after: null, ...change })
  const consume = (welcome: WelcomeRecord, key = random(16)) =>
    store.welcomes.consume(welcome.id, { deviceId: welcome.deviceId, key }, nowMs, newAudit("welcome.consumed"))

  test("is listed unchanged in pages, and a repeated put adds no second one", async () => {
    const one = await device()
    const [first, second, third] = [
      welcomeOf(one),
      welcomeOf(one, { createdAtMs: nowMs + 1 }),
      welcomeOf(one, { createdAtMs: nowMs + 2 }),
    ]
    const all = [first, second, third]
    for (const each of [...all, ...all]) await put(each)
    expect(await list(one)).toEqual(all)
    expect(await list(one, { size: 2 })).toEqual(all.slice(0, 2))
    expect(await list(one, { maxBytes: 1 })).toEqual(all.slice(0, 1))
    expect(await list(one, { maxBytes: 400 })).toEqual(all.slice(0, 2))
    expect(await list(one, { after: second })).toEqual(all.slice(2))
    expect(await store.welcomes.listPending(one.id, nowMs + day, { size: 1, maxBytes: 1, after: null })).toEqual([])
    for (const each of all) expect(await store.welcomes.findPending(one.id, each.conversationId)).toEqual(each)
    const key = random(16)
    const consumed = await consume(first, key)
    expect(await store.welcomes.findPending(one.id, first.conversationId)).toBeUndefined()
    await store.welcomes.voidAll(one.id)
    await store.welcomes.voidAll(one.id)
    expect(await consume(first, key)).toEqual(consumed)
    for (const each of all) await put(each)
    expect(await list(one)).toEqual([])
    expect(await consume(second)).toBe("NOT_FOUND")
  })

  test("is consumed with one of many concurrent keys, erased, and returned again for the same key", async () => {
    const one = await device()
    const welcome = welcomeOf(one)
    await put(welcome)
    const keys = times(8, () => random(16))
    const outcomes = await Promise.all(keys.map((key) => consume(welcome, key)))
    const won = outcomes.findIndex((each) => typeof each !== "string")
    expect(outcomes.filter((each) => each === "WELCOME_ALREADY_CONSUMED")).toHaveLength(7)
    const consumed = { ...welcome, status: "CONSUMED", consumedWithKey: keys[won], welcome: new Uint8Array() }
    expect(outcomes[won]).toEqual(consumed)
    expect(await consume(welcome, keys[won])).toEqual(consumed)
    expect(await consume({ ...welcome, deviceId: (await device()).id })).toBe("NOT_FOUND")
  })

  test("to a removed leaf is void, also when it arrives late; a newer one is valid", async () => {
    const one = await device()
    const [old, late] = [welcomeOf(one), welcomeOf(one)]
    const [conversationId, commitSeq] = [old.conversationId, 6n]
    const newer = welcomeOf(one, { conversationId, commitSeq: 7n })
    await put(old)
    await tell(old, { voidBeforeSeq: commitSeq })
    await tell(old, { voidBeforeSeq: 3n })
    await put({ ...late, conversationId })
    await put(newer)
    expect(await list(one)).toEqual([newer])
    expect(await consume(old)).toBe("NOT_FOUND")
  })

  test("is voided only by a later removal in its own conversation", async () => {
    const one = await device()
    const [old, beside, after] = [welcomeOf(one), welcomeOf(one), welcomeOf(one)]
    const newer = welcomeOf(one, { conversationId: old.conversationId, commitSeq: 6n })
    for (const each of [old, beside, newer]) await put(each)
    await tell(old, { voidBeforeSeq: 6n })
    await put(after)
    const ids = (await list(one)).map(({ id }) => id).toSorted()
    expect(ids).toEqual([beside, newer, after].map(({ id }) => id).toSorted())
  })

  test("is erased at its expiry", async () => {
    const one = await device()
    const [ended, kept] = [welcomeOf(one), welcomeOf(one, { expiresAtMs: nowMs + 20 * day })]
    for (const each of [ended, kept]) await put(each)
    await objects.world({ passedMs: 2 * day })
    await objects.env.DEVICES.getByName(one.id).wake()
    await reset()
    const rows = await objects.env.DEVICES.getByName(one.id).rowsOf("select id from welcome")
    expect(rows).toEqual([{ id: kept.id }])
  })

  test("is voided by the removal of its device from its conversation, and of no other", async () => {
    const devices = await devicesOf(3)
    const [creator, stays, removed] = devices
    const group = await putGroup(store, devices)
    const membership = { op: "REMOVE", isDirected: false, proof: random(), proofHash: random() } as const
    const commit = newCommit(group, creator, leavesOf([creator, stays]), { membership })
    expect((await store.conversations.append(commit, signReceipt, nowMs, [])).is).toBe("appended")
    const rows = await objects.env.CONVERSATIONS.getByName(group.id).rowsOf("select device_id, status from welcome")
    const statuses = Object.fromEntries(rows.map(({ device_id, status }) => [String(device_id), status]))
    expect(statuses).toEqual({ [stays.id]: "SENT", [there(removed).id]: "ENDED" })
  })

  test("that is consumed is dropped by its conversation", async () => {
    const devices = await devicesOf(3)
    const [creator, one, other] = devices
    const group = await putGroup(store, devices)
    const statuses = async () =>
      (await objects.env.CONVERSATIONS.getByName(group.id).rowsOf("select status from welcome")).map(
        ({ status }) => status,
      )
    expect(await statuses()).toEqual(["SENT", "SENT"])
    expect(await list(creator)).toEqual([])
    const [welcome] = await list(one)
    await consume(there(welcome))
    await until(async () => (await statuses()).includes("ENDED"))
    expect((await statuses()).toSorted()).toEqual(["ENDED", "SENT"])
    await store.welcomes.voidAll(there(other).id)
    await until(async () => (await statuses()).every((status) => status === "ENDED"))
  })
})

describe("a push endpoint", () => {
  test("of an ended session is deleted by its check, and another one is kept", async () => {
    const endpoints = durablePushes(objects.env)
    const [ended, active] = [await device(), await device()]
    const sessionOf = new Map([ended, active].map(({ id }) => [id, newId("ses", nowMs, random(10))]))
    const stored = ({ id }: MessagingDevice) => objects.env.DEVICES.getByName(id).rowsOf("select id from push")
    for (const { id: deviceId } of [ended, active]) {
      const sessionId = there(sessionOf.get(deviceId))
      const address = { kind: "WEB_PUSH", url: "https://push.example/a" } as const
      const endpoint = { deviceId, sessionId, registrationId: random(16), ...address }
      await endpoints.set(endpoint, nowMs, newAudit("push_endpoint.set"))
    }
    await objects.world({ endedSessions: [there(sessionOf.get(ended.id))] })
    for (const one of [ended, active]) await objects.env.DEVICES.getByName(one.id).wake()
    expect([(await stored(ended)).length, (await stored(active)).length]).toEqual([1, 1])
    await objects.world({ passedMs: pushLimits.checkMs + day })
    for (const one of [ended, active]) await objects.env.DEVICES.getByName(one.id).wake()
    expect([(await stored(ended)).length, (await stored(active)).length]).toEqual([0, 1])
    await reset()
  })

  test("is in the audit when the device sets and deletes it, and not when there is none", async () => {
    const endpoints = durablePushes(objects.env)
    const { id: deviceId } = await device()
    const sessionId = newId("ses", nowMs, random(10))
    const [set, deleted, nothing] = [
      newAudit("push_endpoint.set"),
      newAudit("push_endpoint.deleted"),
      newAudit("push_endpoint.deleted"),
    ]
    const url = "https://push.example/secret"
    await endpoints.set({ deviceId, sessionId, registrationId: random(16), kind: "WEB_PUSH", url }, nowMs, set)
    await endpoints.delete(deviceId, deleted)
    await endpoints.delete(deviceId, nothing)
    const audited = async () => {
      const ids = [set, deleted, nothing].map(({ id }) => id)
      return (await objects.world()).audit.filter(({ id }) => ids.includes(id))
    }
    await until(async () => (await audited()).length >= 2)
    expect((await audited()).map(({ id }) => id)).toEqual([set.id, deleted.id])
    expect(JSON.stringify(await audited())).not.toContain("push.example")
  })
})
