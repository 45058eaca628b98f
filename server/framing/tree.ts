import { type LeafNode, readLeafNode, readParentHash } from "./leaf-node.ts"
import { maxBytes, maxInside } from "./limits.ts"
import { finish, list, opaque, openReader, present, type Reader, refuse, since, uint8, uint32 } from "./reader.ts"

/** A node of a ratchet tree (RFC 9420 section 12.4.3.3). */
export type TreeNode = { readonly kind: "leaf"; readonly leaf: LeafNode } | ParentNode

/** RFC 9420 section 7.1. */
export interface ParentNode {
  readonly kind: "parent"
  /** X25519, 32 bytes. */
  readonly encryptionKey: Uint8Array
  readonly parentHash: Uint8Array
  /** Leaf indices, ascending. */
  readonly unmergedLeaves: readonly number[]
  /** The encoded ParentNode. */
  readonly bytes: Uint8Array
}

/** A tree in array form (RFC 9420 appendix C): leaves at even indices, parents at odd ones, undefined for blanks. */
export interface RatchetTree {
  /** The nodes as sent; the last one is not blank. The nodes of the full tree after it are blank. */
  readonly nodes: readonly (TreeNode | undefined)[]
  /** The members, by leaf index. */
  readonly leaves: ReadonlyMap<number, LeafNode>
}

/**
 * Parses an encoded tree (ratchet_tree, RFC 9420 section 12.4.3.3). To check that it is the tree of an epoch, compare
 * `treeHash` with the GroupContext. Leaf signatures and parent hashes are not verified.
 *
 * @throws FramingRefused
 */
export function parseTree(bytes: Uint8Array, most: number = maxBytes.tree): RatchetTree {
  const reader = openReader(bytes, most, "ratchet_tree")
  const leaves = new Map<number, LeafNode>()
  let index = 0
  const nodes = list(reader, "ratchet_tree", maxInside.treeNodes, (inside) => {
    const node = present(inside, "node") ? readNode(inside, index) : undefined
    if (node?.kind === "leaf") leaves.set(index / 2, node.leaf)
    index++
    return node
  })
  finish(reader, "the tree")
  if (nodes.length === 0) refuse(reader, "MLS_MALFORMED", "ratchet_tree: has no nodes", 0)
  if (nodes.at(-1) === undefined) refuse(reader, "MLS_NON_CANONICAL", "ratchet_tree: ends in a blank")
  return { nodes, leaves }
}

function readNode(reader: Reader, index: number): TreeNode {
  const start = reader.at
  const type = uint8(reader, "node_type")
  const fits = index % 2 === 0 ? type === 1 : type === 2
  if (!fits) refuse(reader, "MLS_MALFORMED", "node_type: does not match the position", start)
  return type === 1 ? { kind: "leaf", leaf: readLeafNode(reader) } : readParent(reader, index)
}

function readParent(reader: Reader, index: number): ParentNode {
  const start = reader.at
  const encryptionKey = opaque(reader, "parent_node.encryption_key", 32)
  const parentHash = readParentHash(reader)
  let previous = firstLeafBelow(index) - 1
  const last = firstLeafBelow(index) + 2 ** levelOf(index) - 1
  const what = "parent_node.unmerged_leaves"
  const unmergedLeaves = list(reader, what, maxInside.treeNodes, (inside) => {
    const leafAt = inside.at
    const leaf = uint32(inside, what)
    // Section 7.1: in increasing order. Section 7.9: only leaves below the node.
    if (leaf <= previous || leaf > last) refuse(inside, "MLS_MALFORMED", what, leafAt)
    previous = leaf
    return leaf
  })
  return { kind: "parent", encryptionKey, parentHash, unmergedLeaves, bytes: since(reader, start) }
}

/** Height above the leaves; 0 for a leaf. It is the number of trailing 1 bits of the index (appendix C). */
export function levelOf(index: number): number {
  return index % 2 === 0 ? 0 : 31 - Math.clz32(~index & (index + 1))
}

function firstLeafBelow(index: number): number {
  return (index - (2 ** levelOf(index) - 1)) / 2
}
