// Who is in a group after a commit, as RFC 9420 sections 7.7, 7.8 and 12.1 place leaves.
import type { DeviceId, PrincipalId } from "../ids.ts"
import { hex } from "./bytes.ts"
import type { Conversation, Leaf } from "./records.ts"

/** A device as it comes in. */
export interface NewLeaf {
  readonly deviceId: DeviceId
  readonly userId: PrincipalId
  readonly credentialHash: Uint8Array
}

/** What a commit does to the leaves: one kind of change. */
export interface RosterChange {
  /** Leaf indexes. */
  readonly removed: readonly number[]
  /** In the order of the commit: each takes the leftmost leaf that is free. */
  readonly added: readonly NewLeaf[]
  /** The committer's leaf, when the commit has a path: its credential may be a newer one. */
  readonly committer: { readonly leafIndex: number; readonly credentialHash: Uint8Array } | null
}

/** The roster of the epoch after the commit, by leaf index. */
export function rosterAfter(roster: readonly Leaf[], change: RosterChange, nextEpoch: bigint): readonly Leaf[] {
  const leaves = new Map(roster.map((leaf) => [leaf.leafIndex, leaf]))
  for (const leafIndex of change.removed) leaves.delete(leafIndex)
  const { committer } = change
  const own = committer === null ? undefined : leaves.get(committer.leafIndex)
  if (committer !== null && own !== undefined) {
    leaves.set(committer.leafIndex, { ...own, credentialHash: committer.credentialHash })
  }
  let free = 0
  for (const leaf of change.added) {
    while (leaves.has(free)) free++
    leaves.set(free, { ...leaf, leafIndex: free, joinedEpoch: nextEpoch })
  }
  return [...leaves.values()].sort((a, b) => a.leafIndex - b.leafIndex)
}

/** What a roster must not be, or undefined. A direct conversation has leaves of its two users alone. */
export function rosterFault(
  conversation: Pick<Conversation, "kind" | "userIds" | "maxLeaves">,
  roster: readonly Leaf[],
): "GHOST_MEMBER" | "LIMIT_EXCEEDED" | "MEMBERSHIP_CHANGE_NOT_ALLOWED" | undefined {
  if (roster.length > conversation.maxLeaves) return "LIMIT_EXCEEDED"
  const devices = new Set(roster.map(({ deviceId }) => deviceId))
  const credentials = new Set(roster.map(({ credentialHash }) => hex(credentialHash)))
  if (devices.size < roster.length || credentials.size < roster.length) return "GHOST_MEMBER"
  const isForeign =
    conversation.kind === "DIRECT" && roster.some(({ userId }) => !conversation.userIds.includes(userId))
  return isForeign ? "MEMBERSHIP_CHANGE_NOT_ALLOWED" : undefined
}

/** The leaf of a device. A device has one at most. */
export function leafOf(roster: readonly Leaf[], deviceId: DeviceId): Leaf | undefined {
  return roster.find((leaf) => leaf.deviceId === deviceId)
}
