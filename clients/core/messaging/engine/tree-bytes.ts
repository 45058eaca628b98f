import { ByteReader } from "./byte-reader.ts"
import { ByteWriter } from "./byte-writer.ts"
import { maxLeaves } from "./kit.ts"
import { readLeaf, writeLeaf } from "./leaf-bytes.ts"
import { demand } from "./refusal.ts"
import { decodeStrictly, maxBytes } from "./strict.ts"
import { encodedLeaf, type Tree } from "./tree.ts"
import type { Decoder, Node, ParentNode } from "./ts-mls.ts"

const present = 1
const leafType = 1
const parentType = 2

/** Encodes the ratchet_tree extension (RFC 9420 section 12.4.3.3). */
export function encodeTree(tree: Tree): Uint8Array {
  const nodes = tree.nodes.slice(0, tree.nodes.findLastIndex((node) => node !== undefined) + 1)
  return encodeNodes(nodes, (part, leaf) => part.raw(encodedLeaf(leaf)))
}

const decodeNodes: Decoder<(Node | undefined)[]> = (bytes, offset) => {
  const part = new ByteReader(bytes, offset)
  return [part.list(readOptional), part.at - offset]
}

/** @param write Writes a leaf. The default caches nothing, so that a tree that is later rejected leaves no garbage. */
function encodeNodes(nodes: readonly (Node | undefined)[], write = writeLeaf): Uint8Array {
  const part = new ByteWriter()
  part.list(nodes, (inner, node) => {
    inner.uint8(node === undefined ? 0 : present)
    if (node?.nodeType === "leaf") {
      inner.uint8(leafType)
      write(inner, node.leaf)
    } else if (node !== undefined) {
      inner.uint8(parentType)
      writeParent(inner, node.parent)
    }
  })
  return part.written()
}

/** As in ts-mls, any first byte except 1 means absent. */
function readOptional(part: ByteReader): Node | undefined {
  return part.uint8() === present ? readNode(part) : undefined
}

/** Section 7.8. */
function readNode(part: ByteReader): Node {
  const type = part.uint8()
  if (type === leafType) return { nodeType: "leaf", leaf: readLeaf(part) }
  demand(type === parentType, "MLS_MALFORMED", "an unknown node type")
  const [hpkePublicKey, parentHash] = [part.opaque(), part.opaque()]
  return { nodeType: "parent", parent: { hpkePublicKey, parentHash, unmergedLeaves: part.list(readIndex) } }
}

function writeParent(part: ByteWriter, { hpkePublicKey, parentHash, unmergedLeaves }: ParentNode): void {
  part.opaque(hpkePublicKey)
  part.opaque(parentHash)
  part.list(unmergedLeaves, writeIndex)
}

function readIndex(part: ByteReader): number {
  return part.uint32()
}

function writeIndex(part: ByteWriter, leaf: number): void {
  part.uint32(leaf)
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
