import { create } from "@bufbuild/protobuf"
import { hash } from "@signet/canonical/hash"
import { DeviceRecordSchema, type IdentityKey } from "@signet/proto/client/v1/records"
import type { DeviceSigner } from "../calls.ts"
import type { Signer } from "../crypto/identity.ts"
import type { Suite } from "../crypto/suite.ts"
import type { Storage } from "../deps.ts"
import { bytesOfId } from "../ids.ts"
import type { Identity } from "../mls.ts"
import { withIssuerKeySet } from "./device-record.ts"
import {
  type DeviceTraits,
  type Enrollment,
  type RegistrationDeps,
  register,
  renew,
  signerFor,
} from "./registration.ts"
import { openStoredDevice } from "./stored-device.ts"

/** This device: its id, its credential, and references to its keys, which can sign but not be read. */
export interface OwnDevice {
  /** `dev_…`; undefined before it is registered. */
  readonly id: string | undefined
  /**
   * The identity for leaves and key packages. Its key is a reference.
   *
   * @throws MessagingError DEVICE_ENDED before registration
   */
  identity(): Identity
  /** H("device-credential", the newest credential). */
  credentialHash(): Uint8Array
  /** Validity of the newest credential, in Unix seconds. */
  readonly notBefore: number
  readonly notAfter: number
  /** The newest stored issuer key set; empty for none. */
  readonly issuerKeySet: Uint8Array
  /** Stores an issuer key set. @returns The stored one: another tab may have stored a newer one. */
  storeIssuerKeySet(signed: Uint8Array): Promise<Uint8Array>
  /** The signer of a key reference, for the engine. */
  signerOf(reference: Uint8Array): Signer | undefined
  /** The signer of calls; undefined before registration. */
  caller(): DeviceSigner | undefined
  /** Registers this device for the session. Safe to interrupt and repeat. @throws MessagingError DEVICE_ENDED */
  register(enrollment: Enrollment): Promise<void>
  /** Requests a credential for a new key. Safe to interrupt and repeat. @throws MessagingError DEVICE_ENDED */
  renew(enrollment: Enrollment): Promise<void>
  /** Flags that are stored with the credential. */
  readonly marks: DeviceMarks
  mark(marks: Partial<DeviceMarks>): Promise<void>
  /** Drops id, keys and credential: the next `register` creates another device. */
  drop(): Promise<void>
  /** Reads the stored record, which another tab may have changed. */
  reload(): Promise<void>
  /** Wipes the keys in memory. Every later signature fails. */
  wipeKeys(): void
}

interface DeviceMarks {
  /** True from a renewal until the key packages of the former key are retired: claims may still return them. */
  readonly hasFormerKeyPackages: boolean
  /** True if every conversation record names its generation. One without a generation is then a restored old row. */
  readonly bindsRecords: boolean
  /** True if the device was revoked and is being replaced: see start-anew.ts. */
  readonly givesWay: boolean
}

interface DeviceOptions extends DeviceTraits, Storage {
  readonly suite: Suite
  readonly renewToken: () => Promise<string>
}

export async function openDevice(options: DeviceOptions): Promise<OwnDevice> {
  const { suite, renewToken } = options
  const stored = await openStoredDevice(options)
  /** Signs calls instead of the record's key, while a renewal whose response was lost is repeated. */
  let proving: IdentityKey | undefined
  const deps: RegistrationDeps = {
    stored,
    suite,
    traits: options,
    renewToken,
    async withProofKey(key, work) {
      proving = key
      try {
        return await work()
      } finally {
        proving = undefined
      }
    },
  }

  return {
    get id() {
      return stored.record?.deviceId || undefined
    },
    identity() {
      const { record, key } = stored.registered()
      return { credential: record.credential, signatureKey: key.publicKey, key: key.publicKey }
    },
    credentialHash: () => hash("device-credential", stored.registered().record.credential),
    get notBefore() {
      return Number(stored.registered().record.credentialNotBefore)
    },
    get notAfter() {
      return Number(stored.registered().record.credentialNotAfter)
    },
    get issuerKeySet() {
      return stored.record?.issuerKeySet ?? new Uint8Array()
    },
    async storeIssuerKeySet(signed) {
      return (await stored.change((before) => withIssuerKeySet(before, signed))).issuerKeySet
    },
    signerOf: stored.signerOf,
    caller() {
      const { key, deviceId = "" } = stored.record ?? {}
      if (key === undefined || deviceId === "") return undefined
      return { id: bytesOfId("dev", deviceId), signer: signerFor(suite, proving ?? key) }
    },
    register: (enrollment) => register(deps, enrollment),
    renew: (enrollment) => renew(deps, enrollment),
    get marks() {
      const { hasFormerKeyPackages = false, bindsRecords = false, givesWay = false } = stored.record ?? {}
      return { hasFormerKeyPackages, bindsRecords, givesWay }
    },
    async mark(marks) {
      await stored.change((before) => create(DeviceRecordSchema, { ...before, ...marks }))
    },
    drop: stored.drop,
    async reload() {
      await stored.load()
    },
    wipeKeys: stored.wipe,
  }
}
