import { create } from "@bufbuild/protobuf"
import { issueDeviceRequest } from "@signet/canonical/device-request"
import type { Signer as CanonicalSigner } from "@signet/canonical/ed25519"
import { hash, issuerIdOf } from "@signet/canonical/hash"
import {
  type DeviceRecord,
  DeviceRecordSchema,
  type IdentityKey,
  IdentityKeySchema,
} from "@signet/proto/client/v1/records"
import type { StorageClass } from "@signet/proto/credential/v1/device_request"
import type { Device } from "@signet/proto/messaging/v1/records"
import { failureOf, isFailure } from "../../errors.ts"
import type { Calls, DeviceSigner } from "../calls.ts"
import { credentialIn, realmOf, verifyFresh } from "../checks/credential.ts"
import { hex } from "../crypto/bytes.ts"
import type { Signer } from "../crypto/identity.ts"
import type { Suite } from "../crypto/suite.ts"
import { type Ambient, nowSeconds, type Trust } from "../deps.ts"
import { MessagingError } from "../errors.ts"
import { answeredId, bytesOfId } from "../ids.ts"
import type { Identity } from "../mls.ts"
import { refusingAs } from "../refusing.ts"
import type { SealedRows } from "../store/sealed-rows.ts"
import { deviceSpace, type MessagingStore } from "../store/store.ts"
import { versionOf } from "./issuer.ts"

const place = { space: deviceSpace, table: "device", key: "self" } as const

/** This device: its id, its papers, and keys that only sign. */
export interface OwnDevice {
  /** `dev_…`; undefined before it is registered. */
  readonly id: string | undefined
  /** What leaves and key packages carry. The key in it is a reference. @throws MessagingError before registration. */
  identity(): Identity
  /** H("device-credential", the newest credential). */
  credentialHash(): Uint8Array
  /** Unix seconds. */
  readonly notBefore: number
  readonly notAfter: number
  /** The newest issuer key set that was kept; empty for none. */
  readonly issuerKeySet: Uint8Array
  /** @returns The one that is kept: this one, unless another tab has kept a newer one meanwhile. */
  keepIssuerKeySet(signed: Uint8Array): Promise<Uint8Array>
  /** What signs for a reference: for the engine. */
  signerOf(reference: Uint8Array): Signer | undefined
  /** What signs calls. */
  caller(): DeviceSigner | undefined
  /**
   * Becomes the device of the session: a new one, or the one that it is already where the user has signed in anew. Papers
   * that have ended meanwhile are renewed. Safe to stop and repeat anywhere.
   *
   * @throws MessagingError DEVICE_ENDED
   */
  register(papers: Papers, isSecondTry?: boolean): Promise<void>
  /** What is kept of it besides its papers. */
  readonly marks: DeviceMarks
  mark(marks: Partial<DeviceMarks>): Promise<void>
  /** Gives up id, keys and papers: the next `register` makes another device. */
  startAnew(): Promise<void>
  /** Another tab may have written. */
  reload(): Promise<void>
  /** Wipes the keys that are in memory: nothing is signed any more. */
  forget(): void
  /** A new credential for a new key: the same one until the service has answered. Safe to stop and repeat anywhere. */
  renew(papers: Papers): Promise<void>
}

export interface DeviceMarks {
  /** The service still gives out key packages of the key before. Set with the new key, until they are retired. */
  readonly hasFormerKeyPackages: boolean
  /** Every conversation's record names its generation: one that does not was put back. */
  readonly bindsRecords: boolean
  /** It has ended, and another one takes its place: see start-anew.ts. */
  readonly givesWay: boolean
}

export interface DeviceOptions {
  readonly store: MessagingStore
  readonly rows: SealedRows
  readonly suite: Suite
  /** The issuer's URL. */
  readonly issuer: string
  /** What it runs on, for the user's list of devices: [a-z0-9._:/-]. */
  readonly platform: string
  readonly storageClass: StorageClass
  readonly renewToken: () => Promise<string>
}

type Papers = Ambient &
  Trust & {
    readonly calls: Pick<Calls, "devices">
  }

export async function openDevice(options: DeviceOptions): Promise<OwnDevice> {
  const { store, rows, suite } = options
  let record: DeviceRecord | undefined
  const signers = new Map<string, Signer>()
  /** Signs calls in place of the record's key. */
  let proving: IdentityKey | undefined

  /** Reads what is stored: another tab may have written. */
  const load = async (): Promise<bigint> => {
    const { generation, values } = await store.read(deviceSpace, [place])
    const [sealed] = values
    record = sealed && (await rows.read(place, DeviceRecordSchema, sealed))
    for (const key of keysOf(record)) signers.set(hex(key.publicKey), (message) => suite.sign(key.seed, message))
    return generation
  }
  /** Changes the record, on top of whatever is stored. */
  const change = async (next: (before: DeviceRecord) => DeviceRecord): Promise<DeviceRecord> => {
    for (;;) {
      const generation = await load()
      const before = record ?? create(DeviceRecordSchema)
      const after = next(before)
      if (after === before) return before
      const op = await rows.put(place, DeviceRecordSchema, after)
      const done = await store.transact(deviceSpace, generation, [op])
      if (done !== "ok") continue
      await load()
      return after
    }
  }
  await load()

  const newKey = async (): Promise<IdentityKey> => {
    const { seed, publicKey } = await suite.signatureKeyPair()
    return create(IdentityKeySchema, { seed, publicKey })
  }
  const registered = () => {
    if (record?.key === undefined || record.deviceId === "") throw new MessagingError("DEVICE_ENDED", "not registered")
    return { record, key: record.key }
  }
  const signerFor = (key: IdentityKey): CanonicalSigner => ({
    publicKey: key.publicKey,
    sign: (message) => suite.sign(key.seed, message),
  })
  const requestFor = ({ owner, random, clock }: Papers, key: IdentityKey) =>
    issueDeviceRequest(
      {
        issuerId: issuerIdOf(options.issuer),
        ...(owner.tenant === undefined ? {} : { tenantId: owner.tenant }),
        appId: owner.app,
        userId: owner.user,
        nonce: random.bytes(16),
        platform: options.platform,
        storageClass: options.storageClass,
        issuedAt: BigInt(nowSeconds({ clock })),
      },
      signerFor(key),
    )
  /** Whether a credential is for a key that is here, and has not ended: as it says itself, which `take` verifies. */
  const isGood = async (papers: Papers, credential: Uint8Array): Promise<boolean> => {
    const { leafSignatureKey: publicKey, notAfter } = await refusingAs("ANSWER_REFUSED", async () =>
      credentialIn(credential),
    )
    const isHere = isSame(record?.key, { publicKey }) || isSame(record?.nextKey, { publicKey })
    return isHere && nowSeconds(papers) < Number(notAfter)
  }
  const take = async (papers: Papers, device: Device | undefined, asked: IdentityKey): Promise<void> => {
    if (device === undefined) throw new MessagingError("ANSWER_REFUSED", "no device in the answer")
    // The service may have made the next one, and its answer was lost.
    const next = record?.nextKey
    const of = await refusingAs("ANSWER_REFUSED", async () => credentialIn(device.credential).leafSignatureKey)
    const key = next !== undefined && isSame(next, { publicKey: of }) ? next : asked
    const leaf = { credential: device.credential, signatureKey: key.publicKey }
    const { body } = await refusingAs("ANSWER_REFUSED", async () =>
      verifyFresh(realmOf(papers), leaf, nowSeconds(papers)),
    )
    const isOurs =
      hex(body.userId) === hex(papers.owner.user) &&
      hex(body.deviceId) === hex(bytesOfId("dev", answeredId("dev", device.id)))
    if (!isOurs) throw new MessagingError("ANSWER_REFUSED", "the credential is another user's or device's")
    await change((before) => {
      const { key: current, nextKey, ...kept } = before
      const isNext = isSame(nextKey, key)
      // As it is stored: the one in memory may have been wiped meanwhile.
      const stored = isNext ? nextKey : current
      // Another tab has taken it, and gone on.
      if (stored === undefined || !isSame(stored, key)) return before
      return create(DeviceRecordSchema, {
        ...kept,
        deviceId: device.id,
        credential: device.credential,
        credentialNotBefore: body.notBefore,
        credentialNotAfter: body.notAfter,
        key: stored,
        formerKeys: keysOf(before).filter((one) => !isSame(one, key)),
        hasFormerKeyPackages: before.hasFormerKeyPackages || isNext,
        ...(isNext || nextKey === undefined ? {} : { nextKey }),
      })
    })
  }

  const own: OwnDevice = {
    get id() {
      return record?.deviceId || undefined
    },
    identity() {
      const { record: now, key } = registered()
      return { credential: now.credential, signatureKey: key.publicKey, key: key.publicKey }
    },
    credentialHash: () => hash("device-credential", registered().record.credential),
    get notBefore() {
      return Number(registered().record.credentialNotBefore)
    },
    get notAfter() {
      return Number(registered().record.credentialNotAfter)
    },
    get issuerKeySet() {
      return record?.issuerKeySet ?? new Uint8Array()
    },
    async keepIssuerKeySet(issuerKeySet) {
      const isNewer = ({ issuerKeySet: kept }: DeviceRecord) => versionOf(issuerKeySet) > versionOf(kept)
      const after = await change((before) =>
        isNewer(before) ? create(DeviceRecordSchema, { ...before, issuerKeySet }) : before,
      )
      return after.issuerKeySet
    },
    signerOf: (reference) => signers.get(hex(reference)),
    caller() {
      if (record?.key === undefined || record.deviceId === "") return undefined
      return { id: bytesOfId("dev", record.deviceId), signer: signerFor(proving ?? record.key) }
    },
    async register(papers, isSecondTry = false) {
      await load()
      const key = record?.key ?? (await newKey())
      if (record?.key === undefined) {
        // The key is stored before it is vouched for: a device whose key is lost would be nobody's.
        const kept = await change((before) => create(DeviceRecordSchema, { ...before, key: before.key ?? key }))
        // Another tab was first.
        if (hex(kept.key?.publicKey ?? key.publicKey) !== hex(key.publicKey)) return own.register(papers, isSecondTry)
      }
      const { device, mustRefresh } = await papers.calls.devices
        .registerDevice({ deviceRequest: await requestFor(papers, key) })
        .catch(ended)
      if (device === undefined || (await isGood(papers, device.credential))) {
        await take(papers, device, key)
        if (mustRefresh) await options.renewToken()
        return
      }
      // It was away for so long that its papers have ended, or they are for a key that is not here.
      if (record?.deviceId === device.id) {
        if (mustRefresh) await options.renewToken()
        return own.renew(papers)
      }
      if (record?.deviceId !== "" || isSecondTry) throw new MessagingError("ANSWER_REFUSED", "papers that are no good")
      // Nothing was ever done under this key: the session's device is another one then.
      await own.startAnew()
      return own.register(papers, true)
    },
    get marks() {
      const { hasFormerKeyPackages = false, bindsRecords = false, givesWay = false } = record ?? {}
      return { hasFormerKeyPackages, bindsRecords, givesWay }
    },
    async mark(marks) {
      await change((before) => create(DeviceRecordSchema, { ...before, ...marks }))
    },
    async startAnew() {
      let former: IdentityKey[] = []
      await change((before) => {
        const { issuerKeySet, bindsRecords } = before
        // Another tab has done it, and gone on.
        if (before.deviceId !== "" && !before.givesWay) return before
        former = [...keysOf(before), ...(before.nextKey ? [before.nextKey] : [])]
        return create(DeviceRecordSchema, { issuerKeySet, bindsRecords })
      })
      if (former.length > 0) signers.clear()
      for (const { seed } of former) seed.fill(0)
    },
    async reload() {
      await load()
    },
    forget() {
      for (const { seed } of [...keysOf(record), ...(record?.nextKey ? [record.nextKey] : [])]) seed.fill(0)
      signers.clear()
      record = undefined
    },
    async renew(papers) {
      const made = registered().record.nextKey ?? (await newKey())
      // Stored before it is asked for, as the service may know the device by it from then on. Another tab may be first.
      const kept = await change((before) =>
        before.nextKey === undefined ? create(DeviceRecordSchema, { ...before, nextKey: made }) : before,
      )
      const key = kept.nextKey ?? made
      const ask = async () => {
        const deviceRequest = await requestFor(papers, key)
        return papers.calls.devices.renewCredential({ deviceId: kept.deviceId, deviceRequest })
      }
      const { device } = await ask()
        .catch(async (cause: unknown) => {
          if (!isKeyRefused(cause)) throw cause
          // The service has made it, and takes the key before it no more: that one's credential has ended since.
          proving = key
          return ask()
            .catch((again: unknown) => {
              if (!isKeyRefused(again)) throw again
              throw new MessagingError("DEVICE_ENDED", "the device has another key by now", { cause: again })
            })
            .finally(() => {
              proving = undefined
            })
        })
        .catch(ended)
      await take(papers, device, key)
    },
  }
  return own
}

const keysOf = (record: DeviceRecord | undefined): IdentityKey[] =>
  record === undefined ? [] : [...(record.key ? [record.key] : []), ...record.formerKeys]

const isSame = (one: Pick<IdentityKey, "publicKey"> | undefined, other: Pick<IdentityKey, "publicKey">): boolean =>
  one !== undefined && hex(one.publicKey) === hex(other.publicKey)

/** Whether it was the key, and not the clock or anything else of a proof. */
function isKeyRefused(cause: unknown): boolean {
  const { reason, metadata } = failureOf(cause) ?? {}
  return reason === "DEVICE_PROOF_INVALID" && (metadata?.code ?? keyMismatch) === keyMismatch
}
const keyMismatch = "DEVICE_PROOF_KEY_MISMATCH"

function ended(cause: unknown): never {
  if (!isFailure(cause, "DEVICE_REVOKED", "DEVICE_KEY_TAKEN")) throw cause
  throw new MessagingError("DEVICE_ENDED", "this device was revoked", { cause })
}
