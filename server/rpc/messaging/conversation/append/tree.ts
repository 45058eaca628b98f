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
import { readMls } from "../../refusing.ts"

/** H("device-credential", the credential in the leaf). The credential is not verified here. */
export const credentialHashOf = ({ identity }: LeafNode): Uint8Array => hash("device-credential", identity)

/** @throws Refused MLS_*, LIMIT_EXCEEDED */
export const readTree = (bytes: Uint8Array): RatchetTree =>
  readMls(["tree_bytes", maxBytes.tree], () => parseTree(bytes))

/**
 * The ratchet tree of a conversation's current epoch, on which the next commit is verified.
 *
 * @throws Refused UNAVAILABLE if the epoch advanced during the read and its tree was deleted. The caller may retry.
 */
export async function loadTree(
  { store }: Pick<MessagingDeps, "store">,
  { id, state }: Conversation,
): Promise<RatchetTree | undefined> {
  const blobHash = state?.treeHash ?? null
  if (blobHash === null) return undefined
  const chunks: Uint8Array[] = []
  for (let at = 0, size = 1; at < size; at += chunks.at(-1)?.length ?? size) {
    const found = await store.conversations.tree(id, blobHash, at)
    if (found === undefined || found.chunk.length === 0) throw new Refused("UNAVAILABLE")
    chunks.push(found.chunk)
    size = found.size
  }
  return parseTree(concat(...chunks))
}

/**
 * Applies a commit to the tree. The GroupInfo must name the resulting tree: the next commit is verified with it, and
 * joining members start with it.
 *
 * @param expected The tree_hash of the GroupInfo's GroupContext.
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
  if (!equalBytes(treeHash(after), expected))
    throw mismatch("the GroupInfo names another tree than the commit leads to")
  return after
}

/**
 * Checks that an uploaded tree has the tree hash of its epoch, and exactly the leaves of the roster. Joining members
 * do not trust this service: they verify the whole tree (RFC 9420 section 12.4.3.1; server/framing/README.md).
 *
 * @param expected The tree_hash of the GroupContext.
 * @param commitLeaves Leaves that the commit contains, by credential hash.
 * @throws Refused GROUP_INFO_MISMATCH; GHOST_MEMBER for a leaf that the roster does not have at that index.
 */
export function checkTree(
  tree: RatchetTree,
  expected: Uint8Array,
  roster: readonly Leaf[],
  commitLeaves: ReadonlyMap<string, LeafNode>,
): void {
  if (!equalBytes(treeHash(tree), expected)) throw mismatch("the tree does not match tree_hash in the GroupInfo")
  const leaves = new Map(roster.map((leaf) => [leaf.leafIndex, leaf.credentialHash]))
  for (const [index, leaf] of tree.leaves) {
    const credential = leaves.get(index)
    if (credential === undefined) throw new Refused("GHOST_MEMBER")
    if (!equalBytes(credential, credentialHashOf(leaf))) throw new Refused("GHOST_MEMBER")
    const inCommit = commitLeaves.get(toHex(credential))
    const isSame = inCommit === undefined || equalBytes(inCommit.bytes, leaf.bytes)
    if (!isSame) throw mismatch("the tree and the commit have different leaves for a device")
  }
  if (tree.leaves.size !== roster.length) throw mismatch("a member is missing in the tree")
}

export const mismatch = (message: string): Refused => new Refused("GROUP_INFO_MISMATCH", { message })
