import { sha256 } from "@noble/hashes/sha2.js"
import { concat } from "@signet/canonical/bytes"
import type { RatchetTree, TreeNode } from "./tree.ts"
import { uint32Bytes } from "./writer.ts"

const leafType = Uint8Array.of(1)
const parentType = Uint8Array.of(2)
const hashLength = Uint8Array.of(32)
const absent = Uint8Array.of(0)
const present = Uint8Array.of(1)

/**
 * Computes the tree hash, 32 bytes (RFC 9420 section 7.8), level by level from the leaves, without recursion.
 *
 * A tree sent with fewer nodes stands for the full one with blanks at the end.
 */
export function treeHash({ nodes }: Pick<RatchetTree, "nodes">): Uint8Array {
  return subtreeHashes(nodes).at(-1)?.[0] ?? leafHash(0, undefined)
}

/** The tree hashes of all subtrees, by the height of their root and from left to right. */
export function subtreeHashes(nodes: RatchetTree["nodes"]): readonly (readonly Uint8Array[])[] {
  const levels: Uint8Array[][] = []
  let hashes: Uint8Array[] = []
  // The full tree over n leaves has 2n - 1 nodes.
  for (let leaf = 0; leaf * 2 - 1 < nodes.length || !isPowerOfTwo(leaf); leaf++) {
    const node = nodes[leaf * 2]
    hashes.push(leafHash(leaf, node?.kind === "leaf" ? node.leaf.bytes : undefined))
  }
  levels.push(hashes)
  for (let level = 1; hashes.length > 1; level++) {
    const above: Uint8Array[] = []
    for (let i = 0; i + 1 < hashes.length; i += 2) {
      const index = (i / 2) * 2 ** (level + 1) + 2 ** level - 1
      above.push(parentHash(nodes[index], hashes[i] ?? absent, hashes[i + 1] ?? absent))
    }
    hashes = above
    levels.push(hashes)
  }
  return levels
}

function isPowerOfTwo(value: number): boolean {
  return (value & (value - 1)) === 0
}

/** The tree hash of one leaf. @param leaf Encoded LeafNode; undefined for a blank. */
export function leafHash(leafIndex: number, leaf: Uint8Array | undefined): Uint8Array {
  const head = concat(leafType, uint32Bytes(leafIndex))
  return sha256(leaf === undefined ? concat(head, absent) : concat(head, present, leaf))
}

function parentHash(node: TreeNode | undefined, left: Uint8Array, right: Uint8Array): Uint8Array {
  const parent = node?.kind === "parent" ? concat(present, node.bytes) : absent
  return sha256(concat(parentType, parent, hashLength, left, hashLength, right))
}
