import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { sha256 } from "@noble/hashes/sha2.js"
import { BackupChunkV1Schema } from "@signet/proto/client/v1/backup"
import { HistoryTransferRecord_SendingSchema } from "@signet/proto/client/v1/history"
import { type Archive, Archive_Status as Status } from "@signet/proto/messaging/v1/archive_service"
import { isFailure } from "../../errors.ts"
import { keyOf as chunkKeyOf } from "../backup/chunks.ts"
import type { Context } from "../context.ts"
import { MessagingError } from "../errors.ts"
import { type Content, contentAt, planHistory } from "./newest.ts"
import { ownKeys } from "./own-keys.ts"
import { retrying } from "./retrying.ts"
import {
  addTransfer,
  changeTransfer,
  dropTransfer,
  generationNow,
  keyOfTransfer,
  readPlan,
  readTransfer,
  type StoredTransfer,
} from "./rows.ts"
import { signGrant, type VerifiedRequest, verifyRequest } from "./signed.ts"

const maxRaces = 100
const sendingWith = (fields: MessageInitShape<typeof HistoryTransferRecord_SendingSchema>) =>
  create(HistoryTransferRecord_SendingSchema, fields)

/** The open requests of this user's other devices. One that does not verify is left out. */
export async function openRequests(context: Context): Promise<VerifiedRequest[]> {
  const { archives } = await retrying(context, undefined, () => context.calls.archives.listArchives({}))
  const asked = archives.filter(({ status }) => status === Status.REQUESTED)
  if (asked.length === 0) return []
  const keys = await ownKeys(context)
  return asked.flatMap(({ archiveId, header }) => {
    try {
      return [verifyRequest(context, keys, archiveId, header)]
    } catch {
      return []
    }
  })
}

/**
 * Grants a verified request. The transfer is stored before the grant leaves this device, so that a repeated call sends
 * the same one.
 *
 * @throws Failure STATE_CONFLICT if another device has granted the request.
 */
export async function grantRequest(
  context: Context,
  verified: VerifiedRequest,
  secret: Uint8Array | undefined,
): Promise<void> {
  const { request } = verified
  const id = keyOfTransfer(request.transferId)
  const grant = await storedGrant(context, verified, secret)
  try {
    const { archives } = context.calls
    await retrying(context, undefined, () => archives.grantTransfer({ archiveId: request.transferId, grant }))
  } catch (error) {
    if (isFailure(error, "STATE_CONFLICT", "RESOURCE_UNRESOLVED")) await dropTransfer(context, id)
    throw error
  }
}

/** The grant of this device, also if another call or tab makes one at the same time: it is stored once. */
async function storedGrant(
  context: Context,
  verified: VerifiedRequest,
  secret: Uint8Array | undefined,
): Promise<Uint8Array> {
  const id = keyOfTransfer(verified.request.transferId)
  for (let race = 0; race < maxRaces; race++) {
    const generation = await generationNow(context)
    const { side: before } = (await readTransfer(context, id))?.record ?? {}
    if (before?.case === "sending") return before.value.grant
    const key = context.random.bytes(32)
    const grant = await signGrant(context, verified, key, secret)
    const { deviceId: toDeviceId } = verified.from
    const value = sendingWith({ toDeviceId, grant })
    const record = { side: { case: "sending", value }, key, grantHash: sha256(grant) } as const
    const plan = await planHistory(context, toDeviceId)
    if (await addTransfer(context, { id, generation }, record, plan)) return grant
  }
  throw new MessagingError("STATE_TAMPERED", "the store rejects every write")
}

/**
 * Ends the transfers to devices that are no longer active.
 *
 * @throws CanonicalError LIST_*, DEVICE_LIST_FORK
 */
export async function endRevoked(
  context: Context,
  ids: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const id of ids) {
    const { side } = (await readTransfer(context, id))?.record ?? {}
    if (side?.case !== "sending") continue
    const keys = await retrying(context, signal, () => ownKeys(context))
    const isActive = keys.some(({ deviceId }) => deviceId === side.value.toDeviceId)
    if (isActive) continue
    await dropTransfer(context, id)
    const { archives } = context.calls
    await retrying(context, signal, () => archives.deleteArchive({ archiveId: transferIdOf(id) }))
  }
}

/**
 * Sends the next chunk of a transfer. A sealed chunk is stored before it leaves this device, so that a retry sends the
 * same bytes.
 *
 * @returns False if nothing is left to send.
 */
export async function sendNext(
  context: Context,
  id: string,
  archive: Archive | undefined,
  signal?: AbortSignal,
): Promise<boolean> {
  const stored = await readTransfer(context, id)
  if (stored?.record.side.case !== "sending") return false
  // The other device has deleted it, or it has expired.
  if (archive === undefined) {
    await dropTransfer(context, id)
    return false
  }
  // The grant has not reached the service, which refuses chunks until then.
  if (archive.status === Status.REQUESTED) return false
  const { archives } = context.calls
  const { archiveId } = archive
  const { record } = stored
  const { $typeName: _, ...sending } = stored.record.side.value
  const { pending, position } = sending
  if (pending.length > 0) {
    const chunk = { archiveId, index: Number(record.next), data: pending }
    try {
      await retrying(context, signal, () => archives.appendChunk(chunk))
    } catch (error) {
      if (!isFailure(error, "STATE_CONFLICT")) throw error
      await endForgotten(context, id, archive, signal)
      return false
    }
    const side = { case: "sending", value: sendingWith({ ...sending, pending: new Uint8Array() }) } as const
    await changeTransfer(context, stored, { side, next: record.next + 1n, previousHash: sha256(pending) })
    return true
  }
  if (position?.isDone) {
    try {
      await retrying(context, signal, () => archives.completeArchive({ archiveId }))
    } catch (error) {
      // An answer was lost, and the other device has read everything and deleted the transfer before the retry.
      if (!isFailure(error, "RESOURCE_UNRESOLVED")) throw error
    }
    await dropTransfer(context, id)
    return false
  }
  const { at = 0, beforeKey = "" } = position ?? {}
  const { content, next } = await contentAt(context, await readPlan(context, id), { at, beforeKey })
  const value = sendingWith({
    ...sending,
    pending: await seal(context, stored, content),
    position: next,
  })
  await changeTransfer(context, stored, { side: { case: "sending", value } })
  return true
}

/**
 * Ends a transfer of which the service has other chunks: this device's store has returned to an earlier copy, and the key of
 * the chunks that it has forgotten seals no second chunk at their place. The other device gets HISTORY_ENDED.
 */
async function endForgotten(
  context: Context,
  id: string,
  { archiveId, status }: Archive,
  signal: AbortSignal | undefined,
): Promise<void> {
  await dropTransfer(context, id)
  // A complete transfer has all chunks, and the other device may be reading them.
  if (status === Status.COMPLETE) return
  const { archives } = context.calls
  await retrying(context, signal, () => archives.deleteArchive({ archiveId }))
}

async function seal(context: Context, { id, record }: StoredTransfer, content: Content): Promise<Uint8Array> {
  const plaintext = new Uint8Array(toBinary(BackupChunkV1Schema, create(BackupChunkV1Schema, { content })))
  const key = chunkKeyOf(record.key.slice(), transferIdOf(id))
  const position = { sequence: record.next, previous: record.previousHash }
  try {
    return await key.salted(record.grantHash, position, context.random).seal(plaintext)
  } finally {
    plaintext.fill(0)
    key.wipe()
  }
}

export const transferIdOf = (id: string): Uint8Array =>
  Uint8Array.from(id.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
