// Decides the changes of a device's stored record. Pure: `stored-device.ts` writes it.
import { create } from "@bufbuild/protobuf"
import { type DeviceRecord, DeviceRecordSchema, type IdentityKey } from "@signet/proto/client/v1/records"
import { hex } from "../crypto/bytes.ts"
import { versionOf } from "./issuer.ts"

type PublicKey = Pick<IdentityKey, "publicKey">

/** The keys that sign: the current one, and former ones that leaves still name. */
export const signingKeysOf = (record: DeviceRecord | undefined): IdentityKey[] =>
  record === undefined ? [] : [...(record.key ? [record.key] : []), ...record.formerKeys]

/** The signing keys and the key of a pending renewal. */
export const allKeysOf = (record: DeviceRecord | undefined): IdentityKey[] => [
  ...signingKeysOf(record),
  ...(record?.nextKey ? [record.nextKey] : []),
]

export const isSameKey = (one: PublicKey | undefined, other: PublicKey): boolean =>
  one !== undefined && hex(one.publicKey) === hex(other.publicKey)

/** A verified credential, as the service issued it. */
interface IssuedCredential {
  readonly deviceId: string
  readonly credential: Uint8Array
  readonly notBefore: bigint
  readonly notAfter: bigint
}

/**
 * Puts a verified credential into the record. The key that it is for becomes the current key.
 *
 * @returns The same record if it no longer has that key, because another tab has renewed since.
 */
export function withCredential(before: DeviceRecord, issued: IssuedCredential, key: PublicKey): DeviceRecord {
  const { key: current, nextKey, ...kept } = before
  const isNext = isSameKey(nextKey, key)
  // Uses the stored key, because the one in memory may have been wiped.
  const stored = isNext ? nextKey : current
  if (stored === undefined || !isSameKey(stored, key)) return before
  return create(DeviceRecordSchema, {
    ...kept,
    deviceId: issued.deviceId,
    credential: issued.credential,
    credentialNotBefore: issued.notBefore,
    credentialNotAfter: issued.notAfter,
    key: stored,
    formerKeys: signingKeysOf(before).filter((one) => !isSameKey(one, key)),
    hasFormerKeyPackages: before.hasFormerKeyPackages || isNext,
    ...(isNext || nextKey === undefined ? {} : { nextKey }),
  })
}

export const withKey = (before: DeviceRecord, key: IdentityKey): DeviceRecord =>
  before.key === undefined ? create(DeviceRecordSchema, { ...before, key }) : before

export const withNextKey = (before: DeviceRecord, nextKey: IdentityKey): DeviceRecord =>
  before.nextKey === undefined ? create(DeviceRecordSchema, { ...before, nextKey }) : before

export const withIssuerKeySet = (before: DeviceRecord, issuerKeySet: Uint8Array): DeviceRecord =>
  versionOf(issuerKeySet) > versionOf(before.issuerKeySet)
    ? create(DeviceRecordSchema, { ...before, issuerKeySet })
    : before

/**
 * Drops id, keys and credential, so that the next registration creates another device.
 *
 * @returns The same record if another tab has replaced and registered the device since.
 */
export function withoutDevice(before: DeviceRecord): DeviceRecord {
  const { deviceId, givesWay, issuerKeySet, bindsRecords } = before
  return deviceId !== "" && !givesWay ? before : create(DeviceRecordSchema, { issuerKeySet, bindsRecords })
}

/** The next step after an answer to a registration. */
export type AfterRegistration = "accept" | "renew" | "replace" | "refuse"

/**
 * Decides the next step after an answer to a registration.
 *
 * @param answered `isUsable`: the credential is for a stored key, and has not expired.
 * @param isSecondTry True after a device was replaced; it is replaced only once.
 */
export function decideRegistration(
  record: DeviceRecord | undefined,
  answered: { readonly deviceId: string; readonly isUsable: boolean },
  isSecondTry: boolean,
): AfterRegistration {
  if (answered.isUsable) return "accept"
  // The device was offline until its credential expired, or the credential is for a key that is not stored here.
  if (record?.deviceId === answered.deviceId) return "renew"
  // The session has another device, and the stored key was never registered, so a new key loses nothing.
  return record?.deviceId === "" && !isSecondTry ? "replace" : "refuse"
}
