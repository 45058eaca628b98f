// The roster of a group after a commit: leaf placement by RFC 9420 sections 7.7, 7.8 and 12.1.
import type { DeviceId, PrincipalId } from "../ids.ts"
import { hex } from "./bytes.ts"
import type { Conversation, Leaf } from "./records.ts"

/** A device that a commit adds. */
export interface NewLeaf {
  readonly deviceId: DeviceId
  readonly userId: PrincipalId
  readonly credentialHash: Uint8Array
}

/** The changes that one commit makes to the leaves. */
interface RosterChange {
  /** Leaf indexes. */
  readonly removed: readonly number[]
  /** In commit order: each gets the leftmost free leaf. */
  readonly added: readonly NewLeaf[]
  /** The committer's leaf, if the commit has a path: its credential may have been renewed. */
  readonly committer: { readonly leafIndex: number; readonly credentialHash: Uint8Array } | null
}

/** Returns the roster after the commit, sorted by leaf index. */
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

/** Returns why a roster is invalid; undefined if valid. A direct conversation may only have leaves of its two users. */
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

/** Returns the leaf of a device, which has at most one. */
export function leafOf(roster: readonly Leaf[], deviceId: DeviceId): Leaf | undefined {
  return roster.find((leaf) => leaf.deviceId === deviceId)
}
