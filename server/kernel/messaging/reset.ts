// When a direct conversation goes on in a new group under the same id. The new group has every active device of both
// users, so a reset takes nothing from anybody but the old group's secrets; every member sees it as a break.
import type { Reason } from "../errors.ts"
import type { DeviceId, PrincipalId } from "../ids.ts"
import { isOnTheWayOut } from "./directive.ts"
import type { Conversation, Leaf } from "./records.ts"
import { leafOf } from "./roster.ts"

export type ResetDecision =
  | { readonly is: "reset" }
  /** RESET_NOT_NEEDED: one of `helpers` can add the requester, and is online. */
  | { readonly is: "refuse"; readonly reason: Reason }

/**
 * Decides whether a device may replace the group of a direct conversation.
 *
 * The device is an active one of the two users (its token says so) that has no leaf, or whose leaf waits for a REJOIN.
 * No helper is online: a helper is another member device that could let it in by an ordinary commit.
 *
 * @param onlineDeviceIds Member devices that called within `resetAfterMs` (limits.ts).
 */
export function decideReset(
  conversation: Conversation,
  requester: { readonly deviceId: DeviceId; readonly userId: PrincipalId },
  onlineDeviceIds: readonly DeviceId[],
): ResetDecision {
  if (conversation.status === "CLOSED") return { is: "refuse", reason: "CONVERSATION_CLOSED" }
  if (conversation.kind !== "DIRECT") return { is: "refuse", reason: "MEMBERSHIP_CHANGE_NOT_ALLOWED" }
  if (!conversation.userIds.includes(requester.userId)) return { is: "refuse", reason: "NOT_MEMBER" }
  if (conversation.epoch === 0n) return { is: "refuse", reason: "NOTHING_TO_DO" }
  const own = leafOf(conversation.roster, requester.deviceId)
  const leaving = own && isOnTheWayOut(conversation.directives, own)
  if (leaving !== undefined) return { is: "refuse", reason: leaving }
  if (own !== undefined && !waitsForRejoin(conversation, own)) return { is: "refuse", reason: "NOTHING_TO_DO" }
  const isHelped = helpersOf(conversation, requester.deviceId).some(({ deviceId }) =>
    onlineDeviceIds.includes(deviceId),
  )
  return isHelped ? { is: "refuse", reason: "RESET_NOT_NEEDED" } : { is: "reset" }
}

/** Member devices that can commit: none that is to be removed, waits for a REJOIN, or reported that it cannot follow. */
function helpersOf(conversation: Conversation, requester: DeviceId): readonly Leaf[] {
  return conversation.roster.filter(
    (leaf) =>
      leaf.deviceId !== requester &&
      isOnTheWayOut(conversation.directives, leaf) === undefined &&
      !waitsForRejoin(conversation, leaf) &&
      !conversation.forkReports.some(({ deviceId }) => deviceId === leaf.deviceId),
  )
}

const waitsForRejoin = ({ directives }: Conversation, { userId, deviceId }: Leaf): boolean =>
  directives.some(
    (one) => one.kind === "REJOIN" && one.status === "OPEN" && one.userId === userId && one.deviceId === deviceId,
  )

/** Whether a group id belongs to another group of the conversation: a reset frames its commit in one. */
export function isOtherGroup({ mlsGroupId }: Pick<Conversation, "mlsGroupId">, groupId: Uint8Array): boolean {
  const isSame = (from: number, to: number) =>
    mlsGroupId.subarray(from, to).every((byte, i) => byte === groupId[from + i])
  return groupId.length === mlsGroupId.length && isSame(0, 16) && !isSame(16, mlsGroupId.length)
}

/** The conversation as the first commit of its next group finds it: nobody is in, and the newest state is the base. */
export const beforeReset = (conversation: Conversation, groupId: Uint8Array): Conversation => ({
  ...conversation,
  mlsGroupId: groupId,
  roster: [],
  directives: [],
  forkReports: [],
})
