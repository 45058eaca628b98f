import { create } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { CanonicalError } from "@signet/canonical/errors"
import type { BackupChunkV1_ComparedUser } from "@signet/proto/client/v1/backup"
import {
  VerificationRecord_Status as Status,
  type VerificationRecord,
  VerificationRecordSchema,
} from "@signet/proto/client/v1/records"
import { isFailure } from "../../errors.ts"
import type { Context } from "../context.ts"
import { hex } from "../crypto/bytes.ts"
import { isMessagingError } from "../errors.ts"
import { isId } from "../ids.ts"
import { type ListedDevices, readDevices } from "../verification/device-lists.ts"
import { type DeviceKey, noticeKeys } from "../verification/noticing.ts"
import { changePeer, readPeer } from "../verification/peer-rows.ts"
import { presentKeys } from "../verification/verification.ts"
import { damaged } from "./header.ts"

/**
 * Imports the comparison of one user's keys. It counts only if today's keys are compared ones: otherwise the user is
 * "changed" until the keys are compared again. A comparison of this device stays.
 *
 * @returns True if the user is "changed" now, and was verified in the backup.
 * @throws Failure, ConnectError if the service cannot be asked for today's keys. Nothing is imported then.
 */
export async function importComparison(
  context: Context,
  { userId, record: found }: BackupChunkV1_ComparedUser,
): Promise<boolean> {
  if (found === undefined || !isId("prn", userId)) throw damaged("a comparison names no user")
  const { record: own } = await readPeer(context, userId)
  if (isDecided(own)) return false
  const today = await keysToday(context, userId, [found, own])
  const accepted = new Set(found.acceptedKeys.map(hex))
  const others = today.keys.filter(({ key }) => !accepted.has(hex(key)))
  const isEqual = others.length === 0 && today.isListed
  const wasVerified = found.status === Status.VERIFIED
  const status = wasVerified && isEqual ? Status.VERIFIED : Status.CHANGED
  const listFault = today.listFault || found.listFault
  const head = today.head && { listVersion: today.head.version, listHash: today.head.hash }
  await changePeer(context, userId, (before) => {
    if (isDecided(before)) return before
    const { listVersion, listHash } = newestList(head, before, found)
    return create(VerificationRecordSchema, { ...found, userId, status, listFault, listVersion, listHash })
  })
  // Devices that joined meanwhile were not checked.
  const { ops, events } = await noticeKeys(context, await presentKeys(context, userId))
  if (ops.length > 0) await changePeer(context, userId, (before) => before, ops)
  for (const event of events) context.emit(event)
  if (!wasVerified || status === Status.VERIFIED) return false
  const deviceIds = others.map(({ deviceId }) => deviceId)
  context.emit({ is: "keysChanged", userId, deviceIds, listFault: today.listFault || undefined })
  return true
}

/** True if this device has compared the user's keys itself, or has refused a list. */
const isDecided = (record: VerificationRecord | undefined): boolean =>
  record !== undefined && (record.status !== Status.UNVERIFIED || record.listFault !== "")

type List = Pick<VerificationRecord, "listVersion" | "listHash">

/** An import returns to no earlier list than one that this device has seen. */
const newestList = (today: List | undefined, own: List, found: List): List =>
  [own, found].reduce((newest, one) => (one.listVersion > newest.listVersion ? one : newest), today ?? own)

interface Today {
  /** The keys of the newest signed list and of all conversations. */
  readonly keys: readonly DeviceKey[]
  readonly head: ListedDevices["head"]
  /** True if the newest list has an active device. */
  readonly isListed: boolean
  /** Set if the lists contradict those that were seen before. */
  readonly listFault: string
}

/** Reads a user's keys. Each list that was seen, here or before the backup, must be a predecessor of the newest one. */
async function keysToday(
  context: Context,
  userId: string,
  seen: readonly (VerificationRecord | undefined)[],
): Promise<Today> {
  const keys = await presentKeys(context, userId)
  const unlisted = { keys, head: undefined, isListed: false, listFault: "" }
  try {
    let listed: ListedDevices = { head: undefined, active: [] }
    for (const { version, hash } of headsOf(seen)) listed = await readDevices(context, userId, { version, hash })
    if (listed.head === undefined) listed = await readDevices(context, userId, undefined)
    return { keys: [...listed.active, ...keys], head: listed.head, isListed: listed.active.length > 0, listFault: "" }
  } catch (error) {
    if (error instanceof CanonicalError) return { ...unlisted, listFault: error.code }
    // The user exists no more, or the service does not return the listed devices.
    if (isFailure(error, "RESOURCE_UNRESOLVED") || isMessagingError(error, "ANSWER_REFUSED")) return unlisted
    throw error
  }
}

/** The seen lists, each once. */
function headsOf(seen: readonly (VerificationRecord | undefined)[]): { version: bigint; hash: Uint8Array }[] {
  const heads: { version: bigint; hash: Uint8Array }[] = []
  for (const record of seen) {
    if (record === undefined || record.listVersion === 0n || record.listFault !== "") continue
    const { listVersion: version, listHash: hash } = record
    if (!heads.some((one) => one.version === version && equalBytes(one.hash, hash))) heads.push({ version, hash })
  }
  return heads
}
