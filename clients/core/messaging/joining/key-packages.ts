import { create } from "@bufbuild/protobuf"
import { type KeyPackageRecord, KeyPackageRecordSchema } from "@signet/proto/client/v1/records"
import type { Welcome } from "@signet/proto/messaging/v1/records"
import type { Context } from "../context.ts"
import { equal, hex } from "../crypto/bytes.ts"
import { nowSeconds, type Storage } from "../deps.ts"
import { writeDeviceRows } from "../device/device-rows.ts"
import type { GroupState } from "../mls.ts"
import { deviceSpace, type Op } from "../store/store.ts"

const day = 86_400
const lifetime = 30 * day
const lastResortLifetime = 90 * day
/** A welcome is stored for 7 days after its key package expires, and may still be in transit then. */
const grace = 8 * day
/** The last resort is replaced after a third of its lifetime, because it may have been used. */
const lastResortAge = 30 * day
const backdated = 3_600
const perUpload = 100
/** A multiple of the target, so that a service that reports every package as used cannot fill the store. */
const maxKept = 20

const placeOf = (key: string) => ({ space: deviceSpace, table: "keyPackage", key }) as const

interface Kept {
  /** The KeyPackageRef in hexadecimal. */
  readonly key: string
  readonly record: KeyPackageRecord
}

async function kept({ store, rows }: Storage): Promise<Kept[]> {
  const found = await store.list(deviceSpace, "keyPackage")
  return Promise.all(
    found.map(async ({ key, value }) => ({
      key,
      record: await rows.read(placeOf(key), KeyPackageRecordSchema, value),
    })),
  )
}

/** Returns the private half of a welcome's key package; undefined if it was deleted. */
export async function findKeyPackage(
  { store, rows }: Storage,
  { keyPackageRef, id }: Pick<Welcome, "keyPackageRef" | "id">,
): Promise<KeyPackageRecord | undefined> {
  const key = hex(keyPackageRef)
  const place = placeOf(key)
  // Earlier versions marked the use of a last resort by its welcome id.
  const marks = [key, `${key}:${id}`].map((mark) => ({ table: "usedKeyPackage", key: mark }) as const)
  const [sealed, ...used] = (await store.read(deviceSpace, [place, ...marks])).values
  const isUsed = used.some((mark) => mark !== undefined)
  return sealed && !isUsed ? rows.read(place, KeyPackageRecordSchema, sealed) : undefined
}

/**
 * Returns the writes for the use of a key package: a permanent mark that refuses a second use, and the deletion of its
 * secret. A last resort may be used repeatedly, but only once per epoch of a group: the same welcome under another id
 * would restore the epoch's initial state, and message keys would be used twice.
 */
export function useOps(
  reference: Uint8Array,
  isLastResort: boolean,
  state: Pick<GroupState, "groupId" | "epoch">,
): Op[] {
  const key = hex(reference)
  const mark = isLastResort ? `${key}:${hex(state.groupId)}:${state.epoch}` : key
  const used: Op = { op: "create", table: "usedKeyPackage", key: mark, value: Uint8Array.of(1), space: deviceSpace }
  return isLastResort ? [used] : [used, { op: "remove", ...placeOf(key) }]
}

/**
 * Generates, stores and uploads key packages and a last resort, so that others can add this device. Expired ones are
 * deleted only after an accepted upload, which shows that this device's clock is right. Safe to interrupt and repeat.
 */
export async function refillKeyPackages(context: Context): Promise<void> {
  const now = nowSeconds(context)
  const { inventory } = await context.calls.keyPackages.getInventory({})
  const own = await kept(context)
  const identity = context.device.identity()
  const isCurrent = ({ record }: Kept) =>
    // A package whose validity begins in the future was generated with a wrong clock.
    equal(record.identityKey, identity.signatureKey) && notBeforeOf(record) <= now && Number(record.notAfter) > now
  const used = new Set((await context.store.list(deviceSpace, "usedKeyPackage")).map(({ key }) => key))
  await forget(
    context,
    own.filter(({ key }) => used.has(key)),
  )

  const [newest] = own
    .filter((one) => one.record.isLastResort && isCurrent(one))
    .toSorted((a, b) => Number(b.record.notAfter - a.record.notAfter))
  // Generated before a restart, and possibly not uploaded. The service stores a repeated upload once. It has one last
  // resort: an older one must neither replace it nor be uploaded beside it.
  const waiting = own.filter(
    (one) => !one.record.isUploaded && isCurrent(one) && (!one.record.isLastResort || one === newest),
  )
  const isFew = inventory === undefined || inventory.isLow || inventory.available === 0
  const room = context.keyPackageTarget * maxKept - own.filter(isCurrent).length
  const missing = isFew
    ? context.keyPackageTarget -
      (inventory?.available ?? 0) -
      waiting.filter(({ record }) => !record.isLastResort).length
    : 0
  const isFresh = newest !== undefined && notBeforeOf(newest.record) + lastResortAge > now
  const needsLastResort =
    !isFresh || (room > 0 && inventory !== undefined && !inventory.hasLastResort && newest?.record.isUploaded)
  const made = [
    ...(await make(context, Math.max(0, Math.min(missing, room)), false)),
    ...(await make(context, needsLastResort ? 1 : 0, true)),
  ]
  const due = needsLastResort ? waiting.filter(({ record }) => !record.isLastResort) : waiting
  await upload(context, [...due, ...made])
  const isEnded = ({ record }: Kept) => Number(record.notAfter) + grace <= now
  if (due.length + made.length > 0) await forget(context, own.filter(isEnded))
}

const notBeforeOf = ({ notAfter, isLastResort }: KeyPackageRecord): number =>
  Number(notAfter) - (isLastResort ? lastResortLifetime : lifetime)

async function forget(context: Context, gone: readonly Kept[]): Promise<void> {
  const ops = gone.map(({ key }) => ({ op: "remove", ...placeOf(key) }) as const)
  if (ops.length > 0) await writeDeviceRows(context, ops)
}

async function make(context: Context, count: number, isLastResort: boolean): Promise<Kept[]> {
  const notBefore = nowSeconds(context) - backdated
  const notAfter = notBefore + (isLastResort ? lastResortLifetime : lifetime)
  const identity = context.device.identity()
  const made: Kept[] = []
  for (let i = 0; i < count; i++) {
    const one = await context.engine.newKeyPackage(identity, { notBefore, notAfter, isLastResort })
    const record = create(KeyPackageRecordSchema, {
      keyPackage: one.keyPackage,
      secret: one.secret,
      notAfter: BigInt(notAfter),
      isLastResort,
      identityKey: identity.signatureKey,
    })
    made.push({ key: hex(one.reference), record })
  }
  const ops = await Promise.all(
    made.map(({ key, record }) => context.rows.put(placeOf(key), KeyPackageRecordSchema, record)),
  )
  if (ops.length > 0) await writeDeviceRows(context, ops)
  return made
}

async function upload(context: Context, waiting: readonly Kept[]): Promise<void> {
  for (let at = 0; at < waiting.length; at += perUpload) {
    const part = waiting.slice(at, at + perUpload)
    const packages = part.map(({ record: { keyPackage, isLastResort } }) => ({ keyPackage, isLastResort }))
    await context.calls.keyPackages.uploadKeyPackages({ packages })
    const ops = await Promise.all(
      part.map(({ key, record }) => {
        const uploaded = create(KeyPackageRecordSchema, { ...record, isUploaded: true })
        return context.rows.put(placeOf(key), KeyPackageRecordSchema, uploaded)
      }),
    )
    // This restores the row of a package that was used meanwhile. Its mark still refuses it, and the next refill
    // deletes it.
    await writeDeviceRows(context, ops)
  }
}

/** Replaces key packages of a former credential after a renewal. Safe to interrupt and repeat. */
export async function replaceKeyPackages(context: Context): Promise<void> {
  await context.calls.keyPackages.retireKeyPackages({})
  await context.device.mark({ hasFormerKeyPackages: false })
  await refillKeyPackages(context)
}
