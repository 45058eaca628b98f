import { sha256 } from "@noble/hashes/sha2.js"
import { concat, equalBytes } from "@signet/canonical/bytes"
import type { Commit, UpdatePath } from "./commit.ts"
import type { LeafNode } from "./leaf-node.ts"
import { levelOf, type ParentNode, type RatchetTree, type TreeNode } from "./tree.ts"
import { subtreeHashes } from "./tree-hash.ts"
import { keyOf, uint32Bytes, vectorBytes } from "./writer.ts"

/** The changes that a commit makes to the tree. */
type TreeChange = Pick<Commit, "sender" | "adds" | "removes" | "path">

type Nodes = (TreeNode | undefined)[]

/**
 * Computes the tree after a commit (RFC 9420 sections 7.5 to 7.9 and 12.4.2). This needs only the tree before it and no
 * secret. The caller verifies leaf signatures and credentials.
 *
 * @returns Undefined if the commit does not fit the tree: it removes a blank leaf or comes from one, reuses a key of
 * the tree, or its path has another length, other recipients or another parent hash.
 */
export function treeAfter(before: RatchetTree, commit: TreeChange): RatchetTree | undefined {
  if (!before.leaves.has(commit.sender)) return undefined
  const nodes = full(before.nodes)
  for (const leaf of commit.removes) {
    if (nodes[leaf * 2] === undefined) return undefined
    remove(nodes, leaf)
  }
  const taken = keysIn(before)
  for (const { leafNode } of commit.adds) {
    if (!isNew(taken, [leafNode.encryptionKey, leafNode.signatureKey])) return undefined
    add(nodes, { kind: "leaf", leaf: leafNode })
  }
  if (commit.path !== undefined) {
    const own = before.leaves.get(commit.sender)?.signatureKey
    const { leafNode, nodes: path } = commit.path
    const signatureKey = own && equalBytes(own, leafNode.signatureKey) ? [] : [leafNode.signatureKey]
    const keys = [leafNode.encryptionKey, ...path.map((node) => node.encryptionKey), ...signatureKey]
    if (!isNew(taken, keys) || !merge(nodes, commit.sender, commit.path)) return undefined
  }
  return treeOf(nodes)
}

/** The tree of a new group with one member. */
export const firstTree = (leaf: LeafNode): RatchetTree => treeOf([{ kind: "leaf", leaf }])

/** Encodes a tree (ratchet_tree). */
export function treeBytes({ nodes }: Pick<RatchetTree, "nodes">): Uint8Array {
  const blank = Uint8Array.of(0)
  const encoded = nodes.map((node) => {
    if (node === undefined) return blank
    return node.kind === "leaf" ? concat(leafHead, node.leaf.bytes) : concat(parentHead, node.bytes)
  })
  return vectorBytes(...encoded)
}

const leafHead = Uint8Array.of(1, 1)
const parentHead = Uint8Array.of(1, 2)

/** Extends the nodes with blanks to the full width: 2n - 1 nodes for n leaves, n a power of two. */
function full(sent: RatchetTree["nodes"]): Nodes {
  let width = 1
  while (width < sent.length) width = width * 2 + 1
  return Array.from({ length: width }, (_, index) => sent[index])
}

function treeOf(nodes: Nodes): RatchetTree {
  let length = nodes.length
  while (length > 0 && nodes[length - 1] === undefined) length--
  const sent = nodes.slice(0, length)
  const leaves = sent.flatMap((node, index) => (node?.kind === "leaf" ? [[index / 2, node.leaf] as const] : []))
  return { nodes: sent, leaves: new Map(leaves) }
}

const rootOf = (nodes: Nodes): number => (nodes.length - 1) / 2

function parentOf(index: number): number {
  const level = levelOf(index)
  return (index | (1 << level)) & ~(1 << (level + 1))
}

function siblingOf(index: number): number {
  return index ^ (2 << levelOf(index))
}

/** The ancestors of a leaf up to the root (direct path). */
function directPath(nodes: Nodes, leaf: number): number[] {
  const path: number[] = []
  for (let index = leaf * 2; index !== rootOf(nodes); path.push(index)) index = parentOf(index)
  return path
}

/** RFC 9420 sections 7.7 and 12.1.3: truncates the tree while its right half has no leaf. */
function remove(nodes: Nodes, leaf: number): void {
  nodes[leaf * 2] = undefined
  for (const index of directPath(nodes, leaf)) nodes[index] = undefined
  while (nodes.length > 1 && nodes.slice(rootOf(nodes) + 1).every((node) => node?.kind !== "leaf")) {
    nodes.length = rootOf(nodes)
  }
}

/** RFC 9420 section 12.1.1: uses the leftmost blank leaf, or doubles the tree's width. */
function add(nodes: Nodes, node: TreeNode): void {
  let leaf = 0
  while (nodes[leaf * 2] !== undefined) leaf++
  if (leaf * 2 >= nodes.length) nodes.push(...Array.from<undefined>({ length: nodes.length + 1 }))
  nodes[leaf * 2] = node
  for (const index of directPath(nodes, leaf)) {
    const parent = nodes[index]
    if (parent?.kind !== "parent") continue
    const unmergedLeaves = [...parent.unmergedLeaves, leaf].sort((a, b) => a - b)
    nodes[index] = parentNode({ ...parent, unmergedLeaves })
  }
}

function parentNode(of: Omit<ParentNode, "kind" | "bytes">): ParentNode {
  const unmerged = vectorBytes(...of.unmergedLeaves.map(uint32Bytes))
  return { ...of, kind: "parent", bytes: concat(vectorBytes(of.encryptionKey), vectorBytes(of.parentHash), unmerged) }
}

/**
 * Merges a path into the tree: keys and, from the root down, parent hashes (RFC 9420 sections 7.5 and 7.9).
 *
 * @returns False if the path does not fit the tree.
 */
function merge(nodes: Nodes, sender: number, { leafNode, nodes: path }: UpdatePath): boolean {
  const ancestors = directPath(nodes, sender)
  const below = [sender * 2, ...ancestors]
  const steps = ancestors
    .map((index, i) => ({ index, sibling: siblingOf(below[i] ?? 0) }))
    .map((step) => ({ ...step, recipients: resolved(nodes, step.sibling) }))
    .filter(({ recipients }) => recipients > 0)
  if (steps.length !== path.length || steps.some(({ recipients }, i) => path[i]?.recipients !== recipients))
    return false
  const hashes = subtreeHashes(nodes)
  for (const index of ancestors) nodes[index] = undefined
  let parentHash: Uint8Array = new Uint8Array()
  for (const [i, { index, sibling }] of [...steps.entries()].reverse()) {
    const encryptionKey = path[i]?.encryptionKey ?? new Uint8Array()
    nodes[index] = parentNode({ encryptionKey, parentHash, unmergedLeaves: [] })
    const level = levelOf(sibling)
    const siblingHash = hashes[level]?.[sibling >> (level + 1)] ?? new Uint8Array()
    // ParentHashInput. A node that was just set has no unmerged leaves, so its sibling's original hash is its tree
    // hash.
    parentHash = sha256(concat(vectorBytes(encryptionKey), vectorBytes(parentHash), vectorBytes(siblingHash)))
  }
  nodes[sender * 2] = { kind: "leaf", leaf: leafNode }
  return leafNode.source.kind === "commit" && equalBytes(leafNode.source.parentHash, parentHash)
}

/** The size of a node's resolution (RFC 9420 section 4.1.1). */
function resolved(nodes: Nodes, index: number): number {
  const node = nodes[index]
  if (node?.kind === "leaf") return 1
  if (node !== undefined) return 1 + node.unmergedLeaves.length
  const level = levelOf(index)
  if (level === 0) return 0
  const half = 1 << (level - 1)
  return resolved(nodes, index - half) + resolved(nodes, index + half)
}

/** Every key of the tree; keys must be unique (RFC 9420 sections 7.3 and 12.4.2). */
function keysIn({ nodes }: RatchetTree): Set<string> {
  const keys = new Set<string>()
  for (const node of nodes) {
    if (node === undefined) continue
    if (node.kind === "parent") keys.add(keyOf(node.encryptionKey))
    else for (const key of [node.leaf.encryptionKey, node.leaf.signatureKey]) keys.add(keyOf(key))
  }
  return keys
}

/** Adds the keys to the set. False if one was already in it. */
function isNew(taken: Set<string>, keys: readonly Uint8Array[]): boolean {
  return keys.every((key) => taken.size < taken.add(keyOf(key)).size)
}
