// The life of a device, over each protocol.
import { equalBytes } from "@signet/canonical/bytes"
import { verifyDeviceCredential } from "@signet/canonical/device-credential"
import { placeAfter, verifyDeviceList } from "@signet/canonical/device-list"
import { issuerIdOf } from "@signet/canonical/hash"
import { verifyIssuerKeySet } from "@signet/canonical/issuer-keys"
import { idBytes, parseId } from "@signet/kernel/ids"
import { DeviceStatus } from "@signet/proto/credential/v1/device_list"
import { Device_Status } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { protocols, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { deviceRequest, newLeafKey } from "../support/messaging/device-parts.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { claimsOf } from "../support/people.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
})
afterAll(() => server?.close())

const nowSeconds = () => BigInt(Math.floor(server.deps.clock.nowMs() / 1_000))

/** The user's device lists, verified with the pinned root; each follows the one before. */
async function chainOf(device: TestDevice, issuerKeySet: Uint8Array) {
  const issuerKeys = verifyIssuerKeySet(issuerKeySet, {
    roots: [server.issuerRootKey],
    issuerId: issuerIdOf(server.deps.issuer),
    atSeconds: nowSeconds(),
  })
  const { deviceLists } = await device.calls.devices.listDeviceLists({})
  const userId = idBytes(parseId("prn", device.userId) ?? expect.fail())
  const lists = deviceLists.map((bytes) =>
    verifyDeviceList(bytes, {
      issuerKeys,
      tenantId: undefined,
      appId: device.place.appId,
      userId,
      atSeconds: nowSeconds(),
    }),
  )
  let seen: { version: bigint; hash: Uint8Array } | undefined
  for (const list of lists) {
    expect(placeAfter(seen, list)).toBe(seen === undefined ? "first" : "next")
    seen = { version: list.body.listVersion, hash: list.hash }
  }
  return { issuerKeys, lists }
}

describe.each(Object.entries(protocols))("over %s", (name, over) => {
  test("a device registers, is in the next token, renews its key, and ends", async () => {
    const session = await server.person(`ada ${name}`)
    const phone = await newDevice(over(server.url), session)
    const registered = await phone.register()
    expect(registered).toMatchObject({ userId: session.userId, status: Device_Status.ACTIVE, platform: "node-linux" })
    expect(claimsOf(session.accessToken).did).toBe(registered.id)

    const { issuerKeySet } = await phone.calls.devices.getIssuerKeys({})
    const { issuerKeys, lists } = await chainOf(phone, issuerKeySet)
    const credential = verifyDeviceCredential(registered.credential, {
      issuerKeys,
      tenantId: undefined,
      appId: phone.place.appId,
      leafKey: phone.key.publicKey,
      atSeconds: nowSeconds(),
    })
    expect(credential.hash).toEqual(registered.credentialHash)
    expect(credential.body.serial).toBe(1n)
    expect(lists.at(-1)?.body.entries[0]?.credentialHash).toEqual(registered.credentialHash)

    // The same key is the same device: nothing is written, and no token has to be refreshed.
    expect(await phone.register()).toEqual(registered)
    // Its credential is still recent enough.
    expect(await phone.renew()).toEqual(registered)

    await phone.upload(3)
    const renewed = await phone.renew(newLeafKey())
    expect(renewed.id).toBe(registered.id)
    expect(equalBytes(renewed.credentialHash, registered.credentialHash)).toBe(false)
    expect((await phone.calls.keyPackages.getInventory({})).inventory).toMatchObject({ available: 3, isLow: true })
    // From here on with the new key.
    await phone.upload(9)
    expect((await phone.calls.keyPackages.getInventory({})).inventory).toMatchObject({ available: 12, isLow: false })

    const laptop = await newDevice(over(server.url), await session.again())
    await laptop.register()
    const { devices } = await laptop.calls.devices.listDevices({})
    expect(devices.map(({ id }) => id)).toEqual([laptop.id, phone.id])
    await laptop.calls.devices.revokeDevice({ deviceId: phone.id })
    await laptop.calls.devices.revokeDevice({ deviceId: phone.id })
    const { lists: after } = await chainOf(laptop, issuerKeySet)
    expect(after.map(({ body }) => body.listVersion)).toEqual([1n, 2n, 3n, 4n])
    const statuses = after.at(-1)?.body.entries.map(({ status }) => status)
    expect(statuses?.toSorted()).toEqual([DeviceStatus.ACTIVE, DeviceStatus.REVOKED])
    // Its session has ended, and its key packages are deleted.
    expect(await refusal(phone.calls.keyPackages.getInventory({}))).toBe("Unauthenticated SESSION_REVOKED")
    const left = await server.store.messaging.keyPackages.inventory(
      parseId("dev", phone.id) ?? expect.fail(),
      server.deps.clock.nowMs(),
    )
    expect(left.available).toBe(0)
    expect(await server.store.messaging.devices.dueEffects(10)).toEqual([])
  })
})

const [overConnect] = Object.values(protocols)
const connect = () => overConnect?.(server.url) ?? expect.fail()

describe("a session", () => {
  test("has one device: an earlier one is revoked, and its key cannot register again", async () => {
    const session = await server.person("bea")
    const first = await newDevice(connect(), session)
    const key = first.key
    await first.register()
    const second = await newDevice(connect(), session)
    await second.register()
    const { devices } = await second.calls.devices.listDevices({})
    expect(devices.map(({ id, status }) => [id, status])).toEqual([
      [second.id, Device_Status.ACTIVE],
      [first.id, Device_Status.REVOKED],
    ])
    expect(await refusal(second.register(key))).toBe("AlreadyExists DEVICE_KEY_TAKEN")
  })

  test("of the same person is bound to the existing device", async () => {
    const session = await server.person("cleo")
    const device = await newDevice(connect(), session)
    const { id } = await device.register()
    const again = await newDevice(connect(), await session.again())
    expect((await again.register(device.key)).id).toBe(id)
    expect(claimsOf(again.session.accessToken).did).toBe(id)
    // Both sessions belong to the device, and end with it.
    await again.calls.devices.revokeDevice({ deviceId: id })
    expect(await refusal(session.refresh())).toBe("Unauthenticated REFRESH_TOKEN_INVALID")
    expect(await refusal(again.session.refresh())).toBe("Unauthenticated REFRESH_TOKEN_INVALID")
  })

  test("that registers two devices at the same time gets one of them", async () => {
    const session = await server.person("dora")
    const devices = await Promise.all([1, 2, 3, 4].map(() => newDevice(connect(), session)))
    const done = await Promise.allSettled(
      devices.map(async ({ calls, key, place }) =>
        calls.devices.registerDevice({ deviceRequest: await deviceRequest(key, place, session.userId) }),
      ),
    )
    expect(done.map(({ status }) => status)).toEqual(done.map(() => "fulfilled"))
    await session.refresh()
    const [device] = devices
    if (device === undefined) return expect.fail()
    device.credentials.token = session.accessToken
    const { devices: all } = await device.calls.devices.listDevices({})
    expect(all.filter(({ status }) => status === Device_Status.ACTIVE)).toHaveLength(1)
    expect(all.find(({ status }) => status === Device_Status.ACTIVE)?.id).toBe(claimsOf(session.accessToken).did)
  })
})

test.runIf(isLong)("a user has at most sixteen devices, and their lists are one chain", async () => {
  const session = await server.person("eve")
  const devices: TestDevice[] = []
  for (let i = 0; i < 16; i++) {
    const device = await newDevice(connect(), i === 0 ? session : await session.again())
    await device.register()
    devices.push(device)
  }
  const last = await newDevice(connect(), await session.again())
  expect(await refusal(last.register())).toBe("ResourceExhausted LIMIT_EXCEEDED")
  const pages: string[] = []
  let pageToken = ""
  do {
    const page = await last.calls.devices.listDevices({ pageSize: 5, pageToken })
    pages.push(...page.devices.map(({ id }) => id))
    pageToken = page.nextPageToken
  } while (pageToken !== "")
  expect(pages).toEqual(devices.map(({ id }) => id).toReversed())
  const { newestVersion, deviceLists } = await last.calls.devices.listDeviceLists({ afterVersion: 12n })
  expect([newestVersion, deviceLists.length]).toEqual([16n, 4])
})

test("other users of the app see a user's devices, but not their platforms", async () => {
  const [ada, bob] = [await server.person("fay"), await server.person("gus")]
  const device = await newDevice(connect(), ada)
  await device.register()
  const other = await newDevice(connect(), bob)
  const { devices } = await other.calls.devices.listDevices({ userId: ada.userId })
  expect(devices).toMatchObject([{ id: device.id, platform: "", userId: ada.userId }])
  const { newestVersion } = await other.calls.devices.listDeviceLists({ userId: ada.userId })
  expect(newestVersion).toBe(1n)
})

test("a user who left the app has no device", async () => {
  const session = await server.person("hal")
  const device = await newDevice(connect(), session)
  await device.register()
  const { endDevicesOf } = await import("../../server/rpc/messaging/device/end-user.ts")
  const { endedUsers } = await import("../../server/store/postgres/messaging/ended-users.ts")
  expect(await endedUsers(server.store.db, 10)).toEqual([])
  await server.store.db
    .updateTable("membership")
    .set({ status: "REMOVED" })
    .where("principal_id", "=", parseId("prn", session.userId) ?? expect.fail())
    .execute()
  const ended = await endedUsers(server.store.db, 10)
  expect(ended.map(({ userId }) => userId)).toEqual([session.userId])
  for (const { userId, place } of ended) {
    expect(await endDevicesOf(server.messaging.deps, userId, place)).toEqual([device.id])
    expect(await endDevicesOf(server.messaging.deps, userId, place)).toEqual([])
  }
  expect(await endedUsers(server.store.db, 10)).toEqual([])
})
