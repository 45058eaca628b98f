// The views of a conversation for a device that lists it.
import type { DeviceId, PrincipalId } from "@signet/kernel/ids"
import { equalBytes } from "@signet/kernel/messaging/bytes"
import type { LogProgress, MemberUsers } from "@signet/kernel/messaging/listening"
import type { Conversation, Place } from "@signet/kernel/messaging/records"
import { leafOf } from "@signet/kernel/messaging/roster"
import type { Sql } from "../sql.ts"
import { cursorOf } from "./cursors.ts"

/** The device that lists, its user, and their place. */
export interface Lister {
  readonly deviceId: DeviceId
  readonly userId: PrincipalId
  readonly place: Place
  /** Lists the active conversations in which the user has a leaf and the device has none. */
  readonly isUnjoined?: boolean
}

/** True if the device has a leaf or, before the first commit, its user is part of the conversation. */
export function isListed({ appId, tenantId, epoch, userIds, roster, status }: Conversation, of: Lister): boolean {
  if (appId !== of.place.appId || tenantId !== of.place.tenantId) return false
  if (of.isUnjoined === true) {
    const isUsers = roster.some(({ userId }) => userId === of.userId)
    return isUsers && status === "ACTIVE" && leafOf(roster, of.deviceId) === undefined
  }
  return leafOf(roster, of.deviceId) !== undefined || (epoch === 0n && userIds.includes(of.userId))
}

/** The epoch alone does not name a roster: data that was restored from a backup may have another one of this number. */
export const withoutKnown = (conversation: Conversation, knownReceipt: Uint8Array | null): Conversation => {
  const { state } = conversation
  const isKnown = knownReceipt !== null && state !== null && equalBytes(state.receiptHash, knownReceipt)
  return isKnown ? { ...conversation, roster: [] } : conversation
}

export function logProgressOf(sql: Sql, { id, headSeq, directives }: Conversation, deviceId: DeviceId): LogProgress {
  const { processedSeq } = cursorOf(sql, deviceId)
  return { conversationId: id, headSeq, processedSeq, hasDirectives: directives.length > 0 }
}

export function memberUsersOf(sql: Sql, conversation: Conversation, deviceId: DeviceId): MemberUsers {
  const { id, headSeq, roster } = conversation
  const userIds = [...new Set(roster.map(({ userId }) => userId))]
  return { conversationId: id, headSeq, userIds, progress: logProgressOf(sql, conversation, deviceId) }
}
