// From the messages of signet.client.v1 to the values of the messenger.
import type {
  ClientEvent,
  Conversation,
  Device,
  Entry,
  OutboxItem,
  Person as PersonMessage,
  Upload,
  UserVerification as VerificationMessage,
} from "@signet/proto/client/v1/messenger_service"
import type { UploadInfo } from "../attachments/upload.ts"
import { MessagingError } from "../errors.ts"
import type { ConversationStatus, MessengerEvent, NewKey, Person, TimelineEntry } from "../events.ts"
import type { ConversationInfo, DeviceInfo } from "../messenger.ts"
import type { OutboxEntry } from "../sending/queue.ts"
import type { ComparedBy, UserVerification, VerificationStatus } from "../verification/verification.ts"
import { errorOf } from "./errors.ts"

export const answerRefused = () => new MessagingError("ANSWER_REFUSED", "the core's answer violates the contract")

/** @throws MessagingError ANSWER_REFUSED for a missing value. */
function needed<T>(value: T | undefined): T {
  if (value === undefined) throw answerRefused()
  return value
}

const oneOf = <T extends string>(known: readonly T[], text: string): T => needed(known.find((one) => one === text))
const optional = <T extends string>(known: readonly T[], text: string): T | undefined =>
  text === "" ? undefined : oneOf(known, text)

const statuses: readonly ConversationStatus[] = [
  ...(["creating", "active", "quarantined", "rolledBack", "waiting", "stranded", "leaving", "removed"] as const),
]
const verificationStatuses: readonly VerificationStatus[] = ["unverified", "verified", "changed"]
const comparisons: readonly ComparedBy[] = ["number", "qr"]

export const verificationStatusOf = (text: string): VerificationStatus => oneOf(verificationStatuses, text)

export function conversationOf(message: Conversation | undefined): ConversationInfo {
  const { id, status, isDirect, waitsFor, asksConfirmation, memberUserIds, blockedUserIds, processedSeq, quarantine } =
    needed(message)
  return {
    ...{ id, isDirect, asksConfirmation, memberUserIds, blockedUserIds, processedSeq },
    status: oneOf(statuses, status),
    waitsFor: optional(["keyPackages", "welcome"], waitsFor),
    quarantine: quarantine && { reason: quarantine.reason, seq: quarantine.seq, evidence: quarantine.evidence },
  }
}

const personOf = (message: PersonMessage | undefined): Person => {
  const { userId, deviceId } = needed(message)
  return { userId, deviceId }
}

interface Marks {
  readonly outboxId: string
  readonly isLate: boolean
  readonly isFromBlocked: boolean
}

const marksOf = ({ outboxId, isLate, isFromBlocked }: Marks) => ({
  outboxId: outboxId || undefined,
  ...(isLate && ({ isLate: true } as const)),
  ...(isFromBlocked && ({ isFromBlocked: true } as const)),
})

export function entryOf(message: Entry | undefined): TimelineEntry {
  const { seq, atMs, importedBackupAtMs, entry } = needed(message)
  const imported = importedBackupAtMs === undefined ? {} : { imported: { backupAtMs: Number(importedBackupAtMs) } }
  const at = { seq, atMs: Number(atMs), ...imported }
  switch (entry.case) {
    case "message": {
      const { from, plaintext } = entry.value
      return { ...at, is: "message", from: personOf(from), plaintext, ...marksOf(entry.value) }
    }
    case "attachment": {
      const { from, fileName, mediaType, size } = entry.value
      const file = { fileName, mediaType, size: Number(size) }
      return { ...at, is: "attachment", from: personOf(from), ...file, ...marksOf(entry.value) }
    }
    case "membership": {
      const { committer, added, removed } = entry.value
      const [came, went] = [added.map(personOf), removed.map(personOf)]
      return { ...at, is: "membership", committer: personOf(committer), added: came, removed: went }
    }
    case "unreadable":
      return { ...at, is: "unreadable", reason: entry.value }
    case "missing":
      return { ...at, is: "missing", from: personOf(entry.value.from), count: entry.value.count }
    case "gapAfterSeq":
      return { ...at, is: "gap", afterSeq: entry.value }
    case "reset":
      return { ...at, is: "reset", by: entry.value.by && personOf(entry.value.by) }
    case "newKeys": {
      const devices = entry.value.devices.map(({ person, isChangedKey, wasVerified }): NewKey => {
        return { ...personOf(person), what: isChangedKey ? "changedKey" : "newDevice", wasVerified }
      })
      return { ...at, is: "newKeys", devices }
    }
    case undefined:
      throw answerRefused()
  }
}

/** @returns Undefined for an event that is not one of the messenger's. */
export function eventOf({ event }: ClientEvent): MessengerEvent | undefined {
  switch (event.case) {
    case "entry":
      return { is: "entry", conversationId: event.value.conversationId, entry: entryOf(event.value.entry) }
    case "status": {
      const { conversationId, status, reason } = event.value
      return { is: "status", conversationId, status: oneOf(statuses, status), reason: reason || undefined }
    }
    case "keysChanged": {
      const { userId, deviceIds, listFault } = event.value
      return { is: "keysChanged", userId, deviceIds, listFault: listFault || undefined }
    }
    case "blockedUsers":
      return { is: "blockedUsers", userIds: event.value.userIds }
    case "queued":
      return { is: "queued", conversationId: event.value.conversationId, outboxId: event.value.outboxId }
    case "unsent": {
      const { conversationId, outboxId, failure } = event.value
      return { is: "unsent", conversationId, outboxId, error: errorOf(failure) }
    }
    case "failed": {
      const { conversationId, failure } = event.value
      return { is: "failed", conversationId: conversationId || undefined, error: errorOf(failure) }
    }
    case "lagged":
      return { is: "lagged" }
    default:
      return undefined
  }
}

export const outboxEntryOf = ({ outboxId, plaintext, writtenAtMs, isSending }: OutboxItem): OutboxEntry => ({
  ...{ outboxId, plaintext },
  writtenAtMs: Number(writtenAtMs),
  state: isSending ? "sending" : "queued",
})

export const uploadOf = ({ id, fileName, mediaType, size, startedAtMs }: Upload): UploadInfo => ({
  ...{ id, fileName, mediaType },
  size: Number(size),
  startedAtMs: Number(startedAtMs),
})

export const deviceOf = ({ id, isThisOne, isRevoked, platform, createdAtMs }: Device): DeviceInfo => ({
  ...{ id, isThisOne, isRevoked, platform },
  createdAtMs: Number(createdAtMs),
})

export function verificationOf(message: VerificationMessage | undefined): UserVerification {
  const { userId, status, comparedBy, comparedAtMs, safetyNumber, devices, listFault } = needed(message)
  return {
    ...{ userId, safetyNumber },
    status: verificationStatusOf(status),
    comparedBy: optional(comparisons, comparedBy),
    comparedAtMs: comparedAtMs === undefined ? undefined : Number(comparedAtMs),
    devices: devices.map(({ deviceId, fingerprint, isCompared }) => ({ deviceId, fingerprint, isCompared })),
    listFault: listFault || undefined,
  }
}
