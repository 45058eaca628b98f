// Parses the native side's values. A value outside of the contract is refused.
import { isSecretBoxError, SecretBoxError, secretBoxReasons } from "@signet/client"
import {
  type ConversationInfo,
  type ConversationStatus,
  MessagingError,
  type MessengerEvent,
  messagingReasons,
  type NewKey,
  type Person,
  type TimelineEntry,
} from "@signet/client/messaging"
import type { NativeConversation, NativeEntry, NativeEvent, NativeNewKey, NativePerson } from "./native-messenger.ts"

export function toBase64(bytes: Uint8Array): string {
  let binary = ""
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

const refused = () => new MessagingError("ANSWER_REFUSED", "the native side's answer violates the contract")

function needed<T>(value: T | undefined): T {
  if (value === undefined) throw refused()
  return value
}

const statuses: readonly ConversationStatus[] = [
  "creating",
  "active",
  "quarantined",
  "rolledBack",
  "waiting",
  "stranded",
  "leaving",
  "removed",
]

const statusFrom = (text: string | undefined): ConversationStatus => needed(statuses.find((one) => one === text))

const waitsForFrom = (text: string | undefined): ConversationInfo["waitsFor"] =>
  text === undefined ? undefined : needed((["keyPackages", "welcome"] as const).find((one) => one === text))

export function conversationFrom(native: NativeConversation): ConversationInfo {
  const { id, isDirect, memberUserIds, blockedUserIds, processedSeq, quarantine, asksConfirmation } = native
  return {
    ...{ id, isDirect, memberUserIds, blockedUserIds, asksConfirmation },
    waitsFor: waitsForFrom(native.waitsFor),
    status: statusFrom(native.status),
    processedSeq: BigInt(processedSeq),
    quarantine: quarantine && {
      reason: quarantine.reason,
      seq: BigInt(quarantine.seq),
      evidence: fromBase64(quarantine.evidence),
    },
  }
}

const personFrom = (native: NativePerson | undefined): Person => {
  const { userId, deviceId } = needed(native)
  return { userId, deviceId }
}

const newKeyFrom = ({ what, wasVerified, ...person }: NativeNewKey): NewKey => ({
  ...personFrom(person),
  what: needed((["newDevice", "changedKey"] as const).find((one) => one === what)),
  wasVerified,
})

const marksFrom = ({ isLate, isFromBlocked }: NativeEntry) => ({
  ...(isLate === true ? ({ isLate } as const) : {}),
  ...(isFromBlocked === true ? ({ isFromBlocked } as const) : {}),
})

export function entryFrom(native: NativeEntry): TimelineEntry {
  const at = { seq: BigInt(native.seq), atMs: native.atMs }
  switch (native.is) {
    case "message": {
      const { from, plaintext, outboxId } = native
      const of = { plaintext: fromBase64(needed(plaintext)), outboxId, ...marksFrom(native) }
      return { ...at, is: "message", from: personFrom(from), ...of }
    }
    case "attachment": {
      const { from, fileName, mediaType, size, outboxId } = native
      const file = { fileName: needed(fileName), mediaType: needed(mediaType), size: needed(size) }
      const of = { ...file, outboxId, ...marksFrom(native) }
      return { ...at, is: "attachment", from: personFrom(from), ...of }
    }
    case "membership": {
      const { committer, added, removed } = native
      const [came, went] = [needed(added).map(personFrom), needed(removed).map(personFrom)]
      return { ...at, is: "membership", committer: personFrom(committer), added: came, removed: went }
    }
    case "unreadable":
      return { ...at, is: "unreadable", reason: needed(native.reason) }
    case "missing":
      return { ...at, is: "missing", from: personFrom(native.from), count: needed(native.count) }
    case "gap":
      return { ...at, is: "gap", afterSeq: BigInt(needed(native.afterSeq)) }
    case "reset":
      return { ...at, is: "reset", by: native.from && personFrom(native.from) }
    case "newKeys":
      return { ...at, is: "newKeys", devices: needed(native.devices).map(newKeyFrom) }
    default:
      throw refused()
  }
}

export function eventFrom(native: NativeEvent): MessengerEvent {
  const { conversationId, reason } = native
  switch (native.is) {
    case "entry":
      return { is: "entry", conversationId: needed(conversationId), entry: entryFrom(needed(native.entry)) }
    case "status":
      return { is: "status", conversationId: needed(conversationId), status: statusFrom(native.status), reason }
    case "keysChanged": {
      const { userId, deviceIds } = native
      return { is: "keysChanged", userId: needed(userId), deviceIds: needed(deviceIds), listFault: reason }
    }
    case "blockedUsers":
      return { is: "blockedUsers", userIds: needed(native.userIds) }
    case "queued":
      return { is: "queued", conversationId: needed(conversationId), outboxId: needed(native.outboxId) }
    case "unsent": {
      const error = errorFrom({ code: reason, message: native.message })
      return { is: "unsent", conversationId: needed(conversationId), outboxId: needed(native.outboxId), error }
    }
    case "failed":
      return { is: "failed", conversationId, error: errorFrom({ code: reason, message: native.message }) }
    case "lagged":
      return { is: "lagged" }
    default:
      throw refused()
  }
}

/** Maps a rejection of the native side to the error class of the other platforms. */
export function errorFrom(rejection: unknown): unknown {
  if (isSecretBoxError(rejection)) return rejection
  const { code, message } = Object(rejection)
  const text = typeof message === "string" ? message : "the native side failed"
  const messaging = messagingReasons.find((one) => one === code)
  if (messaging !== undefined) return new MessagingError(messaging, text, { cause: rejection })
  const box = secretBoxReasons.find((one) => one === code)
  return box === undefined ? rejection : new SecretBoxError(box, text, { cause: rejection })
}
