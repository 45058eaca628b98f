import { concat, utf8 } from "../crypto/bytes.ts"
import type { Kit } from "./kit.ts"
import { demand } from "./refusal.ts"
import { parentAt, resolution, setNode, subtreeHashWithout, type Tree } from "./tree.ts"
import { directPath, sibling } from "./tree-math.ts"
import {
  encode,
  encodeGroupContext,
  encodeParentHashInput,
  expandWithLabel,
  type GroupContext,
  type ParentNode,
  varLenDataEncoder,
} from "./ts-mls.ts"

const empty = new Uint8Array()

/** A step of a filtered direct path (RFC 9420 section 4.1.2). */
export interface PathStep {
  readonly node: number
  /** The child of `node` that is not on the path. */
  readonly copath: number
  /** The resolution of `copath`: the nodes that the path secret of `node` is encrypted to. Never empty. */
  readonly recipients: readonly number[]
}

/** The filtered direct path of a leaf, nearest first. */
export function filteredPath(tree: Tree, leaf: number): PathStep[] {
  const steps: PathStep[] = []
  let below = leaf * 2
  for (const node of directPath(leaf * 2, tree.nodes.length)) {
    const copath = sibling(below)
    const recipients = resolution(tree, copath)
    if (recipients.length > 0) steps.push({ node, copath, recipients })
    below = node
  }
  return steps
}

/**
 * Sets new keys on a leaf's filtered direct path, blanks the rest of its direct path, and computes the parent hashes
 * (RFC 9420 sections 7.5 and 7.9). The caller replaces the leaf itself.
 *
 * @param keys One key per step, in order.
 * @returns The parent hash for the new leaf.
 */
export async function linkPath(
  kit: Kit,
  tree: Tree,
  leaf: number,
  steps: readonly PathStep[],
  keys: readonly Uint8Array[],
): Promise<Uint8Array> {
  for (const node of directPath(leaf * 2, tree.nodes.length)) setNode(tree, node, undefined)
  let parentHash: Uint8Array = empty
  for (let i = steps.length - 1; i >= 0; i--) {
    const step = steps[i]
    const hpkePublicKey = keys[i]
    demand(
      step !== undefined && hpkePublicKey !== undefined,
      "MLS_BAD_PATH",
      "the path does not have one key for each node",
    )
    const parent: ParentNode = { hpkePublicKey, parentHash, unmergedLeaves: [] }
    setNode(tree, step.node, { nodeType: "parent", parent })
    parentHash = await parentHashOf(kit, tree, parent, step.copath)
  }
  return parentHash
}

/** The parent hash of `parent` for its child opposite `copath` (RFC 9420 section 7.9). */
export async function parentHashOf(kit: Kit, tree: Tree, parent: ParentNode, copath: number): Promise<Uint8Array> {
  const originalSiblingTreeHash = await subtreeHashWithout(kit, tree, copath, parent.unmergedLeaves)
  const { hpkePublicKey: encryptionKey, parentHash } = parent
  return kit.suite.digest(encodeParentHashInput({ encryptionKey, parentHash, originalSiblingTreeHash }))
}

/** A node's path secret and the keys that are derived from it (RFC 9420 section 7.4). */
interface PathSecret {
  readonly node: number
  readonly secret: Uint8Array
  readonly privateKey: Uint8Array
  readonly publicKey: Uint8Array
}

/**
 * Derives the secrets of the nodes of a path, each from the one before, and then the commit secret.
 *
 * The commit secret follows the last node **of the filtered path**. If the root is not on that path, because one half
 * of the tree is blank, the bare engine derives one secret more and disagrees with other engines.
 */
export async function deriveSecrets(
  kit: Kit,
  first: Uint8Array,
  nodes: readonly number[],
): Promise<{ readonly secrets: PathSecret[]; readonly commitSecret: Uint8Array }> {
  const secrets: PathSecret[] = []
  let secret = first
  for (const node of nodes) {
    const nodeSecret = await derive(kit, secret, "node")
    const { privateKey, publicKey } = await kit.hpke.deriveKeyPair(nodeSecret)
    nodeSecret.fill(0)
    secrets.push({ node, secret, privateKey, publicKey })
    secret = await derive(kit, secret, "path")
  }
  return { secrets, commitSecret: secret }
}

/** DeriveSecret (RFC 9420 section 8). */
export function derive(kit: Kit, secret: Uint8Array, label: string): Promise<Uint8Array> {
  return expandWithLabel(secret, label, empty, 32, kit.cs.kdf)
}

const encodeBytes = encode(varLenDataEncoder)

/** The info of EncryptWithLabel (RFC 9420 section 5.1.3). Use one object per commit, which `makeHpke` caches by. */
export function sealingInfo(label: string, context: Uint8Array): Uint8Array {
  return concat(encodeBytes(utf8(`MLS 1.0 ${label}`)), encodeBytes(context))
}

/** The info for path secrets: the next epoch's provisional context, without the commit in its transcript. */
export function pathInfo(context: GroupContext, newTreeHash: Uint8Array): Uint8Array {
  const provisional = { ...context, epoch: context.epoch + 1n, treeHash: newTreeHash }
  return sealingInfo("UpdatePathNode", encodeGroupContext(provisional))
}

/**
 * Returns the private keys of the own leaf and of its non-blank ancestors.
 *
 * The keys that a path replaced come from the path. An old key of a blank node would let the thief of a state decrypt
 * old commits.
 */
export function keepPrivateKeys(
  after: Tree,
  ownLeaf: number,
  keys: ReadonlyMap<number, Uint8Array>,
): Map<number, Uint8Array> {
  return new Map([...keys].filter(([node]) => node === ownLeaf * 2 || parentAt(after, node) !== undefined))
}
