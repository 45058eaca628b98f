import { create, isMessage } from "@bufbuild/protobuf"
import { issueIssuerKeySet } from "@signet/canonical/issuer-keys"
import { type DeviceRecord, DeviceRecordSchema } from "@signet/proto/client/v1/records"
import { StorageClass } from "@signet/proto/credential/v1/device_request"
import { expect, test } from "vitest"
import { keySetFields, root } from "../../../../proto/canonical/testing/world.ts"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { openMemoryStore } from "../store/memory.ts"
import { sealedRows } from "../store/sealed-rows.ts"
import { deviceSpace, type MessagingStore } from "../store/store.ts"
import { isZero } from "../testing/secrets.ts"
import { testBox } from "../testing/test-box.ts"
import { openDevice } from "./device.ts"
import { allKeysOf } from "./device-record.ts"
import { writeDeviceRows } from "./device-rows.ts"
import { versionOf } from "./issuer.ts"
import { openStoredDevice } from "./stored-device.ts"

/** Opens the same device in several tabs. */
async function tabs(count: number) {
  const box = testBox()
  const scope = { app: "app", user: "user" }
  await box.createKey(scope)
  const options = {
    store: openMemoryStore(),
    rows: sealedRows(box, scope),
    suite: makeNodeSuite(),
    issuer: "https://auth.example.com",
    platform: "test",
    storageClass: StorageClass.MEMORY,
    renewToken: async () => "",
  }
  return Promise.all(Array.from({ length: count }, () => openDevice(options)))
}

const sets = await Promise.all(
  [1n, 2n, 3n].map((setVersion) => issueIssuerKeySet({ ...keySetFields, setVersion }, root)),
)
const [first = new Uint8Array(), second = first, third = first] = sets

test.each([
  ["with an older one last", [third, first]],
  ["with an older one first", [first, third]],
  ["in another order", [second, third, first]],
])("of the key sets that tabs store, %s, the newest is kept", async (_, order) => {
  const all = await tabs(order.length)
  for (const [i, signed] of order.entries()) await all[i]?.storeIssuerKeySet(signed)
  for (const device of all) {
    await device.reload()
    expect(versionOf(device.issuerKeySet)).toBe(3n)
  }
  // A tab with an older set gets the newest one.
  expect(await all[0]?.storeIssuerKeySet(second)).toEqual(third)
})

test("of two key sets of one version, the one that was stored first is kept", async () => {
  const [device] = await tabs(1)
  const other = await issueIssuerKeySet({ ...keySetFields, setVersion: 3n, notAfter: keySetFields.notAfter - 1n }, root)
  await device?.storeIssuerKeySet(third)
  expect(await device?.storeIssuerKeySet(other)).toEqual(third)
})

test("of the key sets that tabs store concurrently, the newest is kept", async () => {
  const all = await tabs(3)
  await Promise.all([first, third, second].map((signed, i) => all[i]?.storeIssuerKeySet(signed)))
  const [again] = all
  await again?.reload()
  expect(again?.issuerKeySet).toEqual(third)
})

/** Opens a device with a current key, a former one, and one of a pending renewal. */
async function withKeys() {
  const box = testBox()
  const scope = { app: "app", user: "user" }
  await box.createKey(scope)
  const rows = sealedRows(box, scope)
  const read: DeviceRecord[] = []
  const watched: typeof rows = {
    ...rows,
    async read(place, schema, sealed) {
      const found = await rows.read(place, schema, sealed)
      if (isMessage(found, DeviceRecordSchema)) read.push(found)
      return found
    },
  }
  const suite = makeNodeSuite()
  const device = await openStoredDevice({ store: openMemoryStore(), rows: watched, suite })
  const [key, former, nextKey] = [await device.newKey(), await device.newKey(), await device.newKey()]
  await device.change((before) => create(DeviceRecordSchema, { ...before, key, formerKeys: [former], nextKey }))
  return { device, read, keys: [key, former, nextKey].map(({ publicKey }) => publicKey) }
}

test("wipeKeys wipes the current, former and next keys of a device", async () => {
  const { device, keys } = await withKeys()
  const seeds = allKeysOf(device.record).map(({ seed }) => seed)
  expect([seeds.length, seeds.some(isZero)]).toEqual([3, false])
  device.wipe()
  expect(seeds.every(isZero)).toBe(true)
  expect(keys.map((key) => device.signerOf(key))).toEqual([undefined, undefined, undefined])
})

test("replacing a device wipes its keys, which then sign nothing", async () => {
  const { device, read, keys } = await withKeys()
  await device.drop()
  // The record before the replacement.
  const seeds = allKeysOf(read.findLast(({ key }) => key !== undefined)).map(({ seed }) => seed)
  expect([seeds.length, seeds.every(isZero)]).toEqual([3, true])
  expect(allKeysOf(device.record)).toEqual([])
  expect(keys.map((key) => device.signerOf(key))).toEqual([undefined, undefined, undefined])
})

test("a device that another tab has replaced and registered is not dropped again", async () => {
  const { device, keys } = await withKeys()
  await device.change((before) => create(DeviceRecordSchema, { ...before, deviceId: "dev_new" }))
  await device.drop()
  expect(device.record?.deviceId).toBe("dev_new")
  expect(allKeysOf(device.record).some(({ seed }) => isZero(seed))).toBe(false)
  const [key, former] = keys.map((one) => device.signerOf(one))
  expect([key, former]).not.toContain(undefined)
})

test("rows of the device are written after another tab's write, and never over an existing row", async () => {
  const store = openMemoryStore()
  const overtaken = (times: number): MessagingStore => {
    let left = times
    return {
      ...store,
      async transact(space, generation, ops) {
        if (left-- > 0) await store.transact(space, generation, [])
        return store.transact(space, generation, ops)
      },
    }
  }
  const row = { table: "peer", key: "a", value: Uint8Array.of(1) } as const
  await writeDeviceRows({ store: overtaken(2) }, [{ op: "create", ...row }])
  expect(await store.list(deviceSpace, "peer")).toEqual([{ key: "a", value: Uint8Array.of(1) }])
  const exists = { reason: "STATE_TAMPERED", message: "the row exists already" }
  await expect(writeDeviceRows({ store }, [{ op: "create", ...row }])).rejects.toMatchObject(exists)
  const rejects = { reason: "STATE_TAMPERED", message: "the store rejects every write" }
  await expect(writeDeviceRows({ store: overtaken(1_000) }, [{ op: "put", ...row }])).rejects.toMatchObject(rejects)
})

test("a device whose keys were wiped signs nothing", async () => {
  const [device] = await tabs(1)
  device?.wipeKeys()
  expect(() => device?.identity()).toThrow(expect.objectContaining({ reason: "DEVICE_ENDED" }))
  expect(device?.caller()).toBeUndefined()
})
