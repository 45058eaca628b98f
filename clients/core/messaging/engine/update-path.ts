import { equal } from "../crypto/bytes.ts"
import type { Kit } from "./kit.ts"
import { checkLeaf, credentialOf } from "./leaf.ts"
import { deriveSecrets, filteredPath, linkPath, type PathStep, pathInfo } from "./path.ts"
import { demand, MlsError } from "./refusal.ts"
import type { Inside } from "./state.ts"
import { encryptionKeyAt, leafAt, leaves, setNode, type Tree, treeHash } from "./tree.ts"
import { isWithin } from "./tree-math.ts"
import type { UpdatePath } from "./ts-mls.ts"

/**
 * Compares the committer's new leaf with its old one (RFC 9420 section 12.4.2), and the path with the tree.
 *
 * @param tree The tree after the proposals.
 */
export async function checkPath(kit: Kit, inside: Inside, tree: Tree, sender: number, path: UpdatePath): Promise<void> {
  const before = leafAt(tree, sender)
  const after = path.leafNode
  demand(before !== undefined, "MLS_BAD_SENDER", "the sender's leaf is blank")
  await checkLeaf(kit, after, { ...inside.context, leaf: sender })
  const [was, is] = [before, after].map((leaf) => kit.deviceOf(credentialOf(leaf)))
  demand(was === is, "MLS_BAD_LEAF", "a leaf cannot move to another device")
  for (const [leaf, node] of leaves(tree)) {
    const same = leaf !== sender && equal(node.signaturePublicKey, after.signaturePublicKey)
    demand(!same, "MLS_BAD_LEAF", "the new signature key belongs to another member")
  }
  const fresh = [after.hpkePublicKey, ...path.nodes.map((node) => node.hpkePublicKey)]
  for (const [i, key] of fresh.entries()) {
    demand(key.length === 32, "MLS_BAD_PATH", "an X25519 key has 32 bytes")
    const repeated = fresh.some((other, j) => j < i && equal(key, other))
    demand(!repeated && !isInUse(tree, key), "MLS_BAD_PATH", "a key of the path is in use already")
  }
}

function isInUse(tree: Tree, key: Uint8Array): boolean {
  return tree.nodes.some((node, index) => {
    if (node === undefined) return false
    const other = encryptionKeyAt(tree, index)
    return other[0] === key[0] && other[1] === key[1] && equal(other, key)
  })
}

/**
 * Applies a path to the tree, decrypts the path secret for this member, and derives the rest.
 *
 * @param tree The tree after the proposals. Changed by this function.
 * @throws MlsError MLS_BAD_PATH for a path that no correct committer generates.
 */
export async function openPath(kit: Kit, inside: Inside, tree: Tree, sender: number, path: UpdatePath) {
  const steps = filteredPath(tree, sender)
  demand(path.nodes.length === steps.length, "MLS_BAD_PATH", "not the length of the filtered direct path")
  for (const [i, node] of path.nodes.entries()) {
    const matches = node.encryptedPathSecret.length === steps[i]?.recipients.length
    demand(matches, "MLS_BAD_PATH", "not one ciphertext for each recipient")
  }
  const keys = path.nodes.map((node) => node.hpkePublicKey)
  const ours = findOurs(inside, steps)
  const ourPublicKey = encryptionKeyAt(tree, ours.recipient)
  const parentHash = await linkPath(kit, tree, sender, steps, keys)
  const { leafNode } = path
  const linked = equal(leafNode.parentHash, parentHash)
  demand(linked, "MLS_BAD_PATH", "the parent hash of the leaf is not that of its path")
  setNode(tree, sender * 2, { nodeType: "leaf", leaf: leafNode })

  const info = pathInfo(inside.context, await treeHash(kit, tree))
  const sealed = path.nodes[ours.step]?.encryptedPathSecret[ours.position]
  demand(sealed !== undefined, "MLS_BAD_PATH", "the path has no secret for this device")
  const message = { enc: sealed.kemOutput, ciphertext: sealed.ciphertext }
  const secret = await kit.hpke.open(ours.privateKey, info, message, ourPublicKey).catch((cause: unknown) => {
    throw new MlsError("MLS_BAD_PATH", "the path secret for this device does not decrypt", { cause })
  })
  demand(secret.length === 32, "MLS_BAD_PATH", "a path secret has 32 bytes")
  const known = steps.slice(ours.step).map((step) => step.node)
  const { secrets, commitSecret } = await deriveSecrets(kit, secret, known)
  const privateKeys = new Map<number, Uint8Array>()
  for (const derived of secrets) {
    // A malicious committer could encrypt different secrets to different members, which the bare engine does not
    // detect.
    const matches = equal(derived.publicKey, encryptionKeyAt(tree, derived.node))
    demand(matches, "MLS_BAD_PATH", "a path secret does not belong to its public key")
    privateKeys.set(derived.node, derived.privateKey)
    derived.secret.fill(0)
  }
  return { commitSecret, privateKeys }
}

/** Finds the ciphertext on the path that is for this member, and the private key that opens it. */
function findOurs(inside: Inside, steps: readonly PathStep[]) {
  const step = steps.findIndex(({ copath }) => isWithin(inside.ownLeaf * 2, copath))
  for (const [position, recipient] of (steps[step]?.recipients ?? []).entries()) {
    const privateKey = inside.privateKeys.get(recipient)
    if (privateKey !== undefined) return { step, position, recipient, privateKey }
  }
  throw new MlsError("MLS_BAD_PATH", "the path shares no node with this device")
}
