import { newId } from "@signet/kernel/ids"
import { afterAll, beforeAll, expect, test } from "vitest"
import { keyPackageSuite } from "../../../../test/support/messaging-store/key-packages.ts"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { newAudit, newKeyPackage, nowMs, place, putUser, random } from "./testing/world.ts"

describeOnEachStore("key packages", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())
  keyPackageSuite(() => opened.messaging)

  // Here they are unique of all devices; where each device has its own object, of each.
  test("with an init key of another device are refused, and a claim id is no other device's", async () => {
    const [device, other] = (await putUser(opened.messaging, 2)).devices
    if (!(device && other)) throw new Error("two")
    const { keyPackages } = opened.messaging
    const one = newKeyPackage(device)
    await keyPackages.upload([one], nowMs)
    const stolen = newKeyPackage(other, { initKey: one.initKey })
    expect(await keyPackages.upload([newKeyPackage(other), stolen], nowMs)).toEqual({ is: "duplicate" })
    expect(await keyPackages.inventory(other.id, nowMs)).toMatchObject({ available: 0 })
    const claim = (deviceId: typeof other.id) =>
      keyPackages.claim(
        { ...of, requester: { deviceId, userId: other.userId } },
        nowMs,
        newAudit("key_package.claimed"),
      )
    const of = {
      id: newId("clm", nowMs, random(10)),
      conversationId: newId("cnv", nowMs, random(10)),
      targets: { userIds: [], deviceIds: [device.id] },
      place,
      requestHash: random(),
    }
    expect((await claim(other.id)).is).toBe("claimed")
    expect((await claim(device.id)).is).toBe("mismatch")
  })
})
