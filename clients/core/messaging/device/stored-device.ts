import { create } from "@bufbuild/protobuf"
import {
  type DeviceRecord,
  DeviceRecordSchema,
  type IdentityKey,
  IdentityKeySchema,
} from "@signet/proto/client/v1/records"
import { hex } from "../crypto/bytes.ts"
import type { Signer } from "../crypto/identity.ts"
import type { Suite } from "../crypto/suite.ts"
import type { Storage } from "../deps.ts"
import { MessagingError } from "../errors.ts"
import { deviceSpace } from "../store/store.ts"
import { allKeysOf, signingKeysOf, withoutDevice } from "./device-record.ts"

const place = { space: deviceSpace, table: "device", key: "self" } as const

/** The device record that this process has read last, and the signers of its keys. */
export interface StoredDevice {
  readonly record: DeviceRecord | undefined
  /** @throws MessagingError DEVICE_ENDED before registration */
  registered(): { readonly record: DeviceRecord; readonly key: IdentityKey }
  /** Reads the record, which another tab may have changed. @returns The generation of the store. */
  load(): Promise<bigint>
  /** Changes the stored record. @param next Returns the same record for no change. After a conflict, it runs again. */
  change(next: (before: DeviceRecord) => DeviceRecord): Promise<DeviceRecord>
  /** Drops the device, and wipes its keys. */
  drop(): Promise<void>
  /** Wipes the keys in memory. */
  wipe(): void
  /** @param publicKey The public key of this device that refers to the private one. */
  signerOf(publicKey: Uint8Array): Signer | undefined
  newKey(): Promise<IdentityKey>
}

type Deps = Storage & { readonly suite: Suite }

export async function openStoredDevice({ store, rows, suite }: Deps): Promise<StoredDevice> {
  let record: DeviceRecord | undefined
  const signers = new Map<string, Signer>()
  const hasReferences = suite.importSeed !== undefined

  const device: StoredDevice = {
    get record() {
      return record
    },
    registered() {
      if (record?.key === undefined || record.deviceId === "") {
        throw new MessagingError("DEVICE_ENDED", "this store has no registered device")
      }
      return { record, key: record.key }
    },
    async load() {
      const { generation, values } = await store.read(deviceSpace, [place])
      const [sealed] = values
      record = sealed && (await rows.read(place, DeviceRecordSchema, sealed))
      const sign = record?.hasKeyReferences && suite.importSeed === undefined ? refuseReference : suite.sign
      for (const { seed, publicKey } of signingKeysOf(record)) {
        signers.set(hex(publicKey), (message) => sign(seed, message))
      }
      return generation
    },
    async change(next) {
      for (;;) {
        const generation = await device.load()
        const before = record ?? create(DeviceRecordSchema)
        const changed = next(before)
        if (changed === before) return before
        const hasKeyReferences = hasReferences || changed.hasKeyReferences
        const after = create(DeviceRecordSchema, { ...changed, hasKeyReferences })
        const op = await rows.put(place, DeviceRecordSchema, after)
        const done = await store.transact(deviceSpace, generation, [op])
        if (done !== "ok") continue
        await device.load()
        return after
      }
    },
    async drop() {
      let dropped: IdentityKey[] = []
      await device.change((before) => {
        const after = withoutDevice(before)
        dropped = after === before ? [] : allKeysOf(before)
        return after
      })
      if (dropped.length > 0) signers.clear()
      for (const { seed } of dropped) seed.fill(0)
    },
    wipe() {
      for (const { seed } of allKeysOf(record)) seed.fill(0)
      signers.clear()
      record = undefined
    },
    signerOf: (publicKey) => signers.get(hex(publicKey)),
    async newKey() {
      const { seed, publicKey } = await suite.signatureKeyPair()
      return create(IdentityKeySchema, { seed: (await suite.importSeed?.(seed, publicKey)) ?? seed, publicKey })
    },
  }
  await device.load()
  await importSeeds(device, { store, rows, suite })
  return device
}

/**
 * Replaces the seeds of an earlier version by references. The keys are stored before the record, which changes as a whole:
 * an interrupted call is repeated by the next opening.
 */
async function importSeeds(device: StoredDevice, { store, rows, suite }: Deps): Promise<void> {
  const { importSeed } = suite
  if (importSeed === undefined) return
  for (;;) {
    const generation = await device.load()
    const { record } = device
    if (record === undefined || record.hasKeyReferences) return
    const imported = async ({ seed, publicKey }: IdentityKey) =>
      create(IdentityKeySchema, { seed: await importSeed(seed, publicKey), publicKey })
    const { $typeName: _, key, nextKey, formerKeys, ...kept } = record
    const after = {
      ...kept,
      ...(key && { key: await imported(key) }),
      ...(nextKey && { nextKey: await imported(nextKey) }),
      formerKeys: await Promise.all(formerKeys.map(imported)),
      hasKeyReferences: true,
    }
    const op = await rows.put(place, DeviceRecordSchema, after)
    await store.transact(deviceSpace, generation, [op])
    for (const { seed } of allKeysOf(record)) seed.fill(0)
  }
}

const refuseReference: Suite["sign"] = () => {
  throw new MessagingError("SECURE_STORE_CHANGED", "the platform's own createMessenger has stored this device's keys")
}
