// The effects of a revocation complete once, wherever they were interrupted.
import { parseId } from "@signet/kernel/ids"
import { defaultLimits } from "@signet/kernel/limits/policy"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { endDevicesOf } from "../../server/rpc/messaging/device/end-user.ts"
import { carryOutRevocations } from "../../server/rpc/messaging/device/revocation-effects.ts"
import { protocols, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { newLeafKey } from "../support/messaging/device-parts.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import type { StoreKind } from "../support/postgres.ts"
import { describeStory, storyStore } from "../support/postgres.ts"

const [overConnect] = Object.values(protocols)

describeStory("a device that is revoked", (kind: StoreKind) => {
  let server: MessagingServer
  beforeAll(async () => {
    server = await startMessagingServer({ store: kind })
  })
  afterAll(() => server?.close())

  async function registered(subject: string): Promise<TestDevice> {
    const device = await newDevice(overConnect?.(server.url) ?? expect.fail(), await server.person(subject))
    await device.register()
    await device.upload(12)
    return device
  }
  const place = () => ({ appId: server.app.id, tenantId: null })
  const userOf = (device: TestDevice) => parseId("prn", device.userId) ?? expect.fail()
  const directivesOf = async (by: TestDevice, conversationId: string) =>
    (await by.calls.conversations.listDirectives({ conversationId })).directives

  test.runIf(isLong)(
    "is removed from each conversation by a remaining member, also after an interrupted process",
    async () => {
      const [ada, bob] = [await registered("ada"), await registered("bob")]
      const rooms = [await ada.createGroup([bob.userId]), await ada.createDirect(bob.userId)]
      // The revocation is stored; its effects are not, as if the process had ended in between.
      expect(await endDevicesOf(server.messaging.deps, userOf(bob), place())).toEqual([bob.id])
      expect(await refusal(bob.calls.keyPackages.getInventory({}))).toBe("Unauthenticated SESSION_REVOKED")
      for (const room of rooms) expect(await directivesOf(ada, room.id)).toEqual([])

      // Several processes find it at the same time.
      await Promise.all([1, 2, 3].map(() => carryOutRevocations(server.messaging.deps)))
      expect(await server.store.messaging.devices.dueEffects(10)).toEqual([])
      for (const room of rooms) {
        const [directive, ...more] = await directivesOf(ada, room.id)
        expect(more).toEqual([])
        expect(directive).toMatchObject({ deviceId: bob.id })
        await ada.carryOut(room, directive?.id ?? expect.fail())
        expect(await directivesOf(ada, room.id)).toEqual([])
      }
      await carryOutRevocations(server.messaging.deps)
      for (const room of rooms) expect(await directivesOf(ada, room.id)).toEqual([])
    },
  )

  test.runIf(isLong)("closes a conversation without remaining members", async () => {
    const session = await server.person("cleo")
    const [phone, laptop] = await Promise.all(
      [session, await session.again()].map(async (one) => {
        const device = await newDevice(overConnect?.(server.url) ?? expect.fail(), one)
        await device.register()
        await device.upload(12)
        return device
      }),
    )
    if (phone === undefined || laptop === undefined) return expect.fail()
    const dan = await registered("dan")
    const room = await phone.createGroup([dan.userId])
    await endDevicesOf(server.messaging.deps, userOf(dan), place())
    await carryOutRevocations(server.messaging.deps)
    expect(await endDevicesOf(server.messaging.deps, userOf(phone), place())).toHaveLength(2)
    await carryOutRevocations(server.messaging.deps)
    const id = parseId("cnv", room.id) ?? expect.fail()
    expect((await server.store.messaging.conversations.find(id))?.status).toBe("CLOSED")
  })

  test("is in the audit, once", async () => {
    const eve = await registered("eve")
    const before = await auditOf(eve)
    await eve.calls.devices.revokeDevice({ deviceId: eve.id })
    expect((await auditOf(eve)).slice(before.length)).toEqual(["device.revoked"])
    expect(before).toEqual(["device.registered"])
  })

  const auditOf = async (device: TestDevice): Promise<readonly string[]> =>
    (
      await server.store.db
        .selectFrom("audit_event")
        .select(["kind"])
        .where("target_id", "=", device.id)
        .orderBy("occurred_at")
        .orderBy("id")
        .execute()
    ).map(({ kind }) => kind)
})

describe("a user", () => {
  let server: MessagingServer
  beforeAll(async () => {
    server = await startMessagingServer({ store: storyStore, limits: defaultLimits })
  })
  afterAll(() => server?.close())

  test.runIf(isLong)("gets at most ten credentials a day, and the same one on each repetition", async () => {
    const device = await newDevice(overConnect?.(server.url) ?? expect.fail(), await server.person("fay"))
    for (let i = 0; i < 12; i++) await device.register()
    for (let i = 0; i < 9; i++) await device.renew(newLeafKey())
    expect(await refusal(device.renew(newLeafKey()))).toBe("ResourceExhausted RATE_LIMITED")
    await device.register()
  })
})
