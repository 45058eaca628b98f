// Verifies that a page names only records of its own place, or new ones. Checked before anything is stored: an index
// that named another place's device or conversation would have it held, notified and erased.
import { Refused } from "@signet/kernel/errors"
import type { ConversationId, DeviceId } from "@signet/kernel/ids"
import type { StoredRecord } from "@signet/kernel/messaging/moving"
import type { Place } from "@signet/kernel/messaging/records"
import { ask } from "../asking.ts"
import type { DurableEnv } from "../env.ts"
import { inParallel } from "../in-parallel.ts"
import { placeName, userName } from "../names.ts"

export const invalid = (): Refused =>
  new Refused("INVALID_FIELD", {
    message: "a record belongs to another scope, or refers to a missing record",
    metadata: { field: "records" },
  })

/** @throws Refused INVALID_FIELD */
export async function requireOwn(env: DurableEnv, place: Place, records: readonly StoredRecord[]): Promise<void> {
  const users = new Map<DeviceId, string>()
  const made = new Set<ConversationId>()
  for (const record of records) {
    if (record.is === "device") users.set(record.device.id, userName(record.device.userId, place))
    if (record.is === "conversation") made.add(record.conversation.id)
  }
  const devices = new Set([...users.keys(), ...records.flatMap(devicesIn)])
  const conversations = new Set([...made, ...records.flatMap(conversationsIn)])
  const areDevices = await inParallel([...devices], async (id) => {
    const user = await ask(() => env.DEVICES.getByName(id).user())
    if (user === undefined) return users.has(id)
    return user === (users.get(id) ?? user) && user.startsWith(`${placeName(place)}/`)
  })
  const areConversations = await inParallel([...conversations], async (id) => {
    const at = await ask(() => env.CONVERSATIONS.getByName(id).place())
    return at === undefined ? made.has(id) : placeName(at) === placeName(place)
  })
  const areAttachments = await inParallel(records, async (record) => {
    if (record.is !== "attachment") return true
    const { id, ownerDeviceId } = record.attachment
    const there = await ask(() => env.ATTACHMENTS.getByName(id).find())
    return there === undefined || there.ownerDeviceId === ownerDeviceId
  })
  if ([...areDevices, ...areConversations, ...areAttachments].includes(false)) throw invalid()
}

/** The devices of these keys, packages, welcomes and attachments. */
function devicesIn(record: StoredRecord): readonly DeviceId[] {
  switch (record.is) {
    case "keyPackage":
      return [record.keyPackage.deviceId]
    case "welcome":
      return [record.welcome.deviceId]
    case "claim":
      return [record.claim.requesterDeviceId]
    case "attachment":
      return [record.attachment.ownerDeviceId]
    case "groupKey":
    case "proofNonce":
    case "initKey":
      return [record.deviceId]
    default:
      return []
  }
}

/** The conversations of these records. */
function conversationsIn(record: StoredRecord): readonly ConversationId[] {
  switch (record.is) {
    case "groupKey":
    case "leaf":
    case "envelope":
    case "groupInfo":
    case "treeChunk":
    case "cursor":
      return [record.conversationId]
    case "welcome":
      return [record.welcome.conversationId]
    case "attachment":
      return [record.attachment.conversationId]
    default:
      return []
  }
}
