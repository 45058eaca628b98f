import type { Commit } from "./commit.ts"
import type { LeafNode } from "./leaf-node.ts"

/**
 * The members after a commit, by leaf index (RFC 9420 sections 7.7, 7.8 and 12.3): removed ones leave, a path replaces
 * the committer's leaf, and each newcomer takes the leftmost blank leaf, in the order of the Adds.
 *
 * @returns undefined if a removed leaf, or the committer's, is blank.
 */
export function membersAfter<Member>(
  before: ReadonlyMap<number, Member>,
  { sender, removes, path, adds }: Commit,
  memberOf: (leaf: LeafNode) => Member,
): Map<number, Member> | undefined {
  if (!before.has(sender)) return undefined
  const after = new Map(before)
  for (const leaf of removes) if (!after.delete(leaf)) return undefined
  if (path !== undefined) after.set(sender, memberOf(path.leafNode))
  let place = 0
  for (const { leafNode } of adds) {
    while (after.has(place)) place++
    after.set(place, memberOf(leafNode))
  }
  return after
}
