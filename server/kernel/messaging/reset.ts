// Rules for resetting a direct conversation: it continues in a new group under the same id. The new group has every
// active device of both users, so only the old group's secrets are lost. Every member sees the reset as a break.
import type { Reason } from "../errors.ts"
import type { DeviceId, PrincipalId } from "../ids.ts"
import { isOnTheWayOut } from "./directive.ts"
import { resetAfterMs } from "./limits.ts"
import type { Conversation, Directive, Leaf } from "./records.ts"
import { leafOf } from "./roster.ts"

type ResetDecision =
  | { readonly is: "reset" }
  /** RESET_NOT_NEEDED: a helper that can add the requester is online, and has had less than `resetAfterMs` for it. */
  | { readonly is: "refuse"; readonly reason: Reason }

/**
 * Decides whether a device may replace the group of a direct conversation.
 *
 * The device must be an active one of the two users (its token says so). It has no leaf, or its leaf is stuck: it waits
 * for a REJOIN, or has reported a commit that it cannot process. No helper may be online: another member device that
 * could add it by an ordinary commit. Online devices are no helpers if none has removed the leaf within `resetAfterMs` of
 * its REJOIN. Once the leaf is removed, a member works: a device could otherwise force resets by having no key packages.
 *
 * @param onlineDeviceIds Member devices that called within `resetAfterMs` (limits.ts).
 */
export function decideReset(
  conversation: Conversation,
  requester: { readonly deviceId: DeviceId; readonly userId: PrincipalId },
  onlineDeviceIds: readonly DeviceId[],
  nowMs: number,
): ResetDecision {
  if (conversation.status === "CLOSED") return { is: "refuse", reason: "CONVERSATION_CLOSED" }
  if (conversation.kind !== "DIRECT") return { is: "refuse", reason: "MEMBERSHIP_CHANGE_NOT_ALLOWED" }
  if (!conversation.userIds.includes(requester.userId)) return { is: "refuse", reason: "NOT_MEMBER" }
  if (conversation.epoch === 0n) return { is: "refuse", reason: "NOTHING_TO_DO" }
  const own = leafOf(conversation.roster, requester.deviceId)
  const leaving = own && isOnTheWayOut(conversation.directives, own)
  if (leaving !== undefined) return { is: "refuse", reason: leaving }
  if (own !== undefined && !isStuck(conversation, own)) return { is: "refuse", reason: "NOTHING_TO_DO" }
  // A report alone asks nobody to remove the device.
  const askedAtMs = own && rejoinOf(conversation, own)?.issuedAtMs
  if (askedAtMs !== undefined && nowMs - askedAtMs >= resetAfterMs) return { is: "reset" }
  const isHelped = helpersOf(conversation, requester.deviceId).some(({ deviceId }) =>
    onlineDeviceIds.includes(deviceId),
  )
  return isHelped ? { is: "refuse", reason: "RESET_NOT_NEEDED" } : { is: "reset" }
}

/** Member devices that can commit: neither being removed nor stuck. */
function helpersOf(conversation: Conversation, requester: DeviceId): readonly Leaf[] {
  return conversation.roster.filter(
    (leaf) =>
      leaf.deviceId !== requester &&
      isOnTheWayOut(conversation.directives, leaf) === undefined &&
      !isStuck(conversation, leaf),
  )
}

const isOf = (of: { readonly userId: PrincipalId; readonly deviceId: DeviceId | null }, leaf: Leaf) =>
  of.userId === leaf.userId && of.deviceId === leaf.deviceId

/** A leaf's open REJOIN. */
const rejoinOf = ({ directives }: Conversation, leaf: Leaf): Directive | undefined =>
  directives.find((one) => one.kind === "REJOIN" && one.status === "OPEN" && isOf(one, leaf))

/** True if the leaf waits for a REJOIN, or has an open fork report. */
const isStuck = (conversation: Conversation, leaf: Leaf): boolean =>
  rejoinOf(conversation, leaf) !== undefined || conversation.forkReports.some((report) => isOf(report, leaf))

/** True if the group id belongs to another group of the same conversation, as in the commit of a reset. */
export function isOtherGroup({ mlsGroupId }: Pick<Conversation, "mlsGroupId">, groupId: Uint8Array): boolean {
  const isSame = (from: number, to: number) =>
    mlsGroupId.subarray(from, to).every((byte, i) => byte === groupId[from + i])
  return groupId.length === mlsGroupId.length && isSame(0, 16) && !isSame(16, mlsGroupId.length)
}

/** The conversation as the first commit of the next group sees it: no members, based on the newest state. */
export const beforeReset = (conversation: Conversation, groupId: Uint8Array): Conversation => ({
  ...conversation,
  mlsGroupId: groupId,
  roster: [],
  directives: [],
  forkReports: [],
})
