import { equal } from "../crypto/bytes.ts"
import { takenNames } from "./change.ts"
import type { Kit } from "./kit.ts"
import { checkLeaf } from "./leaf.ts"
import { parentHashOf } from "./path.ts"
import { demand } from "./refusal.ts"
import { leafAt, leaves, parentAt, resolution, type Tree, treeHash } from "./tree.ts"
import { directPath, isLeafIndex, isWithin, sibling } from "./tree-math.ts"
import type { Extension, ParentNode } from "./ts-mls.ts"

/**
 * Verifies a received tree as a joining member must (RFC 9420 section 12.4.3.1): its shape, tree hash, every leaf with
 * its signature, unmerged leaves, and parent hashes.
 *
 * @param group.treeHash The tree_hash of the signed GroupInfo.
 * @throws MlsError MLS_BAD_TREE, MLS_BAD_LEAF or MLS_BAD_SIGNATURE
 */
export async function checkTree(
  kit: Kit,
  tree: Tree,
  group: { readonly groupId: Uint8Array; readonly extensions: readonly Extension[]; readonly treeHash: Uint8Array },
): Promise<void> {
  checkShape(tree)
  demand(
    equal(await treeHash(kit, tree), group.treeHash),
    "MLS_BAD_TREE",
    "the tree hash differs from that of the group",
  )
  takenNames(kit, tree)
  for (const [index, parent] of parents(tree)) checkUnmerged(tree, index, parent)
  await checkParentHashes(kit, tree)
  const checks = [...leaves(tree)].map(([leaf, node]) => checkLeaf(kit, node, { ...group, leaf }))
  await Promise.all(checks)
}

function* parents(tree: Tree): Generator<[number, ParentNode]> {
  for (let index = 1; index < tree.nodes.length; index += 2) {
    const parent = parentAt(tree, index)
    if (parent !== undefined) yield [index, parent]
  }
}

function checkShape(tree: Tree): void {
  for (const [index, node] of tree.nodes.entries()) {
    const fits = node === undefined || (node.nodeType === "leaf") === isLeafIndex(index)
    demand(fits, "MLS_BAD_TREE", "a node has the wrong type for its index")
  }
}

/**
 * Checks the unmerged leaves of a parent (RFC 9420 section 7.9): ascending, members below it, and listed by every
 * parent **between** the leaf and it. ts-mls also checks the parents above, and so refuses valid trees (defect E3).
 */
function checkUnmerged(tree: Tree, index: number, parent: ParentNode): void {
  let previous = -1
  for (const leaf of parent.unmergedLeaves) {
    demand(leaf > previous, "MLS_BAD_TREE", "unmerged leaves ascend")
    previous = leaf
    const below = isWithin(leaf * 2, index) && leafAt(tree, leaf) !== undefined
    demand(below, "MLS_BAD_TREE", "an unmerged leaf is a member below its parent")
    for (const between of directPath(leaf * 2, tree.nodes.length)) {
      if (between === index) break
      const node = parentAt(tree, between)
      const listed = node === undefined || node.unmergedLeaves.includes(leaf)
      demand(listed, "MLS_BAD_TREE", "a parent in between does not list the unmerged leaf")
    }
  }
}

/** Checks that each parent is valid by the parent hash of one of its descendants (RFC 9420 section 7.9.2). */
async function checkParentHashes(kit: Kit, tree: Tree): Promise<void> {
  const vouched = new Set<number>()
  // Cached by child: all nodes below one child of a parent have the same expected parent hash.
  const hashes = new Map<number, Uint8Array>()
  for (const [index, node] of tree.nodes.entries()) {
    if (node === undefined) continue
    const carried = node.nodeType === "parent" ? node.parent.parentHash : parentHashOfLeaf(node.leaf)
    const above = directPath(index, tree.nodes.length).find((at) => tree.nodes[at] !== undefined)
    const parent = above === undefined ? undefined : parentAt(tree, above)
    if (carried === undefined || above === undefined || parent === undefined) continue
    const side = childToward(above, index, tree.nodes.length)
    const expected = hashes.get(side) ?? (await parentHashOf(kit, tree, parent, sibling(side)))
    hashes.set(side, expected)
    if (equal(carried, expected) && isLastMerged(tree, index, side, parent)) vouched.add(above)
  }
  for (const [index] of parents(tree))
    demand(vouched.has(index), "MLS_BAD_TREE", "a parent node has no valid parent hash")
}

function parentHashOfLeaf(leaf: { readonly leafNodeSource: string; readonly parentHash?: Uint8Array }) {
  return leaf.leafNodeSource === "commit" ? leaf.parentHash : undefined
}

function childToward(ancestor: number, index: number, width: number): number {
  const path = [index, ...directPath(index, width)]
  return path[path.indexOf(ancestor) - 1] ?? index
}

/** True if the rest of the resolution of `side` was added later, so that the parent lists it as unmerged. */
function isLastMerged(tree: Tree, index: number, side: number, parent: ParentNode): boolean {
  const others = resolution(tree, side).filter((node) => node !== index)
  const unmerged = parent.unmergedLeaves.map((leaf) => leaf * 2).filter((node) => isWithin(node, side))
  return others.length === unmerged.length && others.every((node) => unmerged.includes(node))
}
