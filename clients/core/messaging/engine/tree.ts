import { concat, equal } from "../crypto/bytes.ts"
import type { Kit } from "./kit.ts"
import { encodeLeaf } from "./leaf-bytes.ts"
import { MlsError } from "./refusal.ts"
import { directPath, isLeafIndex, isWithin, left, right, root } from "./tree-math.ts"
import { encode, type LeafNode, type Node, type ParentNode, parentNodeHashInputEncoder } from "./ts-mls.ts"

/**
 * A ratchet tree with a cache of its subtree hashes.
 *
 * `nodes.length` is 2^n - 1; a blank node is undefined. The tree of a state is never changed: an operation works on a
 * `copyTree`, and drops the cached hashes above every node that it changes.
 */
export interface Tree {
  readonly nodes: (Node | undefined)[]
  readonly hashes: (Uint8Array | undefined)[]
}

export function copyTree(tree: Tree): Tree {
  return { nodes: tree.nodes.slice(), hashes: tree.hashes.slice() }
}

export function leafAt(tree: Tree, leaf: number): LeafNode | undefined {
  const node = tree.nodes[leaf * 2]
  return node?.nodeType === "leaf" ? node.leaf : undefined
}

export function parentAt(tree: Tree, index: number): ParentNode | undefined {
  const node = tree.nodes[index]
  return node?.nodeType === "parent" ? node.parent : undefined
}

export function encryptionKeyAt(tree: Tree, index: number): Uint8Array {
  const node = tree.nodes[index]
  if (node === undefined) throw new MlsError("MLS_BAD_TREE", "a blank node has no key")
  return node.nodeType === "leaf" ? node.leaf.hpkePublicKey : node.parent.hpkePublicKey
}

/** The members, by leaf. */
export function* leaves(tree: Tree): Generator<[number, LeafNode]> {
  for (let leaf = 0; leaf * 2 < tree.nodes.length; leaf++) {
    const node = leafAt(tree, leaf)
    if (node !== undefined) yield [leaf, node]
  }
}

/** Sets a node and drops the cached hashes that depend on it. */
export function setNode(tree: Tree, index: number, node: Node | undefined): void {
  tree.nodes[index] = node
  tree.hashes[index] = undefined
  for (const above of directPath(index, tree.nodes.length)) tree.hashes[above] = undefined
}

/**
 * Adds a member at the leftmost blank leaf, unmerged at every parent above it (RFC 9420 section 7.7).
 *
 * @returns The member's leaf index.
 */
export function addLeaf(tree: Tree, leafNode: LeafNode): number {
  let leaf = 0
  while (leaf * 2 < tree.nodes.length && tree.nodes[leaf * 2] !== undefined) leaf++
  if (leaf * 2 >= tree.nodes.length) resize(tree, tree.nodes.length * 2 + 1)
  for (const above of directPath(leaf * 2, tree.nodes.length)) {
    const parent = parentAt(tree, above)
    if (parent === undefined) continue
    const unmergedLeaves = [...parent.unmergedLeaves, leaf].sort((a, b) => a - b)
    tree.nodes[above] = { nodeType: "parent", parent: { ...parent, unmergedLeaves } }
  }
  setNode(tree, leaf * 2, { nodeType: "leaf", leaf: leafNode })
  return leaf
}

/** Blanks a member's leaf and direct path (RFC 9420 section 7.8). Call `shrink` after the last removal. */
export function removeLeaf(tree: Tree, leaf: number): void {
  for (const above of directPath(leaf * 2, tree.nodes.length)) tree.nodes[above] = undefined
  setNode(tree, leaf * 2, undefined)
}

/** Truncates the tree while its right half has no members. */
export function shrink(tree: Tree): void {
  while (tree.nodes.length > 1 && tree.nodes.slice(root(tree.nodes.length)).every((node) => node === undefined)) {
    resize(tree, root(tree.nodes.length))
  }
}

function resize(tree: Tree, width: number): void {
  for (let index = tree.nodes.length; index < width; index++) tree.nodes.push(undefined)
  tree.nodes.length = width
  tree.hashes.length = width
}

/** The resolution of a node (RFC 9420 section 4.1.1). */
export function resolution(tree: Tree, index: number): number[] {
  const node = tree.nodes[index]
  if (node?.nodeType === "parent") return [index, ...node.parent.unmergedLeaves.map((leaf) => leaf * 2)]
  if (node !== undefined) return [index]
  return isLeafIndex(index) ? [] : [...resolution(tree, left(index)), ...resolution(tree, right(index))]
}

const leafBytes = new WeakMap<LeafNode, Uint8Array>()

/** The encoding of a leaf, cached by the leaf. */
export function encodedLeaf(leaf: LeafNode): Uint8Array {
  const known = leafBytes.get(leaf)
  if (known !== undefined) return known
  const made = encodeLeaf(leaf)
  leafBytes.set(leaf, made)
  return made
}

export function sameLeaf(a: LeafNode, b: LeafNode): boolean {
  return equal(encodedLeaf(a), encodedLeaf(b))
}

/** The tree hash of the whole tree (RFC 9420 section 7.8). */
export async function treeHash(kit: Kit, tree: Tree): Promise<Uint8Array> {
  return subtreeHash(kit, tree, root(tree.nodes.length))
}

/** The hash of the subtree at `index`, cached in the tree. */
export async function subtreeHash(kit: Kit, tree: Tree, index: number): Promise<Uint8Array> {
  const known = tree.hashes[index]
  if (known !== undefined) return known
  const made = isLeafIndex(index)
    ? await kit.suite.digest(leafInput(index, leafAt(tree, index / 2)))
    : await kit.suite.digest(
        parentInput(
          parentAt(tree, index),
          await subtreeHash(kit, tree, left(index)),
          await subtreeHash(kit, tree, right(index)),
        ),
      )
  tree.hashes[index] = made
  return made
}

/**
 * The hash of the subtree at `index` without some leaves: the original sibling tree hash (RFC 9420 section 7.9).
 * Subtrees without these leaves use the cached hashes.
 *
 * @param without Leaf indices.
 */
export async function subtreeHashWithout(
  kit: Kit,
  tree: Tree,
  index: number,
  without: readonly number[],
): Promise<Uint8Array> {
  const inside = without.filter((leaf) => isWithin(leaf * 2, index))
  if (inside.length === 0) return subtreeHash(kit, tree, index)
  if (isLeafIndex(index)) return kit.suite.digest(leafInput(index, undefined))
  const node = parentAt(tree, index)
  const merged = node && { ...node, unmergedLeaves: node.unmergedLeaves.filter((leaf) => !inside.includes(leaf)) }
  const leftHash = await subtreeHashWithout(kit, tree, left(index), inside)
  const rightHash = await subtreeHashWithout(kit, tree, right(index), inside)
  return kit.suite.digest(parentInput(merged, leftHash, rightHash))
}

/** LeafNodeHashInput inside TreeHashInput (RFC 9420 section 7.8). */
function leafInput(index: number, leaf: LeafNode | undefined): Uint8Array {
  const head = Uint8Array.of(1, 0, 0, 0, 0, leaf === undefined ? 0 : 1)
  new DataView(head.buffer).setUint32(1, index / 2)
  return leaf === undefined ? head : concat(head, encodedLeaf(leaf))
}

const encodeParentInput = encode(parentNodeHashInputEncoder)

function parentInput(parentNode: ParentNode | undefined, leftHash: Uint8Array, rightHash: Uint8Array): Uint8Array {
  return encodeParentInput({ nodeType: "parent", parentNode, leftHash, rightHash })
}
