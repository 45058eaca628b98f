import { concat, equalBytes, toHex } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import { Refused } from "@signet/kernel/errors"
import { maxBytes } from "@signet/kernel/messaging/limits"
import type { Conversation, Leaf } from "@signet/kernel/messaging/records"
import type { Commit } from "../../../../framing/commit.ts"
import type { LeafNode } from "../../../../framing/leaf-node.ts"
import { treeAfter } from "../../../../framing/next-tree.ts"
import { parseTree, type RatchetTree } from "../../../../framing/tree.ts"
import { treeHash } from "../../../../framing/tree-hash.ts"
import type { MessagingDeps } from "../../deps.ts"
import { reading } from "./refusing.ts"

/** H("device-credential", the credential in the leaf), without verification. */
export const credentialHashOf = ({ identity }: LeafNode): Uint8Array => hash("device-credential", identity)

/** @throws Refused MLS_*, LIMIT_EXCEEDED */
export const readTree = (bytes: Uint8Array): RatchetTree =>
  reading(["tree_bytes", maxBytes.tree], () => parseTree(bytes))

/**
 * The ratchet tree of a conversation's current epoch, on which the next commit is verified.
 *
 * @throws Refused UNAVAILABLE when the epoch passed meanwhile and its tree was deleted.
 */
export async function loadTree(
  { store }: Pick<MessagingDeps, "store">,
  { id, state }: Conversation,
): Promise<RatchetTree | undefined> {
  const name = state?.treeHash ?? null
  if (name === null) return undefined
  const chunks: Uint8Array[] = []
  for (let at = 0, size = 1; at < size; at += chunks.at(-1)?.length ?? size) {
    const found = await store.conversations.tree(id, name, at)
    if (found === undefined || found.chunk.length === 0) throw new Refused("UNAVAILABLE")
    chunks.push(found.chunk)
    size = found.size
  }
  return parseTree(concat(...chunks))
}

/**
 * The tree after a commit. The GroupInfo must have its hash, because the next commit is verified with it and every
 * joiner starts with it.
 *
 * @throws Refused MLS_MALFORMED for a commit that does not fit the tree, GROUP_INFO_MISMATCH
 */
export function nextTree(before: RatchetTree, commit: Commit, expected: Uint8Array): RatchetTree {
  const after = treeAfter(before, commit)
  if (after === undefined) {
    throw new Refused("MLS_MALFORMED", {
      message: "the commit does not match the ratchet tree",
      metadata: { code: "MLS_WRONG_TREE" },
    })
  }
  if (!equalBytes(treeHash(after), expected)) throw mismatch("the GroupInfo is of another tree")
  return after
}

/**
 * Verifies that a tree is that of an epoch and that its leaves are the roster. Joiners accept the tree unverified.
 *
 * @param expected The tree hash of the GroupContext.
 * @param known Leaves of the commit itself, by credential hash.
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
    if (brought !== undefined && !equalBytes(brought.bytes, leaf.bytes)) throw mismatch("two leaves of a device differ")
  }
  if (tree.leaves.size !== roster.length) throw mismatch("a member is missing in the tree")
}

export const mismatch = (message: string): Refused => new Refused("GROUP_INFO_MISMATCH", { message })
