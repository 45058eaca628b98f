// Tests of concurrent calls for every messaging store.
import { newId } from "@signet/kernel/ids"
import { hex } from "@signet/kernel/messaging/bytes"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import { expect, test } from "vitest"
import {
  changeOf,
  newAudit,
  newClaim,
  newDevice,
  newKeyPackage,
  newList,
  nowMs,
  place,
  putUser,
  random,
} from "../../../server/store/postgres/messaging/testing/world.ts"
import { freshId } from "../../../server/store/postgres/testing/people.ts"

export function claimRaceSuite(store: () => MessagingStore): void {
  const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
  const newcomer = async () => (await putUser(store())).devices[0] ?? expect.fail()

  test("50 concurrent claims of 10 key packages return each one once", async () => {
    const device = await newcomer()
    await store().keyPackages.upload(
      times(10, () => newKeyPackage(device)),
      nowMs,
    )
    const of = newClaim(newDevice(device.userId), { deviceIds: [device.id] })
    const claim = (id = newId("clm", nowMs, random(10))) => store().keyPackages.claim({ ...of, id }, nowMs, newAudit())
    const claims = await Promise.all(times(50, () => claim()))
    const refs = claims.flatMap((each) =>
      each.is === "claimed" ? each.claim.packages.map(({ ref }) => hex(ref)) : expect.fail(),
    )
    expect(refs.toSorted()).toEqual([...new Set(refs)].toSorted())
    // A claim skips rows that another claim has locked, so some claims may be empty while packages are left.
    while ((await store().keyPackages.inventory(device.id, nowMs)).available > 0) {
      const next = await claim()
      if (next.is === "claimed") refs.push(...next.claim.packages.map(({ ref }) => hex(ref)))
    }
    expect(new Set(refs).size).toBe(10)
    expect(refs).toHaveLength(10)
    await store().keyPackages.upload(
      times(3, () => newKeyPackage(device)),
      nowMs,
    )
    const id = newId("clm", nowMs, random(10))
    const same = await Promise.all(times(8, () => claim(id)))
    const packages = same.map((each) => (each.is === "claimed" ? each.claim.packages : expect.fail()))
    expect(packages.every((each) => hex(each[0]?.ref ?? random()) === hex(packages[0]?.[0]?.ref ?? random()))).toBe(
      true,
    )
    expect(await store().keyPackages.inventory(device.id, nowMs)).toMatchObject({ available: 2 })
  })

  test("concurrent uploads stay within the limit, and one package gets an init key", async () => {
    const device = await newcomer()
    const uploads = times(5, () =>
      store().keyPackages.upload(
        times(60, () => newKeyPackage(device)),
        nowMs,
      ),
    )
    const full = (await Promise.all(uploads)).filter(({ is }) => is === "full")
    expect(full).toHaveLength(2)
    const { available } = await store().keyPackages.inventory(device.id, nowMs)
    expect(available).toBeLessThanOrEqual(maxCount.keyPackages)
    await store().keyPackages.retire(device.id, "all")
    const initKey = random()
    const both = times(2, () => store().keyPackages.upload([newKeyPackage(device, { initKey })], nowMs))
    expect((await Promise.all(both)).map(({ is }) => is).toSorted()).toEqual(["done", "duplicate"])
  })

  test("one of ten concurrent changes of a device list succeeds, and one device gets a leaf key", async () => {
    const userId = freshId("prn")
    const changes = times(10, () => store().devices.change(changeOf(newDevice(userId), { list: newList(1n) })))
    expect((await Promise.all(changes)).filter((each) => each === "done")).toHaveLength(1)
    expect((await store().devices.ofUser(userId, place)).devices).toHaveLength(1)
    const leafKey = random()
    const thieves = times(6, () => store().devices.change(changeOf(newDevice(freshId("prn"), { leafKey }))))
    expect((await Promise.all(thieves)).filter((each) => each === "done")).toHaveLength(1)
  })
}
