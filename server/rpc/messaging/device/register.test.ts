import { idOf, newId } from "@signet/kernel/ids"
import { DeviceFlag } from "@signet/proto/credential/v1/device_credential"
import { StorageClass } from "@signet/proto/credential/v1/device_request"
import { Device_Status } from "@signet/proto/messaging/v1/records"
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import { refusal } from "../../../../test/support/clients.ts"
import { newDevice } from "../../../../test/support/messaging/device.ts"
import { newLeafKey, randomBytes } from "../../../../test/support/messaging/device-parts.ts"
import { type MessagingWorld, openMessagingWorld } from "../testing/world.ts"
import { flagsOf } from "./device-credential.ts"

let world: MessagingWorld
beforeAll(async () => {
  world = await openMessagingWorld()
})
afterAll(() => world.close())

test.each(["the first", "another"])("tabs that register at once are one device: %s of the user", async (which) => {
  const user = await world.newUser()
  if (which === "another") await world.newDevice({ of: user })
  const key = newLeafKey()
  const [tab, faster] = [await newDevice(world.transport, user), await newDevice(world.transport, user)]
  const { devices } = world.deps.store
  const { findByKey } = devices
  let isFirst = true
  Object.assign(devices, {
    async findByKey(wanted: Uint8Array) {
      if (isFirst) {
        isFirst = false
        await faster.register(key)
      }
      return findByKey(wanted)
    },
  })
  const device = await tab.register(key)
  Object.assign(devices, { findByKey })
  expect(device.id).toBe(faster.id)
  expect(world.faults).toEqual([])
})

test("a session that changes to another device of its user revokes the device that it was bound to", async () => {
  const user = await world.newUser()
  const [first, second] = [await newDevice(world.transport, user), await newDevice(world.transport, await user.again())]
  const key = newLeafKey()
  await first.register()
  const { id: former } = first
  await second.register(key)
  await first.register(key)
  expect(first.id).toBe(second.id)
  const { devices } = await second.calls.devices.listDevices({})
  expect(new Map(devices.map(({ id, status }) => [id, status]))).toEqual(
    new Map([
      [former, Device_Status.REVOKED],
      [second.id, Device_Status.ACTIVE],
    ]),
  )
  const { rows } = await sql<{ kind: string; target_id: string }>`
    select kind, target_id from audit_event where actor_principal_id = ${user.userId} order by occurred_at, id
  `.execute(world.store.db)
  const last = rows.slice(-2).map(({ kind, target_id }) => `${kind} ${target_id}`)
  expect(last.toSorted()).toEqual([`device.bound ${second.id}`, `device.revoked ${former}`])
})

test("a revoked device that is revoked again keeps its list", async () => {
  const user = await world.newUser()
  const { id: deviceId } = await world.newDevice({ of: user, packages: 0 })
  const { calls } = await world.newDevice({ of: await user.again(), packages: 0 })
  const revoked = await calls.devices.revokeDevice({ deviceId })
  expect(await calls.devices.revokeDevice({ deviceId })).toEqual(revoked)
})

test.each([
  [StorageClass.BROWSER, DeviceFlag.EPHEMERAL_STORAGE],
  [StorageClass.MEMORY, DeviceFlag.EPHEMERAL_STORAGE],
  [StorageClass.HARDWARE, 0],
])("the credential of a device with storage %s has the flags %s", (storageClass, flags) => {
  expect(flagsOf({ storageClass } as Parameters<typeof flagsOf>[0])).toBe(flags)
})

test("a token of another user, app or tenant than its device's calls nothing", async () => {
  const [mine, other] = [await world.newDevice({ packages: 0 }), await world.newDevice({ packages: 0 })]
  const claims = JSON.parse(Buffer.from(mine.session.accessToken.split(".")[1] ?? "", "base64url").toString())
  const list = (change: object) => {
    const payload = Buffer.from(JSON.stringify({ ...claims, ...change })).toString("base64url")
    return refusal(
      mine.calls.conversations.listConversations(
        {},
        { headers: { authorization: `Bearer header.${payload}.signature` } },
      ),
    )
  }
  await mine.calls.conversations.listConversations({})
  const random = randomBytes(10)
  for (const change of [
    { did: other.id },
    { did: idOf("dev", randomBytes(16)) },
    { sub: other.userId },
    { app_id: newId("app", 1, random) },
    { tenant_id: newId("ten", 1, random) },
  ]) {
    expect([change, await list(change)]).toEqual([change, "Unauthenticated DEVICE_REQUIRED"])
  }
  expect(world.faults).toEqual([])
})

test("a device that renews with its own key has no former key", async () => {
  const device = await world.newDevice({ packages: 0 })
  const { db } = world.store
  const rowOf = async () => {
    const { rows } = await sql<{ previous_leaf_key: Uint8Array | null; credential_hash: Uint8Array }>`
      select previous_leaf_key, credential_hash from messaging_device where id = ${device.id}
    `.execute(db)
    return rows[0] ?? expect.fail("no device")
  }
  const before = await rowOf()
  await sql`update messaging_device set changed_at = changed_at - interval '2 hours' where id = ${device.id}`.execute(
    db,
  )
  await device.renew()
  const after = await rowOf()
  expect(after.previous_leaf_key).toBeNull()
  expect(after.credential_hash).not.toEqual(before.credential_hash)
})

test("devices of the same age are listed once each, page by page", async () => {
  const user = await world.newUser()
  const devices = [await world.newDevice({ of: user, packages: 0 }), await world.newDevice({ of: user, packages: 0 })]
  devices.push(await world.newDevice({ of: user, packages: 0 }))
  await sql`update messaging_device set created_at = '2026-01-01' where user_id = ${user.userId}`.execute(
    world.store.db,
  )
  const listed: string[] = []
  let pageToken = ""
  do {
    const page = await devices[0]?.calls.devices.listDevices({ pageSize: 1, pageToken })
    listed.push(...(page?.devices ?? []).map(({ id }) => id))
    pageToken = page?.nextPageToken ?? ""
  } while (pageToken !== "" && listed.length < 10)
  expect(listed.toSorted()).toEqual(devices.map(({ id }) => id).toSorted())
})
