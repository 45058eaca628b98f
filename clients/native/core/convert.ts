// From the messenger's values to the messages of the contract.
import type { MessageInitShape } from "@bufbuild/protobuf"
import type {
  ConversationInfo,
  MessengerEvent,
  NewKey,
  Person,
  TimelineEntry,
  UserVerification,
} from "@signet/client/messaging"
import type {
  ClientEventSchema,
  ConversationSchema,
  EntrySchema,
  UserVerificationSchema,
} from "@signet/proto/client/v1/messenger_service"
import { failureFrom } from "./failure.ts"

export function conversationTo(info: ConversationInfo): MessageInitShape<typeof ConversationSchema> {
  const { waitsFor = "", memberUserIds, blockedUserIds, quarantine, ...same } = info
  return {
    ...same,
    waitsFor,
    memberUserIds: [...memberUserIds],
    blockedUserIds: [...blockedUserIds],
    ...(quarantine && { quarantine }),
  }
}

const personTo = ({ userId, deviceId }: Person) => ({ userId, deviceId })

const newKeyTo = ({ what, wasVerified, ...person }: NewKey) => ({
  person: personTo(person),
  isChangedKey: what === "changedKey",
  wasVerified,
})

export function entryTo(entry: TimelineEntry): MessageInitShape<typeof EntrySchema> {
  const { seq, atMs, imported } = entry
  const at = { seq, atMs: BigInt(atMs), ...(imported && { importedBackupAtMs: BigInt(imported.backupAtMs) }) }
  return { ...at, entry: detailsOf(entry) }
}

function detailsOf(entry: TimelineEntry): MessageInitShape<typeof EntrySchema>["entry"] {
  switch (entry.is) {
    case "message": {
      const { from, plaintext, outboxId = "", isLate = false, isFromBlocked = false } = entry
      return { case: "message", value: { from: personTo(from), plaintext, outboxId, isLate, isFromBlocked } }
    }
    case "attachment": {
      const { from, fileName, mediaType, size, outboxId = "", isLate = false, isFromBlocked = false } = entry
      const marks = { outboxId, isLate, isFromBlocked }
      return { case: "attachment", value: { from: personTo(from), fileName, mediaType, size: BigInt(size), ...marks } }
    }
    case "membership": {
      const { committer, added, removed } = entry
      const value = { committer: personTo(committer), added: added.map(personTo), removed: removed.map(personTo) }
      return { case: "membership", value }
    }
    case "unreadable":
      return { case: "unreadable", value: entry.reason }
    case "missing":
      return { case: "missing", value: { from: personTo(entry.from), count: entry.count } }
    case "gap":
      return { case: "gapAfterSeq", value: entry.afterSeq }
    case "reset":
      return { case: "reset", value: entry.by === undefined ? {} : { by: personTo(entry.by) } }
    case "newKeys":
      return { case: "newKeys", value: { devices: entry.devices.map(newKeyTo) } }
  }
}

export function verificationTo(of: UserVerification): MessageInitShape<typeof UserVerificationSchema> {
  const { userId, status, comparedBy = "", comparedAtMs, safetyNumber, devices, listFault = "" } = of
  return {
    ...{ userId, status, comparedBy, safetyNumber, listFault, devices: devices.map((device) => ({ ...device })) },
    ...(comparedAtMs !== undefined && { comparedAtMs: BigInt(comparedAtMs) }),
  }
}

export function eventTo(event: MessengerEvent): NonNullable<MessageInitShape<typeof ClientEventSchema>["event"]> {
  switch (event.is) {
    case "entry":
      return { case: "entry", value: { conversationId: event.conversationId, entry: entryTo(event.entry) } }
    case "status": {
      const { conversationId, status, reason = "" } = event
      return { case: "status", value: { conversationId, status, reason } }
    }
    case "keysChanged": {
      const { userId, deviceIds, listFault = "" } = event
      return { case: "keysChanged", value: { userId, deviceIds: [...deviceIds], listFault } }
    }
    case "blockedUsers":
      return { case: "blockedUsers", value: { userIds: [...event.userIds] } }
    case "queued":
      return { case: "queued", value: { conversationId: event.conversationId, outboxId: event.outboxId } }
    case "unsent": {
      const { conversationId, outboxId, error } = event
      return { case: "unsent", value: { conversationId, outboxId, failure: failureFrom(error) } }
    }
    case "failed": {
      const { conversationId = "", error } = event
      return { case: "failed", value: { conversationId, failure: failureFrom(error) } }
    }
    case "lagged":
      return { case: "lagged", value: {} }
  }
}
