// Tests of key packages and claims for every messaging store.
import { newId } from "@signet/kernel/ids"
import { keyPackagePool, lifetimeMs, maxCount } from "@signet/kernel/messaging/limits"
import type { ClaimTargets } from "@signet/kernel/messaging/membership"
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import { expect, test } from "vitest"
import {
  changeOf,
  newAudit,
  newClaim,
  newDevice as newDeviceOf,
  newKeyPackage,
  newList,
  nowMs,
  place,
  putUser,
  random,
} from "../../../server/store/postgres/messaging/testing/world.ts"
import { freshId } from "../../../server/store/postgres/testing/people.ts"

const day = 86_400_000

export function keyPackageSuite(store: () => MessagingStore): void {
  const packages = () => store().keyPackages
  const newDevice = async () => (await putUser(store())).devices[0] ?? expect.fail()
  const requester = { id: newId("dev", nowMs, random(10)), userId: freshId("prn") }
  const asked = (targets: Partial<ClaimTargets>, change = {}) => newClaim(requester, targets, change)
  const claim = async (of: ReturnType<typeof asked>, atMs = nowMs) => {
    const outcome = await packages().claim(of, atMs, newAudit("key_package.claimed"))
    return outcome.is === "claimed" ? outcome : expect.fail(outcome.is)
  }
  const claimOf = async (device: MessagingDevice) => (await claim(asked({ deviceIds: [device.id] }))).claim.packages[0]

  test("are counted when uploaded, claimed, expired and retired", async () => {
    const device = await newDevice()
    const some = Array.from({ length: 12 }, () => newKeyPackage(device))
    const last = newKeyPackage(device, { isLastResort: true, notAfterMs: nowMs + 90 * day })
    const inventory = { available: 12, hasLastResort: true, lowWater: keyPackagePool.lowWater, isLow: false }
    expect(await packages().upload([...some, last], nowMs)).toEqual({ is: "done", inventory })
    for (let i = 0; i < 3; i++) await claimOf(device)
    expect(await packages().inventory(device.id, nowMs)).toEqual({ ...inventory, available: 9, isLow: true })
    expect(await packages().inventory(device.id, nowMs + 29 * day)).toMatchObject({ available: 0, hasLastResort: true })
    const left = some.slice(0, 12).map(({ ref }) => ref)
    await packages().retire(device.id, left.slice(0, 1))
    await packages().retire(device.id, left.slice(0, 1))
    await packages().retire(device.id, "all")
    expect(await packages().inventory(device.id, nowMs)).toMatchObject({ available: 0, hasLastResort: false })
  })

  test("are retired by reference, for one device only", async () => {
    const [device, beside] = [await newDevice(), await newDevice()]
    const [retired, kept] = [newKeyPackage(device), newKeyPackage(device)]
    await packages().upload([retired, kept], nowMs)
    await packages().upload([newKeyPackage(beside)], nowMs)
    await packages().retire(device.id, [retired.ref])
    await packages().retire(beside.id, [kept.ref])
    expect(await packages().inventory(device.id, nowMs)).toMatchObject({ available: 1 })
    expect((await claimOf(device))?.ref).toEqual(kept.ref)
    await packages().retire(device.id, "all")
    expect(await packages().inventory(beside.id, nowMs)).toMatchObject({ available: 1 })
  })

  test("are replaced by a new last resort only if they are the last resort", async () => {
    const device = await newDevice()
    const lastResort = () => newKeyPackage(device, { isLastResort: true, notAfterMs: nowMs + 90 * day })
    const [before, after] = [lastResort(), lastResort()]
    await packages().upload([newKeyPackage(device), before], nowMs)
    await packages().upload([after], nowMs)
    expect(await packages().inventory(device.id, nowMs)).toMatchObject({ available: 1, hasLastResort: true })
    expect((await claimOf(device))?.isLastResort).toBe(false)
    expect((await claimOf(device))?.ref).toEqual(after.ref)
  })

  test("uploaded again do not change; an upload with another package's init key is refused as a whole", async () => {
    const device = await newDevice()
    const one = newKeyPackage(device)
    await packages().upload([one], nowMs)
    await claimOf(device)
    const more = newKeyPackage(device)
    expect(await packages().upload([one, more], nowMs)).toMatchObject({ is: "done", inventory: { available: 1 } })
    const second = newKeyPackage(device, { initKey: one.initKey })
    expect(await packages().upload([newKeyPackage(device), second], nowMs)).toEqual({ is: "duplicate" })
    const same = newKeyPackage(device)
    expect(await packages().upload([same, { ...same, ref: random() }], nowMs)).toEqual({ is: "duplicate" })
    expect(await packages().upload([newKeyPackage(device, { ref: one.ref })], nowMs)).toEqual({ is: "duplicate" })
    expect(await packages().upload([{ ...one, bytes: random(300) }], nowMs)).toEqual({ is: "duplicate" })
    expect(await packages().inventory(device.id, nowMs)).toMatchObject({ available: 1 })
  })

  test("do not affect another device that uses the same init key or claim id", async () => {
    const [one, other, target] = [await newDevice(), await newDevice(), await newDevice()]
    const first = newKeyPackage(one)
    const second = newKeyPackage(other, { initKey: first.initKey })
    expect((await packages().upload([first], nowMs)).is).toBe("done")
    expect((await packages().upload([second], nowMs)).is).toBe("done")
    // Each is signed by its own device. A device that presents another's public key cannot decrypt with it.
    for (const [device, own] of [[one, first] as const, [other, second] as const]) {
      expect(await claimOf(device)).toMatchObject({ ref: own.ref, deviceId: device.id })
    }
    const some = [newKeyPackage(target), newKeyPackage(target)]
    await packages().upload(some, nowMs)
    const by = ({ id: deviceId, userId }: MessagingDevice) =>
      asked({ deviceIds: [target.id] }, { id: claimId, requester: { deviceId, userId }, requestHash })
    const [claimId, requestHash] = [newId("clm", nowMs, random(10)), random()]
    const claims = [await claim(by(one)), await claim(by(other))]
    const taken = claims.map(({ claim: { packages } }) => packages[0]?.ref)
    expect(taken).toHaveLength(2)
    expect(taken[0]).not.toEqual(taken[1])
    expect((await claim(by(one))).claim.packages[0]?.ref).toEqual(taken[0])
    expect((await claim(by(other))).claim.packages[0]?.ref).toEqual(taken[1])
  })

  test("are limited in number, except the last resort", async () => {
    const device = await newDevice()
    const some = (count: number) => Array.from({ length: count }, () => newKeyPackage(device))
    for (let i = 0; i < maxCount.keyPackages; i += 100) await packages().upload(some(100), nowMs)
    const full = await packages().upload(some(1), nowMs)
    expect(full).toMatchObject({ is: "full", inventory: { available: maxCount.keyPackages } })
    const last = newKeyPackage(device, { isLastResort: true })
    expect((await packages().upload([last], nowMs)).is).toBe("done")
  })

  test("are claimed once each, the earliest to expire first; then the last resort repeatedly; then none", async () => {
    const device = await newDevice()
    const [late, soon, tomorrow, early] = [30 * day, 20 * day, day, 30 * day].map((ms, i) =>
      newKeyPackage(device, { notAfterMs: nowMs + ms, notBeforeMs: i === 3 ? nowMs + 1 : nowMs }),
    )
    if (!(late && soon && tomorrow && early)) throw new Error("four")
    await packages().upload([late, soon, tomorrow, early], nowMs)
    expect((await claimOf(device))?.ref).toEqual(soon.ref)
    expect((await claimOf(device))?.ref).toEqual(late.ref)
    const without = await claim(asked({ deviceIds: [device.id] }))
    expect(without.claim).toMatchObject({ packages: [], withoutDeviceIds: [device.id] })
    const [old, fresh] = [newKeyPackage(device, { isLastResort: true }), newKeyPackage(device, { isLastResort: true })]
    await packages().upload([old], nowMs)
    await packages().upload([fresh], nowMs)
    expect((await claimOf(device))?.ref).toEqual(fresh.ref)
    expect(await claimOf(device)).toEqual(fresh)
  })

  test("are claimed from each active target device except the caller's, and devices with few left are reported", async () => {
    const alice = await putUser(store(), 2)
    const bob = await putUser(store(), 3)
    const [own, second] = alice.devices
    const [one, other, gone] = bob.devices
    if (!(own && second && one && other && gone)) throw new Error("five")
    for (const device of [own, second, one, other, gone]) await packages().upload([newKeyPackage(device)], nowMs)
    await packages().upload(
      Array.from({ length: 11 }, () => newKeyPackage(other)),
      nowMs,
    )
    const revoked = { ...gone, status: "REVOKED" as const, revokedAtMs: nowMs }
    await store().devices.change(changeOf(revoked, { list: newList(4n) }))
    const targets = { userIds: [bob.userId, alice.userId], deviceIds: [one.id] }
    const by = { requester: { deviceId: own.id, userId: alice.userId } }
    const { claim: record, low } = await claim(asked(targets, by))
    const devices = record.packages.map(({ deviceId }) => deviceId)
    expect(devices.toSorted()).toEqual([second.id, one.id, other.id].toSorted())
    expect(low.toSorted()).toEqual([second.id, one.id].toSorted())
    const elsewhere = await claim(asked(targets, { place: { ...place, tenantId: freshId("ten") } }))
    expect(elsewhere.claim).toMatchObject({ packages: [], withoutDeviceIds: [] })
  })

  test("run low when few are available: claimed and currently invalid ones and the last resort do not count", async () => {
    const device = await newDevice()
    const good = Array.from({ length: keyPackagePool.lowWater + 1 }, () =>
      newKeyPackage(device, { notBeforeMs: nowMs }),
    )
    const others = [
      newKeyPackage(device, { isLastResort: true, notAfterMs: nowMs + 90 * day }),
      newKeyPackage(device, { notBeforeMs: nowMs + 1 }),
      newKeyPackage(device, { notBeforeMs: nowMs - day, notAfterMs: nowMs + lifetimeMs.keyPackageReserve }),
    ]
    await packages().upload([...good, ...others], nowMs - day)
    expect(await packages().inventory(device.id, nowMs)).toMatchObject({ available: good.length, hasLastResort: true })
    const of = () => claim(asked({ deviceIds: [device.id] }))
    for (const low of [[], [device.id]]) {
      const claimed = await of()
      expect(claimed.low).toEqual(low)
      expect(claimed.claim.packages).toMatchObject([{ isLastResort: false }])
    }
  })

  test("of a claim id stay the same, and belong to one request only", async () => {
    const device = await newDevice()
    await packages().upload(
      Array.from({ length: 3 }, () => newKeyPackage(device)),
      nowMs,
    )
    const of = asked({ deviceIds: [device.id, (await newDevice()).id] })
    const audit = newAudit("key_package.claimed")
    const first = await packages().claim(of, nowMs, audit)
    expect(await packages().claim(of, nowMs + 1_000, audit)).toEqual({ ...first, low: [] })
    expect(await packages().claim({ ...of, requestHash: random() }, nowMs, audit)).toEqual({ is: "mismatch" })
    expect(await packages().inventory(device.id, nowMs)).toMatchObject({ available: 2 })
  })

  test("are claimed for at most as many devices as a commit adds, whatever they have", async () => {
    const userIds = await Promise.all(
      Array.from({ length: maxCount.subjectsPerCommit / maxCount.devicesPerUser }, async () => {
        const userId = freshId("prn")
        const devices = Array.from({ length: maxCount.devicesPerUser }, () => newDeviceOf(userId))
        await store().devices.change(changeOf(devices[0] ?? expect.fail(), { devices }))
        return userId
      }),
    )
    const [own, one] = [await newDevice(), await newDevice()]
    await packages().upload([newKeyPackage(one)], nowMs)
    await packages().upload([newKeyPackage(own), newKeyPackage(own)], nowMs)
    const by = { requester: { deviceId: own.id, userId: own.userId } }
    const { claim: full, inventory } = await claim(asked({ userIds, deviceIds: [own.id] }, by))
    expect(full.withoutDeviceIds).toHaveLength(maxCount.subjectsPerCommit)
    expect(inventory).toMatchObject({ available: 2, hasLastResort: false })
    const audit = newAudit("key_package.claimed")
    const more = asked({ userIds, deviceIds: [one.id] }, by)
    expect(await packages().claim(more, nowMs, audit)).toEqual({ is: "tooMany" })
    expect(await packages().inventory(one.id, nowMs)).toMatchObject({ available: 1 })
    // Nothing keeps the id.
    const less = { ...more, targets: { userIds: [], deviceIds: [one.id] } }
    expect(await packages().claim(less, nowMs, audit)).toMatchObject({ is: "claimed", claim: { withoutDeviceIds: [] } })
  })

  test("in their last day are not claimed", async () => {
    const device = await newDevice()
    const one = newKeyPackage(device, { notAfterMs: nowMs + lifetimeMs.keyPackageReserve })
    await packages().upload([one], nowMs - day)
    expect(await claimOf(device)).toBeUndefined()
  })
}
