import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire"
import { sha256 } from "@noble/hashes/sha2.js"
import { equalBytes } from "@signet/canonical/bytes"
import { safetyNumber } from "@signet/canonical/safety-number"
import { type HistoryQrV1, HistoryQrV1Schema } from "@signet/proto/client/v1/history"
import type { Context } from "../context.ts"
import { pause } from "../conversation/backoff.ts"
import { hex } from "../crypto/bytes.ts"
import { MessagingError } from "../errors.ts"
import type { Messenger } from "../messenger.ts"
import { contextOf } from "../opened-messengers.ts"
import { fingerprintOf, keyOf, ownKeys } from "./own-keys.ts"
import { receiveNext, requestTransfer } from "./receive.ts"
import { retrying } from "./retrying.ts"
import { dropTransfer, keyOfTransfer, putTransfer, readTransfer, transferIds } from "./rows.ts"
import { endRevoked, grantRequest, openRequests, sendNext, transferIdOf } from "./send.ts"
import type { VerifiedRequest } from "./signed.ts"

/** A request of a new device, as one of the user's other devices shows it. */
export interface HistoryRequest {
  /** 32 hexadecimal digits. */
  readonly transferId: string
  /** The new device: `dev_…`. */
  readonly deviceId: string
  /** The 60 digits to compare with those on the new device. Undefined if it shows a QR code to scan. */
  readonly code: string | undefined
}

export interface CodeOfDevice {
  /** An old device: `dev_…`. */
  readonly deviceId: string
  /** The 60 digits to compare with those on that device. */
  readonly code: string
}

const qrVersion = 1
const secretBytes = 32

/**
 * Requests the history from another device of this user, which scans the code within 10 minutes.
 *
 * @returns The content of a QR code. Show it only on this device's screen: it authenticates the device that scans it.
 */
export async function requestHistoryByQr(messenger: Messenger): Promise<{ transferId: string; qr: string }> {
  const context = contextOf(messenger)
  const secret = context.random.bytes(secretBytes)
  const deviceFingerprint = fingerprintOf(context, keyOf(await ownKeys(context), context.device.id ?? ""))
  const transferId = await requestTransfer(context, secret)
  const code = { version: qrVersion, transferId: transferIdOf(transferId), deviceFingerprint, secret }
  const qr = base64Encode(toBinary(HistoryQrV1Schema, create(HistoryQrV1Schema, code)), "url")
  return { transferId, qr }
}

/**
 * Requests the history from another device of this user, whose digits the user compares within 10 minutes.
 *
 * @returns The digits for each other device. After the comparison call `confirmHistoryCode`.
 */
export async function requestHistoryByCode(
  messenger: Messenger,
): Promise<{ transferId: string; codes: readonly CodeOfDevice[] }> {
  const context = contextOf(messenger)
  const codes = await codesOf(context)
  return { transferId: await requestTransfer(context, undefined), codes }
}

/**
 * Confirms on the new device that the user compared these digits with the other device's.
 *
 * @throws MessagingError COMPARISON_FAILED for other digits; HISTORY_ENDED for an unknown request
 */
export async function confirmHistoryCode(
  messenger: Messenger,
  transferId: string,
  { deviceId, code }: CodeOfDevice,
): Promise<void> {
  const context = contextOf(messenger)
  const isEqual = (await codesOf(context)).some((one) => one.deviceId === deviceId && one.code === code)
  if (!isEqual) throw otherCode()
  const stored = await readTransfer(context, transferId)
  if (stored?.record.side.case !== "receiving") throw unknownTransfer()
  // The grant was verified after an earlier confirmation, and its key is stored.
  if (stored.record.key.length > 0) return
  const { value } = stored.record.side
  const side = { case: "receiving", value: { ...value, fromDeviceId: deviceId } } as const
  await putTransfer(context, transferId, { side })
}

/** Lists the requests of this user's new devices, on another device of the user. */
export async function historyRequests(messenger: Messenger): Promise<readonly HistoryRequest[]> {
  const context = contextOf(messenger)
  const own = keyOf(await ownKeys(context), context.device.id ?? "")
  return (await openRequests(context)).map(({ request, from }) => ({
    transferId: keyOfTransfer(request.transferId),
    deviceId: from.deviceId,
    code: isByQr({ request }) ? undefined : safetyNumber(fingerprintOf(context, own), fingerprintOf(context, from)),
  }))
}

/**
 * Grants the history to the new device whose QR code was scanned.
 *
 * @throws MessagingError HISTORY_REFUSED if the code is not the one of a requesting device of this user
 */
export async function grantHistoryByQr(messenger: Messenger, qr: string): Promise<void> {
  const context = contextOf(messenger)
  const { transferId, deviceFingerprint, secret } = parseQr(qr)
  const verified = await requestOf(context, keyOfTransfer(transferId))
  if (!equalBytes(fingerprintOf(context, verified.from), deviceFingerprint)) {
    throw refused("another device than the scanned one requested the history")
  }
  if (!equalBytes(verified.request.secretHash, sha256(secret))) throw refused("the request has another QR code")
  await grantRequest(context, verified, secret)
}

/**
 * Grants the history to the new device whose digits the user compared.
 *
 * @throws MessagingError COMPARISON_FAILED for other digits; HISTORY_REFUSED for a device that shows a QR code
 */
export async function grantHistoryByCode(messenger: Messenger, transferId: string, code: string): Promise<void> {
  const context = contextOf(messenger)
  const verified = await requestOf(context, transferId)
  // The request fixes the mode: a service cannot replace the scan by a comparison.
  if (isByQr(verified)) throw refused("the new device shows a QR code: scan it")
  const own = keyOf(await ownKeys(context), context.device.id ?? "")
  if (safetyNumber(fingerprintOf(context, own), fingerprintOf(context, verified.from)) !== code) throw otherCode()
  await grantRequest(context, verified, undefined)
}

export interface HistoryProgress {
  readonly transferId: string
  /** The number of chunks that this device has sent or imported. */
  readonly chunks: number
}

/** The delay between two polls for new chunks, in milliseconds. */
const pollMs = 2_000

/**
 * Continues all transfers of this device, as sender and as receiver, until none is left. Call it again after a restart:
 * it continues at the next chunk. No chunk is sent to a device that is no longer active in the signed list.
 *
 * @throws MessagingError HISTORY_REFUSED, HISTORY_TAMPERED, HISTORY_ENDED. A tampered chunk is read again by the next
 *   call; `cancelHistory` ends the transfer. HISTORY_ENDED is thrown once, after this device has deleted the transfer: a
 *   process that ends between the two does not throw it again.
 */
export async function runHistory(
  messenger: Messenger,
  { signal, onProgress }: { signal?: AbortSignal; onProgress?: (progress: HistoryProgress) => void } = {},
): Promise<void> {
  const context = contextOf(messenger)
  for (;;) {
    await endRevoked(context, await transferIds(context), signal)
    const ids = await transferIds(context)
    if (ids.length === 0) return
    const { archives } = await retrying(context, signal, () => context.calls.archives.listArchives({}))
    let hasProgress = false
    for (const id of ids) {
      signal?.throwIfAborted()
      const archive = archives.find(({ archiveId }) => hex(archiveId) === id)
      const side = (await readTransfer(context, id))?.record.side.case
      const isMoved =
        side === "sending"
          ? await sendNext(context, id, archive, signal)
          : (await receiveNext(context, id, archive, signal)) === "imported"
      hasProgress ||= isMoved
      const after = await readTransfer(context, id)
      if (isMoved && after !== undefined) onProgress?.({ transferId: id, chunks: Number(after.record.next) })
    }
    signal?.throwIfAborted()
    if (!hasProgress && (await transferIds(context)).length > 0) await pause(context.clock, pollMs)
  }
}

/** Ends a transfer on this device and at the service. Imported entries stay. */
export async function cancelHistory(messenger: Messenger, transferId: string): Promise<void> {
  const context = contextOf(messenger)
  await dropTransfer(context, transferId)
  await context.calls.archives.deleteArchive({ archiveId: transferIdOf(transferId) })
}

async function codesOf(context: Context): Promise<readonly CodeOfDevice[]> {
  const keys = await ownKeys(context)
  const own = fingerprintOf(context, keyOf(keys, context.device.id ?? ""))
  return keys
    .filter(({ deviceId }) => deviceId !== context.device.id)
    .map((one) => ({ deviceId: one.deviceId, code: safetyNumber(own, fingerprintOf(context, one)) }))
}

async function requestOf(context: Context, transferId: string): Promise<VerifiedRequest> {
  const found = (await openRequests(context)).find(({ request }) => keyOfTransfer(request.transferId) === transferId)
  if (found === undefined) throw refused("no device of this user has an open request with this transfer id")
  return found
}

const isByQr = ({ request }: Pick<VerifiedRequest, "request">): boolean => request.secretHash.length > 0

function parseQr(qr: string): HistoryQrV1 {
  try {
    const code = fromBinary(HistoryQrV1Schema, base64Decode(qr))
    const isWhole = code.version === qrVersion && code.transferId.length === 16 && code.secret.length === secretBytes
    if (isWhole && code.deviceFingerprint.length === 32) return code
  } catch (cause) {
    throw refused("the scanned code does not request the history", cause)
  }
  throw refused("the scanned code does not request the history")
}

const refused = (rule: string, cause?: unknown): MessagingError =>
  new MessagingError("HISTORY_REFUSED", rule, { cause })
const otherCode = (): MessagingError =>
  new MessagingError("COMPARISON_FAILED", "the digits differ from those of the two devices: compare them again")
const unknownTransfer = (): MessagingError =>
  new MessagingError(
    "HISTORY_ENDED",
    "this device has no open request with this transfer id: request the history first",
  )
