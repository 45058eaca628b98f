// A device whose rows have the seeds of its keys is opened where the platform stores the keys.
import { create } from "@bufbuild/protobuf"
import { type DeviceRecord, DeviceRecordSchema } from "@signet/proto/client/v1/records"
import { expect, test } from "vitest"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { hex } from "../crypto/bytes.ts"
import type { KeyReferences, Suite } from "../crypto/suite.ts"
import { openMemoryStore } from "../store/memory.ts"
import { sealedRows } from "../store/sealed-rows.ts"
import type { MessagingStore } from "../store/store.ts"
import { testBox } from "../testing/test-box.ts"
import { allKeysOf } from "./device-record.ts"
import { openStoredDevice } from "./stored-device.ts"

const seeds = makeNodeSuite()
const message = Uint8Array.of(1, 2, 3)

/** A platform that stores keys. Equal keys have equal references. */
function platform(): Suite & { readonly keys: Map<string, Uint8Array> } {
  const keys = new Map<string, Uint8Array>()
  const referenceOf = async (publicKey: Uint8Array) => seeds.digest(publicKey)
  const references: KeyReferences = {
    async importSeed(seed, publicKey) {
      const reference = await referenceOf(publicKey)
      if (keys.has(hex(seed))) return seed.slice()
      keys.set(hex(reference), seed.slice())
      return reference
    },
    sign: (reference, signed) => seeds.sign(keys.get(hex(reference)) ?? expect.fail("no such key"), signed),
    async signatureKeyPair() {
      const { seed, publicKey } = await seeds.signatureKeyPair()
      const reference = await referenceOf(publicKey)
      keys.set(hex(reference), seed)
      return { seed: reference, publicKey }
    },
  }
  return { ...seeds, ...references, keys }
}

async function storage(store: MessagingStore = openMemoryStore()) {
  const box = testBox()
  const scope = { app: "app", user: "user" }
  await box.createKey(scope)
  return { store, rows: sealedRows(box, scope) }
}

/** Stores a device with a current, a former and a next key, as a platform without references does. */
async function formerDevice(at: Awaited<ReturnType<typeof storage>>): Promise<DeviceRecord> {
  const device = await openStoredDevice({ ...at, suite: seeds })
  const [key, former, nextKey] = [await device.newKey(), await device.newKey(), await device.newKey()]
  return device.change((before) =>
    create(DeviceRecordSchema, { ...before, deviceId: "dev_1", key, formerKeys: [former], nextKey }),
  )
}

test("each seed is replaced by a reference once, and each key signs as before", async () => {
  const at = await storage()
  const before = await formerDevice(at)
  expect(before.hasKeyReferences).toBe(false)
  const suite = platform()
  for (let opening = 0; opening < 2; opening++) {
    const { record, signerOf } = await openStoredDevice({ ...at, suite })
    expect(record?.hasKeyReferences).toBe(true)
    const [after, kept] = [allKeysOf(record), allKeysOf(before)]
    expect(after.map(({ publicKey }) => publicKey)).toEqual(kept.map(({ publicKey }) => publicKey))
    for (const { seed } of after) expect(kept.map((one) => one.seed)).not.toContainEqual(seed)
    for (const { publicKey } of [record?.key, ...(record?.formerKeys ?? [])].filter((one) => one !== undefined)) {
      const signature = await signerOf(publicKey)?.(message)
      expect(await seeds.verify(publicKey, message, signature ?? message)).toBe(true)
    }
  }
  expect(suite.keys.size).toBe(3)
})

test("an import that ends before its record is written is repeated, and stores no key twice", async () => {
  const store = openMemoryStore()
  const at = await storage(store)
  await formerDevice(at)
  const suite = platform()
  const ending = { ...store, transact: () => Promise.reject(new Error("the page was closed")) }
  await expect(openStoredDevice({ ...at, store: ending, suite })).rejects.toThrow("the page was closed")
  expect(suite.keys.size).toBe(3)
  // The seeds are still there: the program before the update continues with them.
  expect((await openStoredDevice({ ...at, suite: seeds })).record?.hasKeyReferences).toBe(false)
  expect((await openStoredDevice({ ...at, suite })).record?.hasKeyReferences).toBe(true)
  expect(suite.keys.size).toBe(3)
})

test("of two tabs that import at once, both have the same references", async () => {
  const at = await storage()
  await formerDevice(at)
  const suite = platform()
  const open = () => openStoredDevice({ ...at, suite })
  const [here, there] = await Promise.all([open(), open()])
  await Promise.all([here.load(), there.load()])
  expect(here.record).toEqual(there.record)
  expect(suite.keys.size).toBe(3)
})

test("a new device has references from its first key on", async () => {
  const at = await storage()
  const device = await openStoredDevice({ ...at, suite: platform() })
  const key = await device.newKey()
  await device.change((before) => create(DeviceRecordSchema, { ...before, key }))
  expect(device.record?.hasKeyReferences).toBe(true)
})

test("a platform without the keys reads the record, and refuses to sign with a reference", async () => {
  const at = await storage()
  const { key } = await formerDevice(at)
  await openStoredDevice({ ...at, suite: platform() })
  const { signerOf, change } = await openStoredDevice({ ...at, suite: seeds })
  // Its changes keep the mark: the references are no seeds.
  expect((await change((before) => ({ ...before, bindsRecords: true }))).hasKeyReferences).toBe(true)
  const sign = signerOf(key?.publicKey ?? message)
  expect(() => sign?.(message)).toThrow(expect.objectContaining({ reason: "SECURE_STORE_CHANGED" }))
})
