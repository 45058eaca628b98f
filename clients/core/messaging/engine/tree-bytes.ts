import { concat } from "../crypto/bytes.ts"
import { maxLeaves } from "./kit.ts"
import { decodeLeaf } from "./leaf-bytes.ts"
import { demand } from "./refusal.ts"
import { decodeStrictly, maxBytes } from "./strict.ts"
import { encodedLeaf, type Tree } from "./tree.ts"
import {
  type Decoder,
  decodeNode,
  decodeOptional,
  decodeVarLenType,
  encode,
  encodeNode,
  lengthEncoder,
  type Node,
} from "./ts-mls.ts"

const absent = Uint8Array.of(0)
const present = Uint8Array.of(1)
const leafType = Uint8Array.of(1)
const encodeLength = encode(lengthEncoder)
const decodeTreeNode: Decoder<Node> = (bytes, offset) => {
  if (bytes[offset] !== leafType[0]) return decodeNode(bytes, offset)
  const decoded = decodeLeaf(bytes, offset + 1)
  return decoded && [{ nodeType: "leaf", leaf: decoded[0] }, decoded[1] + 1]
}
const decodeNodes = decodeVarLenType(decodeOptional(decodeTreeNode))

/**
 * Encodes the ratchet_tree extension (RFC 9420 section 12.4.3.3) iteratively, because large trees overflow a recursion.
 */
export function encodeTree(tree: Tree): Uint8Array {
  return encodeNodes(tree.nodes.slice(0, tree.nodes.findLastIndex((node) => node !== undefined) + 1))
}

function encodeNodes(nodes: readonly (Node | undefined)[]): Uint8Array {
  const parts: Uint8Array[] = []
  for (const node of nodes) {
    if (node === undefined) parts.push(absent)
    else if (node.nodeType === "leaf") parts.push(present, leafType, encodedLeaf(node.leaf))
    else parts.push(present, encodeNode(node))
  }
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return concat(encodeLength(length), ...parts)
}

/**
 * Decodes an untrusted tree. Checks only that it is canonical, does not end in a blank, and has at most 1000 leaves.
 *
 * @throws MlsError MLS_TOO_LARGE, MLS_MALFORMED, MLS_NON_CANONICAL, MLS_BAD_TREE, MLS_GROUP_FULL
 */
export function decodeTree(bytes: Uint8Array): Tree {
  return treeOf(decodeStrictly(bytes, maxBytes.tree, decodeNodes, encodeNodes, "tree"))
}

/**
 * Decodes a tree that this device stored. Its list elements are not counted: an accepted tree is never refused later.
 *
 * @throws MlsError as `decodeTree`.
 */
export function decodeStoredTree(bytes: Uint8Array): Tree {
  return treeOf(decodeStrictly(bytes, maxBytes.tree, decodeNodes, encodeNodes))
}

function treeOf(nodes: (Node | undefined)[]): Tree {
  demand(nodes.length > 0 && nodes.at(-1) !== undefined, "MLS_BAD_TREE", "a tree does not end in a blank node")
  demand(nodes.length < maxLeaves * 2, "MLS_GROUP_FULL", "more leaves than a conversation may have")
  let width = 1
  while (width < nodes.length) width = width * 2 + 1
  while (nodes.length < width) nodes.push(undefined)
  return { nodes, hashes: new Array(width) }
}
