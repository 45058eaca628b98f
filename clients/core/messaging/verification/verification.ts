import { create } from "@bufbuild/protobuf"
import { CanonicalError } from "@signet/canonical/errors"
import {
  deviceFingerprint,
  digits,
  type SafetyDevice,
  type SafetyUser,
  safetyNumber,
  userFingerprint,
} from "@signet/canonical/safety-number"
import { buildSafetyQr, checkSafetyQr, type SafetyView } from "@signet/canonical/safety-qr"
import {
  ConversationRecordSchema,
  VerificationRecord_Status as Status,
  type VerificationRecord,
  VerificationRecordSchema,
} from "@signet/proto/client/v1/records"
import type { Context } from "../context.ts"
import { hex } from "../crypto/bytes.ts"
import { MessagingError } from "../errors.ts"
import { bytesOfId } from "../ids.ts"
import { epochAuthenticator } from "../mls.ts"
import { deviceSpace } from "../store/store.ts"
import { trying } from "../sync/background.ts"
import { type ListedDevices, readDevices } from "./device-lists.ts"
import { type DeviceKey, deviceKeysIn, noticeKeys } from "./noticing.ts"
import {
  changePeer,
  type Peer,
  readPeer,
  rememberList,
  removeChangedKey,
  statusOf,
  type VerificationStatus,
} from "./peer-rows.ts"

export type { VerificationStatus } from "./peer-rows.ts"
export type ComparedBy = "number" | "qr"

/** A device of a user, with the fingerprint that people compare. */
export interface DeviceFingerprint {
  /** `dev_…` */
  readonly deviceId: string
  /** 30 digits. */
  readonly fingerprint: string
  /** True if its key was compared. */
  readonly isCompared: boolean
}

export interface UserVerification {
  /** `prn_…` */
  readonly userId: string
  /** "changed" remains until the keys are compared again. */
  readonly status: VerificationStatus
  readonly comparedBy: ComparedBy | undefined
  readonly comparedAtMs: number | undefined
  /** 60 digits, the same on both sides. */
  readonly safetyNumber: string
  /** The active devices by the newest signed list. */
  readonly devices: readonly DeviceFingerprint[]
  /**
   * The reason for which a later list was refused: the service has rolled back or forked a signed list. Undefined for
   * none.
   */
  readonly listFault: string | undefined
}

/** Verification of other users' keys. Until two users compare their keys, the service is trusted for them. */
export interface Verification {
  /** Returns the stored status, without a request. */
  status(userId: string): Promise<VerificationStatus>
  /** Reads the newest signed list. @throws MessagingError DEVICE_LIST_REFUSED */
  of(userId: string): Promise<UserVerification>
  /**
   * Records that the two users have compared their safety numbers.
   *
   * @param compared The displayed number, which must still be current.
   * @throws MessagingError COMPARISON_FAILED, KEYS_NOT_COVERED, DEVICE_LIST_REFUSED
   */
  markVerified(userId: string, compared: string): Promise<UserVerification>
  /** Returns the text of the QR code to show to that user. */
  qrCode(userId: string): Promise<string>
  /** Compares the QR code of that user's device. @throws MessagingError as `markVerified` */
  scan(userId: string, scanned: string): Promise<UserVerification>
  /** Returns 30 digits that are equal for all members of the group in the same epoch. */
  groupCode(conversationId: string): Promise<string>
}

export function verification(context: Context): Verification {
  const parts: Parts = { context, fingerprintOf: fingerprintsIn(context) }
  const accepted = async (userId: string, compared: Compared, by: ComparedBy): Promise<void> => {
    await accept(context, userId, compared, by)
    await confirmResets(context, userId)
  }
  return {
    status: async (userId) => statusOf(await readPeer(context, userId)),
    of: async (userId) => describe(context, userId, await numberOf(parts, userId)),
    async markVerified(userId, compared) {
      const now = await numberOf(parts, userId)
      // Only spaces and line breaks are ignored. Lookalike digits of other scripts do not match.
      if (compared.replaceAll(/[ \n]/g, "") !== now.number.replaceAll(" ", "")) {
        throw new MessagingError("COMPARISON_FAILED", "the safety number differs")
      }
      await accepted(userId, now, "number")
      return describe(context, userId, now)
    },
    qrCode: async (userId) => buildSafetyQr(await viewOf(parts, userId)),
    async scan(userId, scanned) {
      const view = await viewOf(parts, userId)
      try {
        checkSafetyQr(scanned, view)
      } catch (cause) {
        if (!(cause instanceof CanonicalError)) throw cause
        throw new MessagingError("COMPARISON_FAILED", cause.code, { cause })
      }
      await accepted(userId, view.compared, "qr")
      return describe(context, userId, await numberOf(parts, userId))
    },
    async groupCode(conversationId) {
      const { local } = await context.conversation(conversationId).stored()
      if (local === undefined)
        throw new MessagingError("CONVERSATION_NOT_ACTIVE", "this device is not a member of the conversation")
      return digits(epochAuthenticator(local.group))
    },
  }
}

interface Parts {
  readonly context: Context
  readonly fingerprintOf: (userId: string, active: readonly DeviceKey[]) => Uint8Array
}

/** Computes one user's side of a comparison from the newest signed list. */
async function sideOf({ context, fingerprintOf }: Parts, userId: string) {
  const looked = await look(context, userId)
  return { ...looked, userId: bytesOfId("prn", userId), fingerprint: fingerprintOf(userId, looked.active) }
}

async function viewOf(parts: Parts, userId: string): Promise<SafetyView & { readonly compared: Compared }> {
  const { owner } = parts.context
  if (userId === owner.userId) throw new RangeError("one's own code is for others to scan")
  const [local, remote] = [await sideOf(parts, owner.userId), await sideOf(parts, userId)]
  const listed = <T extends { head: ListedDevices["head"] }>(one: T) => ({
    ...one,
    listVersion: one.head?.version ?? 0n,
  })
  return { tenantId: owner.tenant, appId: owner.app, local: listed(local), remote: listed(remote), compared: remote }
}

async function numberOf(parts: Parts, userId: string): Promise<Compared & { readonly number: string }> {
  const [own, theirs] = [await sideOf(parts, parts.context.owner.userId), await sideOf(parts, userId)]
  return { ...theirs, number: safetyNumber(own.fingerprint, theirs.fingerprint) }
}

async function describe(
  context: Context,
  userId: string,
  { number, active }: { readonly number: string; readonly active: readonly DeviceKey[] },
): Promise<UserVerification> {
  const peer = await readPeer(context, userId)
  const { record } = peer
  const isCompared = record?.status === Status.VERIFIED || record?.status === Status.CHANGED
  const accepted = new Set(record?.acceptedKeys.map(hex))
  return {
    userId,
    status: statusOf(peer),
    comparedBy: isCompared && (record.method === "qr" || record.method === "number") ? record.method : undefined,
    comparedAtMs: isCompared ? Number(record.atMs) : undefined,
    safetyNumber: number,
    devices: active.map(({ deviceId, key }) => ({
      deviceId,
      fingerprint: digits(deviceFingerprint(safetyUser(context, userId), safetyDevice({ deviceId, key }))),
      isCompared: accepted.has(hex(key)),
    })),
    listFault: record?.listFault || undefined,
  }
}

/** Marks all earlier resets of the direct conversation with the user as confirmed. */
async function confirmResets(context: Context, userId: string): Promise<void> {
  for (const space of await context.store.spaces()) {
    if (space === deviceSpace) continue
    const conversation = context.conversation(space)
    await trying(context, space, async () => {
      const seen = await conversation.record()
      if (!seen?.asksConfirmation || !seen.directUserIds.includes(userId)) return
      await conversation.change(async (stored) => {
        if (stored.record === undefined) return { result: undefined }
        const record = create(ConversationRecordSchema, { ...stored.record, asksConfirmation: false })
        return { next: { ...stored, record }, result: undefined }
      })
    })
  }
}

const safetyUser = ({ owner }: Context, userId: string): SafetyUser => ({
  tenantId: owner.tenant,
  appId: owner.app,
  userId: bytesOfId("prn", userId),
})

const safetyDevice = ({ deviceId, key }: Pick<DeviceKey, "deviceId" | "key">): SafetyDevice => ({
  deviceId: bytesOfId("dev", deviceId),
  leafKey: key,
})

/** Caches each user's newest fingerprint, which costs thousands of hashes. */
function fingerprintsIn(context: Context): (userId: string, active: readonly DeviceKey[]) => Uint8Array {
  const kept = new Map<string, { readonly of: string; readonly fingerprint: Uint8Array }>()
  return (userId, active) => {
    const of = active.map(({ deviceId, key }) => deviceId + hex(key)).join()
    const found = kept.get(userId)
    if (found?.of === of) return found.fingerprint
    const fingerprint = userFingerprint(safetyUser(context, userId), active.map(safetyDevice))
    kept.set(userId, { of, fingerprint })
    return fingerprint
  }
}

/** Reads a changed list again if its user is verified. */
export async function lookAgain(context: Context, userId: string): Promise<void> {
  const { record } = await readPeer(context, userId)
  if (record?.status === Status.VERIFIED) await look(context, userId)
}

interface Looked extends ListedDevices {
  /** The stored fault before this reading. */
  readonly listFault: string
}

interface Compared extends Looked {
  readonly fingerprint: Uint8Array
}

/** Reads and stores a user's newest list. A verified user with other keys in it becomes "changed". */
export async function look(context: Context, userId: string): Promise<Looked> {
  const { record } = await readPeer(context, userId)
  const found = await readDevices(context, userId, seenIn(record)).catch((cause: unknown) =>
    refuse(context, userId, cause),
  )
  const { head, active } = found
  const { ops, events } = await noticeKeys(
    context,
    active.filter(({ deviceId }) => deviceId !== context.device.id),
  )
  if (head !== undefined) await rememberList(context, userId, head, ops)
  for (const event of events) context.emit(event)
  return { ...found, listFault: record?.listFault ?? "" }
}

/** After a fork no list is trusted: the next comparison starts from the list that the service returns then. */
function seenIn(record: VerificationRecord | undefined) {
  if (record === undefined || record.listVersion === 0n || record.listFault !== "") return undefined
  return { version: record.listVersion, hash: record.listHash }
}

const contradictions = ["LIST_ROLLBACK", "DEVICE_LIST_FORK"]

/** Handles a refused list: stores and emits a contradiction to an earlier signed list, and always throws. */
async function refuse(context: Context, userId: string, cause: unknown): Promise<never> {
  if (!(cause instanceof CanonicalError)) throw cause
  if (contradictions.includes(cause.code)) {
    await changePeer(context, userId, (before) =>
      create(VerificationRecordSchema, {
        ...before,
        status: before.status === Status.VERIFIED ? Status.CHANGED : before.status,
        listFault: cause.code,
      }),
    )
    context.emit({ is: "keysChanged", userId, deviceIds: [], listFault: cause.code })
  }
  throw new MessagingError("DEVICE_LIST_REFUSED", cause.code, { cause })
}

/** Marks the keys of the active devices as compared. Any other device in a conversation is a ghost. */
async function accept(
  context: Context,
  userId: string,
  { active, fingerprint, head, listFault }: Compared,
  method: ComparedBy,
): Promise<void> {
  const compared = new Set(active.map(({ key }) => hex(key)))
  const { changed }: Peer = await readPeer(context, userId)
  const present = await presentKeys(context, userId)
  if (present.some(({ key }) => !compared.has(hex(key)))) {
    throw new MessagingError("KEYS_NOT_COVERED", "a conversation has a device that the signed list does not have")
  }
  await changePeer(
    context,
    userId,
    (before) => {
      // A list that was read later has not been compared, in whatever order the answers arrived.
      const isNewest = listFault !== "" || before.listVersion <= (head?.version ?? 0n)
      if (!isNewest || before.listFault !== listFault) {
        throw new MessagingError("COMPARISON_FAILED", "a device list newer than the compared one exists")
      }
      return create(VerificationRecordSchema, {
        ...before,
        status: Status.VERIFIED,
        method,
        atMs: BigInt(context.clock.nowMs()),
        keySetHash: fingerprint,
        acceptedKeys: active.map(({ key }) => key),
        listFault: "",
      })
    },
    changed.map(removeChangedKey),
  )
  // Devices that joined meanwhile were checked against the previous comparison.
  const { ops, events } = await noticeKeys(context, await presentKeys(context, userId))
  if (ops.length > 0) await changePeer(context, userId, (before) => before, ops)
  for (const event of events) context.emit(event)
}

/** Reads the keys of a user's devices in all conversations of this device. */
export async function presentKeys(context: Context, userId: string): Promise<DeviceKey[]> {
  const found: DeviceKey[] = []
  for (const space of await context.store.spaces()) {
    if (space === deviceSpace) continue
    const { local } = await context.conversation(space).stored()
    if (local !== undefined) found.push(...deviceKeysIn(context, local.group).filter((one) => one.userId === userId))
  }
  return found
}
