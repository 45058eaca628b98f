import { equalBytes, toHex } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import { Refused } from "@signet/kernel/errors"
import { maxBytes } from "@signet/kernel/messaging/limits"
import type { Leaf } from "@signet/kernel/messaging/records"
import type { LeafNode } from "../../../framing/leaf-node.ts"
import { parseTree, type RatchetTree } from "../../../framing/tree.ts"
import { treeHash } from "../../../framing/tree-hash.ts"
import { reading } from "./refusing.ts"

/** H("device-credential", the credential in the leaf): nothing of it is verified. */
export const credentialHashOf = ({ identity }: LeafNode): Uint8Array => hash("device-credential", identity)

/** @throws Refused MLS_*, LIMIT_EXCEEDED */
export const readTree = (bytes: Uint8Array): RatchetTree =>
  reading(["tree_bytes", maxBytes.tree], () => parseTree(bytes))

/**
 * Whether a tree is that of an epoch, and its leaves are the roster: joiners believe it as it is.
 *
 * @param expected The tree hash of the GroupContext.
 * @param known Leaves that the commit itself brings, whose bytes are known.
 * @throws Refused GROUP_INFO_MISMATCH; GHOST_MEMBER for a leaf that the roster does not have.
 */
export function checkTree(
  tree: RatchetTree,
  expected: Uint8Array,
  roster: readonly Leaf[],
  known: ReadonlyMap<string, LeafNode>,
): void {
  if (!equalBytes(treeHash(tree), expected)) throw mismatch("the tree does not have the tree hash")
  const leaves = new Map(roster.map((leaf) => [leaf.leafIndex, leaf.credentialHash]))
  for (const [index, leaf] of tree.leaves) {
    const credential = leaves.get(index)
    if (credential === undefined) throw new Refused("GHOST_MEMBER")
    if (!equalBytes(credential, credentialHashOf(leaf))) throw new Refused("GHOST_MEMBER")
    const brought = known.get(toHex(credential))
    if (brought !== undefined && !equalBytes(brought.bytes, leaf.bytes)) throw mismatch("a leaf is another one")
  }
  if (tree.leaves.size !== roster.length) throw mismatch("a member is not in the tree")
}

export const mismatch = (message: string): Refused => new Refused("GROUP_INFO_MISMATCH", { message })
