// Rules of blocked users. To a blocked user, the devices of the blocking user have no key package, so the answer does not
// differ from the one for a user whose devices have none. Messages are not refused: in the one log of a conversation, a
// refusal would reveal the block, and a dropped message would be a gap.
import type { PrincipalId } from "../ids.ts"
import { maxCount } from "./limits.ts"
import type { BlockList, ClaimRecord, Conversation } from "./records.ts"

export const emptyBlockList: BlockList = { version: 0n, userIds: [] }

export interface BlockChange {
  /** The user to block or unblock. */
  readonly userId: PrincipalId
  readonly isBlocked: boolean
}

export type BlockDecision =
  | { readonly is: "change"; readonly list: BlockList }
  /** The list has the requested state already. */
  | { readonly is: "there" }
  /** The list has the maximum number of users. */
  | { readonly is: "full" }

export function decideBlock({ version, userIds }: BlockList, { userId, isBlocked }: BlockChange): BlockDecision {
  if (userIds.includes(userId) === isBlocked) return { is: "there" }
  if (isBlocked && userIds.length >= maxCount.blocksPerUser) return { is: "full" }
  const next = isBlocked ? [...userIds, userId] : userIds.filter((id) => id !== userId)
  return { is: "change", list: { version: version + 1n, userIds: next } }
}

/**
 * The users whose devices every member may add, also a member whom they block: members of a group, and users with a
 * device that requested a REJOIN. Without them a new or lost device of a shared group would depend on other members.
 */
export function addableByAnyone({ kind, roster, directives }: Conversation): readonly PrincipalId[] {
  const members = kind === "GROUP" ? roster.map(({ userId }) => userId) : []
  const rejoining = directives.filter((one) => one.kind === "REJOIN" && one.status !== "DONE")
  return [...new Set([...members, ...rejoining.map(({ userId }) => userId)])]
}

/**
 * True for a conversation that the user of the list is not to be shown: a blocked user created it, and it has no member
 * yet. The service stores it, as for a user whose devices have no key package.
 */
export const isHiddenFrom = ({ userIds }: BlockList, { epoch, creatorUserId }: Conversation): boolean =>
  epoch === 0n && userIds.includes(creatorUserId)

/** The claim as its requester may see it: users who have blocked the requester since have no package. */
export function withoutPackagesOf(claim: ClaimRecord, blockers: readonly PrincipalId[]): ClaimRecord {
  const withheld = claim.packages.filter(({ userId }) => blockers.includes(userId))
  if (withheld.length === 0) return claim
  return {
    ...claim,
    packages: claim.packages.filter((one) => !withheld.includes(one)),
    withoutDeviceIds: [...claim.withoutDeviceIds, ...withheld.map(({ deviceId }) => deviceId)].sort(),
  }
}
