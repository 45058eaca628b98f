import assert from "node:assert/strict"
import { verifyDeviceCredential } from "@signet/canonical/device-credential"
import { placeAfter, type SeenDeviceList, verifyDeviceList } from "@signet/canonical/device-list"
import { DeviceStatus } from "@signet/proto/credential/v1/device_list"
import { Device_Status } from "@signet/proto/messaging/v1/records"
import type { TestDevice } from "../../support/messaging/device.ts"
import { bytesOf, deviceRequest, hexOf, newLeafKey, nowSeconds, verify } from "../../support/messaging/device-parts.ts"
import * as scene from "../scene.ts"
import { flipped, refuses, there } from "../scene.ts"

const stranger = "prn_00000000000000000000000000"
const nobody = "dev_00000000000000000000000000"

function verifiedList(device: TestDevice, bytes: Uint8Array) {
  const { issuerKeys, place, userId } = device
  const expected = { issuerKeys, ...place, userId: bytesOf("prn", userId), atSeconds: BigInt(nowSeconds()), verify }
  return verifyDeviceList(bytes, expected)
}

export const cases = [
  ...scene.cases("devices", {
    async "a registered device has a credential for its key, and the next token carries it"({ unregistered }) {
      const device = await unregistered()
      const { calls, key, session, credentials } = device
      const request = await deviceRequest(key, device.place, session.userId)
      const answer = await calls.devices.registerDevice({ deviceRequest: request })
      const made = there(answer.device)
      assert.equal(answer.mustRefresh, true)
      assert.equal(made.status, Device_Status.ACTIVE)
      assert.equal(made.userId, session.userId)
      const { issuerKeys, place } = device
      const atSeconds = BigInt(nowSeconds())
      const expected = { issuerKeys, ...place, leafKey: key.publicKey, atSeconds, verify }
      const { body, hash } = verifyDeviceCredential(made.credential, expected)
      assert.equal(hexOf(body.deviceId), hexOf(bytesOf("dev", made.id)))
      assert.equal(hexOf(body.userId), hexOf(bytesOf("prn", session.userId)))
      assert.equal(hexOf(hash), hexOf(made.credentialHash))
      await refuses("DEVICE_REQUIRED", calls.keyPackages.getInventory({}))
      credentials.token = await session.refresh()
      assert.equal(there((await calls.keyPackages.getInventory({})).inventory).available, 0)
    },
    async "registering again with the same key gives the same device"({ unregistered }) {
      const device = await unregistered()
      const { id, credential } = await device.register()
      const again = await device.register()
      assert.equal(again.id, id)
      assert.equal(hexOf(again.credential), hexOf(credential))
    },
    async "another session of the user is bound to the device whose key it has"({ unregistered }) {
      const device = await unregistered()
      const { id } = await device.register()
      const second = await unregistered(await device.session.again())
      assert.equal((await second.register(device.key)).id, id)
      await second.calls.keyPackages.getInventory({})
      await device.calls.keyPackages.getInventory({})
    },
    async "a session has one device: registering another revokes the earlier one"({ unregistered }) {
      const device = await unregistered()
      const { id } = await device.register()
      assert.notEqual((await device.register(newLeafKey())).id, id)
      const { devices } = await device.calls.devices.listDevices({})
      assert.equal(devices.find((one) => one.id === id)?.status, Device_Status.REVOKED)
    },
    async "the key of another user, or of a revoked device, is refused as taken"({ unregistered, device }) {
      const first = await device({ keyPackages: 0 })
      const other = await unregistered()
      await refuses("DEVICE_KEY_TAKEN", other.register(first.key))
      const second = await unregistered(await first.session.again())
      await first.calls.devices.revokeDevice({ deviceId: first.id })
      await refuses("DEVICE_KEY_TAKEN", second.register(first.key))
    },
    async "a request for another user, at another time or with a bad signature is refused with its code"(of) {
      const device = await of.unregistered()
      const other = await of.unregistered()
      const { key, place, userId, calls } = device
      const ask = (request: Uint8Array) => calls.devices.registerDevice({ deviceRequest: request })
      const good = await deviceRequest(key, place, userId)
      await refuses("CREDENTIAL_INVALID REQUEST_WRONG_USER", ask(await deviceRequest(key, place, other.userId)))
      const old = await deviceRequest(key, place, userId, { issuedAt: BigInt(nowSeconds() - 301) })
      await refuses("CREDENTIAL_INVALID REQUEST_EXPIRED", ask(old))
      const early = await deviceRequest(key, place, userId, { issuedAt: BigInt(nowSeconds() + 400) })
      await refuses("CREDENTIAL_INVALID REQUEST_NOT_YET_VALID", ask(early))
      await refuses("CREDENTIAL_INVALID REQUEST_BAD_SIGNATURE", ask(flipped(good)))
      await refuses("CREDENTIAL_INVALID REQUEST_MALFORMED", ask(good.subarray(0, 40)))
      const elsewhere = { ...place, issuer: "https://elsewhere.example" }
      await refuses("CREDENTIAL_INVALID REQUEST_WRONG_ISSUER", ask(await deviceRequest(key, elsewhere, userId)))
    },
    async "a device renews its credential with a new key, and can sign with either key"({ device }) {
      const one = await device({ keyPackages: 0 })
      const { key, id } = one
      const renewed = await one.renew(newLeafKey())
      assert.equal(renewed.id, id)
      await one.upload(1)
      one.credentials.device = { id: bytesOf("dev", id), signer: key.signer }
      await one.calls.keyPackages.retireKeyPackages({})
      const other = await device({ keyPackages: 0 })
      await refuses("DEVICE_KEY_TAKEN", one.renew(other.key))
    },
    async "a renewal is only for the calling device"({ device }) {
      const [one, other] = [await device({ keyPackages: 0 }), await device({ keyPackages: 0 })]
      const request = await deviceRequest(newLeafKey(), one.place, one.userId)
      await refuses(
        "RESOURCE_UNRESOLVED",
        one.calls.devices.renewCredential({ deviceId: other.id, deviceRequest: request }),
      )
    },
    async "a revoked device cannot call, and nobody can add it"({ device }) {
      const [one, other] = [await device(), await device()]
      const { calls, id } = one
      await calls.devices.revokeDevice({ deviceId: id })
      const refused = await scene.refusal(calls.keyPackages.getInventory({}))
      assert(["DEVICE_REVOKED", "SESSION_REVOKED", "DEVICE_REQUIRED"].includes(refused.reason), refused.reason)
      const direct = { case: "direct", value: { peerUserId: one.userId } } as const
      await refuses("NO_KEY_PACKAGE", other.create(direct))
    },
    async "a repeated revocation is no error, and another user's device is not found"({ device }) {
      const [one, other] = [await device({ keyPackages: 0 }), await device({ keyPackages: 0 })]
      const second = await device({ of: one, keyPackages: 0 })
      const { calls } = one
      const first = await calls.devices.revokeDevice({ deviceId: second.id })
      const again = await calls.devices.revokeDevice({ deviceId: second.id })
      assert.equal(hexOf(again.deviceList), hexOf(first.deviceList))
      await refuses("NOT_FOUND", calls.devices.revokeDevice({ deviceId: other.id }))
      await refuses("NOT_FOUND", calls.devices.revokeDevice({ deviceId: nobody }))
    },
    async "devices are listed in pages, newest first, and without their platforms for other users"({ device }) {
      const one = await device({ keyPackages: 0 })
      const second = await device({ of: one, keyPackages: 0 })
      const { calls } = one
      const first = await calls.devices.listDevices({ pageSize: 1 })
      const rest = await calls.devices.listDevices({ pageSize: 1, pageToken: first.nextPageToken })
      assert.deepEqual(
        [...first.devices, ...rest.devices].map(({ id }) => id),
        [second.id, one.id],
      )
      assert.equal(rest.nextPageToken, "")
      assert.equal(first.devices[0]?.platform, "node-linux")
      const other = await device({ keyPackages: 0 })
      const seen = await other.calls.devices.listDevices({ userId: one.userId })
      assert.deepEqual(
        seen.devices.map(({ platform }) => platform),
        ["", ""],
      )
      await refuses("INVALID_FIELD", calls.devices.listDevices({ pageToken: "of another list" }))
    },
    async "device lists are a chain with the active devices"({ device }) {
      const one = await device({ keyPackages: 0 })
      const second = await device({ of: one, keyPackages: 0 })
      await one.calls.devices.revokeDevice({ deviceId: second.id })
      const { deviceLists, newestVersion } = await one.calls.devices.listDeviceLists({})
      assert.equal(newestVersion, 3n)
      let seen: SeenDeviceList | undefined
      for (const bytes of deviceLists) {
        const list = verifiedList(one, bytes)
        assert.equal(placeAfter(seen, list), seen === undefined ? "first" : "next")
        seen = { version: list.body.listVersion, hash: list.hash }
      }
      const last = verifiedList(one, there(deviceLists.at(-1)))
      const statusOf = (id: string) =>
        last.body.entries.find(({ deviceId }) => hexOf(deviceId) === hexOf(bytesOf("dev", id)))?.status
      assert.equal(statusOf(one.id), DeviceStatus.ACTIVE)
      assert.equal(statusOf(second.id), DeviceStatus.REVOKED)
      const newer = await one.calls.devices.listDeviceLists({ afterVersion: 2n })
      assert.deepEqual(newer.deviceLists.map(hexOf), deviceLists.slice(2).map(hexOf))
      const few = await one.calls.devices.listDeviceLists({ limit: 1 })
      assert.deepEqual(few.deviceLists.map(hexOf), deviceLists.slice(0, 1).map(hexOf))
    },
    async "an unknown user is answered like a user of another app"({ device }) {
      const { calls } = await device({ keyPackages: 0 })
      await refuses("RESOURCE_UNRESOLVED", calls.devices.listDevices({ userId: stranger }))
      await refuses("RESOURCE_UNRESOLVED", calls.devices.listDeviceLists({ userId: stranger }))
    },
    async "a user without any device has no list"({ unregistered }) {
      const { calls } = await unregistered()
      const answer = await calls.devices.listDeviceLists({})
      assert.deepEqual([answer.deviceLists.length, answer.newestVersion], [0, 0n])
    },
    async "the issuer's keys and the limits are public"({ anonymous, world }) {
      const { issuerKeySet } = await anonymous.devices.getIssuerKeys({})
      assert(issuerKeySet.length > 0)
      const { limits } = await anonymous.conversations.getLimits({})
      assert.equal(limits?.leavesPerConversation, 512)
      assert(world.baseUrl.startsWith("http"))
    },
  }),
  ...scene.cases(
    "devices",
    {
      async "a user has at most sixteen devices"({ device, unregistered }) {
        const one = await device({ keyPackages: 0 })
        for (let i = 1; i < 16; i++) await device({ of: one, keyPackages: 0 })
        const last = await unregistered(await one.session.again())
        await refuses("LIMIT_EXCEEDED", last.register())
      },
    },
    { slow: true },
  ),
]
