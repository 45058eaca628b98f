import { hex } from "../crypto/bytes.ts"
import { checkKeyPackage } from "./key-package.ts"
import { type Kit, maxLeaves } from "./kit.ts"
import { credentialOf, type Member, memberOf } from "./leaf.ts"
import { demand, MlsError } from "./refusal.ts"
import { addLeaf, copyTree, leafAt, leaves, removeLeaf, shrink, type Tree } from "./tree.ts"
import type { Extension, KeyPackage, LeafNode, Proposal } from "./ts-mls.ts"

/** The decoded proposals of one commit. */
export interface Changes {
  readonly adds: readonly KeyPackage[]
  /** Leaf indices. */
  readonly removes: readonly number[]
}

/** Accepts Adds or Removes by value. V1 refuses every other proposal (docs/explanation/engine.md). */
export function changesOf(proposals: readonly Proposal[]): Changes {
  const adds: KeyPackage[] = []
  const removes: number[] = []
  for (const proposal of proposals) {
    if ("add" in proposal) adds.push(proposal.add.keyPackage)
    else if ("remove" in proposal) removes.push(proposal.remove.removed)
    else throw new MlsError("MLS_BAD_PROPOSALS", "V1 has add and remove proposals only")
  }
  demand(adds.length === 0 || removes.length === 0, "MLS_BAD_PROPOSALS", "a commit either adds or removes")
  return { adds, removes }
}

/** The tree after the proposals, before any path. */
export interface Applied {
  readonly tree: Tree
  /** Leaf indices of the new members, in the order of the adds. */
  readonly added: readonly number[]
  readonly removed: readonly Member[]
}

/**
 * Checks the proposals against the tree (RFC 9420 section 12.2) and applies them to a copy.
 *
 * @param committer Leaf index. A committer cannot remove itself.
 * @param atSeconds The time of the commit, at which key packages must be valid.
 */
export async function applyChanges(
  kit: Kit,
  tree: Tree,
  { adds, removes }: Changes,
  committer: number,
  context: { readonly groupId: Uint8Array; readonly extensions: readonly Extension[] },
  atSeconds: number,
): Promise<Applied> {
  const next = copyTree(tree)
  const removed = removes.map((leaf) => memberToRemove(tree, leaf, committer))
  demand(new Set(removes).size === removes.length, "MLS_BAD_PROPOSALS", "a member is removed once")
  for (const leaf of removes) removeLeaf(next, leaf)
  shrink(next)
  const taken = adds.length === 0 ? undefined : takenNames(kit, next)
  const added: number[] = []
  for (const keyPackage of adds) {
    const { leafNode } = keyPackage
    await checkKeyPackage(kit, keyPackage, { ...context, leaf: 0 }, atSeconds)
    for (const name of namesOf(kit, leafNode)) {
      demand(
        taken !== undefined && !taken.has(name),
        "MLS_BAD_PROPOSALS",
        "the device or one of its keys is already here",
      )
      taken.add(name)
    }
    added.push(addLeaf(next, leafNode))
  }
  if (adds.length > 0)
    demand([...leaves(next)].length <= maxLeaves, "MLS_GROUP_FULL", "the tree exceeds the maximum number of leaves")
  return { tree: next, added, removed }
}

function memberToRemove(tree: Tree, leaf: number, committer: number): Member {
  const node = leafAt(tree, leaf)
  demand(node !== undefined, "MLS_BAD_PROPOSALS", "the leaf to remove is blank")
  demand(leaf !== committer, "MLS_BAD_PROPOSALS", "the committer cannot remove itself")
  return memberOf(leaf, node)
}

/** The values that are unique to a leaf: encryption key, signature key and device. */
function namesOf(kit: Kit, node: LeafNode): string[] {
  return [
    `encryption ${hex(node.hpkePublicKey)}`,
    `signature ${hex(node.signaturePublicKey)}`,
    `device ${kit.deviceOf(credentialOf(node))}`,
  ]
}

/**
 * The unique values in a tree, including the encryption keys of its parent nodes.
 *
 * @throws MlsError MLS_BAD_TREE if one is in use twice.
 */
export function takenNames(kit: Kit, tree: Tree): Set<string> {
  const taken = new Set<string>()
  for (const node of tree.nodes) {
    if (node === undefined) continue
    const names = node.nodeType === "leaf" ? namesOf(kit, node.leaf) : [`encryption ${hex(node.parent.hpkePublicKey)}`]
    for (const name of names) {
      demand(!taken.has(name), "MLS_BAD_TREE", "a key or a device appears twice")
      taken.add(name)
    }
  }
  return taken
}
