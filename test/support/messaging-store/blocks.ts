// Tests of blocked users for every messaging store.
import type { PrincipalId } from "@signet/kernel/ids"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { ClaimTargets } from "@signet/kernel/messaging/membership"
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import { expect, test } from "vitest"
import {
  newAudit,
  newClaim,
  newKeyPackage,
  nowMs,
  place,
  putUser,
} from "../../../server/store/postgres/messaging/testing/world.ts"
import { freshId } from "../../../server/store/postgres/testing/people.ts"
import { effort } from "../effort.ts"

const atOnce = 50

export function blockSuite(store: () => MessagingStore): void {
  const newDevice = async () => (await putUser(store())).devices[0] ?? expect.fail()
  const change = (userId: PrincipalId, other: PrincipalId, isBlocked = true, at = place) =>
    store().blocks.change({ userId, place: at, change: { userId: other, isBlocked } }, newAudit("user.blocked"))
  const asked = (by: MessagingDevice, targets: Partial<ClaimTargets>, addable: readonly PrincipalId[] = []) =>
    newClaim(by, targets, { addable })
  const claim = async (of: ReturnType<typeof asked>) => {
    const outcome = await store().keyPackages.claim(of, nowMs, newAudit("key_package.claimed"))
    return outcome.is === "claimed" ? outcome : expect.fail(outcome.is)
  }
  const claimedFrom = async (of: ReturnType<typeof asked>) => {
    const { packages, withoutDeviceIds } = (await claim(of)).claim
    return { from: packages.map(({ deviceId }) => deviceId), without: withoutDeviceIds }
  }
  const availableOf = async ({ id }: MessagingDevice) => (await store().keyPackages.inventory(id, nowMs)).available

  test("are listed in the order of blocking, and a repetition changes nothing", async () => {
    const { userId } = await newDevice()
    const [first, second] = [freshId("prn"), freshId("prn")]
    expect(await store().blocks.ofUser(userId, place)).toEqual({ version: 0n, userIds: [] })
    expect(await change(userId, first)).toEqual({ is: "done", list: { version: 1n, userIds: [first] } })
    await change(userId, second)
    const list = { version: 2n, userIds: [first, second] }
    expect(await change(userId, first)).toEqual({ is: "there", list })
    expect(await change(userId, freshId("prn"), false)).toEqual({ is: "there", list })
    expect(await store().blocks.ofUser(userId, place)).toEqual(list)
    expect(await change(userId, first, false)).toEqual({ is: "done", list: { version: 3n, userIds: [second] } })
    expect(await store().blocks.ofUser(userId, place)).toEqual({ version: 3n, userIds: [second] })
  })

  test("belong to one user of one place", async () => {
    const [ana, bea] = [await newDevice(), await newDevice()]
    const tenant = { ...place, tenantId: freshId("ten") }
    await change(ana.userId, bea.userId)
    expect(await store().blocks.ofUser(bea.userId, place)).toEqual({ version: 0n, userIds: [] })
    expect(await store().blocks.ofUser(ana.userId, tenant)).toEqual({ version: 0n, userIds: [] })
    const among = [ana.userId, bea.userId, freshId("prn")]
    expect(await store().blocks.blockersOf(bea.userId, among, place)).toEqual([ana.userId])
    expect(await store().blocks.blockersOf(bea.userId, [], place)).toEqual([])
    expect(await store().blocks.blockersOf(ana.userId, among, place)).toEqual([])
    expect(await store().blocks.blockersOf(bea.userId, among, tenant)).toEqual([])
  })

  test("are all stored when they are blocked at the same time, up to the limit", async () => {
    const { userId } = await newDevice()
    const tried = effort(atOnce, maxCount.blocksPerUser + atOnce, maxCount.blocksPerUser + atOnce)
    const stored = Math.min(tried, maxCount.blocksPerUser)
    const outcomes: string[] = []
    while (outcomes.length < tried) {
      const some = await Promise.all(Array.from({ length: atOnce }, () => change(userId, freshId("prn"))))
      outcomes.push(...some.map(({ is }) => is))
    }
    expect(outcomes.filter((is) => is === "done")).toHaveLength(stored)
    expect(outcomes.filter((is) => is === "full")).toHaveLength(tried - stored)
    const { version, userIds } = await store().blocks.ofUser(userId, place)
    expect([version, new Set(userIds).size]).toEqual([BigInt(stored), stored])
    expect((await change(userId, userIds[0] ?? expect.fail())).is).toBe("there")
  })

  test("get no key package of the blocking user, and do not learn that there is one", async () => {
    const [ana, bea, cleo] = [await newDevice(), await newDevice(), await newDevice()]
    for (const device of [ana, cleo])
      await store().keyPackages.upload([newKeyPackage(device), newKeyPackage(device)], nowMs)
    const last = newKeyPackage(ana, { isLastResort: true })
    await store().keyPackages.upload([last], nowMs)
    await change(ana.userId, bea.userId)
    const refused = { from: [], without: [ana.id] }
    expect(await claimedFrom(asked(bea, { userIds: [ana.userId] }))).toEqual(refused)
    expect(await claimedFrom(asked(bea, { deviceIds: [ana.id] }))).toEqual(refused)
    const both = await claimedFrom(asked(bea, { userIds: [ana.userId, cleo.userId] }))
    expect(both).toEqual({ from: [cleo.id], without: [ana.id] })
    expect(await availableOf(ana)).toBe(2)
    // Not for others, and not in the other direction.
    expect((await claimedFrom(asked(cleo, { userIds: [ana.userId] }))).from).toEqual([ana.id])
    await store().keyPackages.upload([newKeyPackage(bea)], nowMs)
    expect((await claimedFrom(asked(ana, { userIds: [bea.userId] }))).from).toEqual([bea.id])
    // A member of a shared group is addable by everyone.
    expect((await claimedFrom(asked(bea, { deviceIds: [ana.id] }, [ana.userId]))).from).toEqual([ana.id])
    await change(ana.userId, bea.userId, false)
    expect((await claimedFrom(asked(bea, { userIds: [ana.userId] }))).from).toEqual([ana.id])
  })

  test("get no package from a claim that they made before the block", async () => {
    const [ana, bea, cleo] = [await newDevice(), await newDevice(), await newDevice()]
    for (const device of [ana, cleo]) await store().keyPackages.upload([newKeyPackage(device)], nowMs)
    const of = asked(bea, { userIds: [ana.userId, cleo.userId] })
    expect((await claimedFrom(of)).from.toSorted()).toEqual([ana.id, cleo.id].toSorted())
    await change(ana.userId, bea.userId)
    expect(await claimedFrom(of)).toEqual({ from: [cleo.id], without: [ana.id] })
    expect((await claimedFrom({ ...of, addable: [ana.userId] })).from).toHaveLength(2)
    await change(ana.userId, bea.userId, false)
    expect((await claimedFrom(of)).from).toHaveLength(2)
  })

  test("get nothing from a claim that begins after the block, while others are in progress", async () => {
    const [ana, bea] = [await newDevice(), await newDevice()]
    await store().keyPackages.upload(
      Array.from({ length: 40 }, () => newKeyPackage(ana)),
      nowMs,
    )
    const claims = Array.from({ length: 10 }, () => asked(bea, { userIds: [ana.userId] }))
    const concurrent = claims.map((of) => claim(of))
    await change(ana.userId, bea.userId)
    const after = await Promise.all(Array.from({ length: 5 }, () => claimedFrom(asked(bea, { userIds: [ana.userId] }))))
    expect(after).toEqual(Array.from({ length: 5 }, () => ({ from: [], without: [ana.id] })))
    await Promise.all(concurrent)
    // Also of those that were in progress, none is answered with a package any more.
    for (const of of claims) expect((await claimedFrom(of)).from).toEqual([])
  })
}
