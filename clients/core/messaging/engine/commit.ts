import { copyOf, wipe } from "../crypto/bytes.ts"
import { applyChanges, type Changes } from "./change.ts"
import { advance, type NewEpoch } from "./epoch.ts"
import { type Identity, readKeyPackage } from "./key-package.ts"
import { type Kit, suiteName } from "./kit.ts"
import { credentialOf, membershipProof } from "./leaf.ts"
import { deriveSecrets, filteredPath, keepPrivateKeys, linkPath, pathInfo, sealingInfo } from "./path.ts"
import { demand } from "./refusal.ts"
import { makeSecretTree, secretsOf } from "./secret-tree.ts"
import { requireFew } from "./shape.ts"
import { closed, epochSecretList, type GroupState, type Inside, opened } from "./state.ts"
import { maxBytes } from "./strict.ts"
import { encryptionKeyAt, leafAt, setNode, type Tree, treeHash } from "./tree.ts"
import { encodeTree } from "./tree-bytes.ts"
import {
  createContentCommitSignature,
  type Extension,
  encodeGroupSecrets,
  encodeMlsMessage,
  encryptGroupInfo,
  type GroupInfo,
  type HPKECiphertext,
  type KeyPackage,
  type LeafNodeTBSCommit,
  makeKeyPackageRef,
  type Proposal,
  protectPublicMessage,
  signGroupInfo,
  signLeafNodeCommit,
  type UpdatePath,
} from "./ts-mls.ts"

/** The data that a commit carries besides its proposals. */
export interface CommitOptions {
  /** Authenticated data of the commit: the AAD frame with the membership proof. */
  readonly aad: Uint8Array
  /** Opaque bytes for the joiners, in a signed GroupInfo extension. */
  readonly proof?: Uint8Array
  /** Puts the tree into the Welcome, for interoperability tests with engines that need it there. Never in a product. */
  readonly treeInWelcome?: boolean
}

/**
 * A commit that the service has not accepted yet.
 *
 * Required order (defects E10 and E11): seal and store `next` and the messages; send; after durable acceptance call
 * `acceptCommit`, which wipes the previous epoch; after a conflict call `discardCommit`. `next` has no secrets of the
 * previous epoch, so it can be encoded before the answer.
 */
export interface StagedCommit {
  readonly next: GroupState
  /** MLSMessage of wire format mls_public_message. */
  readonly commit: Uint8Array
  /** MLSMessage of wire format mls_group_info, without tree and without external key. */
  readonly groupInfo: Uint8Array
  /** MLSMessage of wire format mls_welcome, without tree; absent if nobody was added. */
  readonly welcome: Uint8Array | undefined
  /** Encodes the ratchet tree of the next epoch, for joiners. */
  readonly tree: () => Uint8Array
  /** Leaf indices of the new members, in the order of the key packages. */
  readonly added: readonly number[]
}

/** Stages the addition of devices. @param keyPackages MLSMessages, one per device. */
export async function stageAdd(
  kit: Kit,
  state: GroupState,
  keyPackages: readonly Uint8Array[],
  options: CommitOptions,
): Promise<StagedCommit> {
  demand(keyPackages.length > 0, "MLS_BAD_PROPOSALS", "an add commit needs an addition")
  const adds = keyPackages.map(readKeyPackage)
  const proposals = adds.map((keyPackage): Proposal => ({ proposalType: "add", add: { keyPackage } }))
  return stage(kit, opened(state), proposals, { adds, removes: [] }, options)
}

/** Stages a removal, always with a path (defect E1). @param leaves Leaf indices. */
export async function stageRemove(
  kit: Kit,
  state: GroupState,
  leaves: readonly number[],
  options: CommitOptions,
): Promise<StagedCommit> {
  demand(leaves.length > 0, "MLS_BAD_PROPOSALS", "a remove commit needs a removal")
  const proposals = leaves.map((removed): Proposal => ({ proposalType: "remove", remove: { removed } }))
  return stage(kit, opened(state), proposals, { adds: [], removes: leaves }, options)
}

/** Stages a commit with only a path. @param identity A new credential, signature key, or both, for the own leaf. */
export async function stageUpdate(
  kit: Kit,
  state: GroupState,
  options: CommitOptions & { readonly identity?: Identity },
): Promise<StagedCommit> {
  return stage(kit, opened(state), [], { adds: [], removes: [] }, options)
}

async function stage(
  kit: Kit,
  inside: Inside,
  proposals: readonly Proposal[],
  changes: Changes,
  options: CommitOptions & { readonly identity?: Identity },
): Promise<StagedCommit> {
  const { context, ownLeaf, epochSecrets } = inside
  const applied = await applyChanges(kit, inside.tree, changes, ownLeaf, context, kit.nowSeconds())
  const { tree } = applied
  const path = changes.adds.length > 0 ? undefined : await makePath(kit, inside, tree, options.identity)
  const { framedContent: content, signature } = await createContentCommitSignature(
    context,
    "mls_public_message",
    { proposals: proposals.map((proposal) => ({ proposalOrRefType: "proposal", proposal })), path: path?.update },
    { senderType: "member", leafIndex: ownLeaf },
    options.aad,
    inside.identityKey,
    kit.cs.signature,
  )
  const before = { context, confirmationTag: inside.confirmationTag, init: epochSecrets.init }
  const commitSecret = path?.commitSecret ?? new Uint8Array(32)
  const epoch = await advance(kit, before, { content, signature }, await treeHash(kit, tree), commitSecret)
  const auth = { contentType: "commit", signature, confirmationTag: epoch.confirmationTag } as const
  const publicMessage = await protectPublicMessage(
    epochSecrets.membership,
    context,
    { wireformat: "mls_public_message", content, auth },
    kit.cs,
  )
  const next: Inside = {
    context: epoch.context,
    confirmationTag: epoch.confirmationTag,
    tree,
    ownLeaf,
    privateKeys: new Map([...keepPrivateKeys(tree, ownLeaf, inside.privateKeys), ...(path?.privateKeys ?? [])]),
    epochSecrets: epoch.secrets,
    secretTree: makeSecretTree(tree.nodes.length, epoch.encryptionSecret),
    identityKey: options.identity?.key ?? inside.identityKey,
  }
  const proof = options.proof === undefined ? [] : [{ extensionType: membershipProof, extensionData: options.proof }]
  const groupInfo = await makeGroupInfo(kit, next, proof)
  const welcomeInfo = options.treeInWelcome
    ? await makeGroupInfo(kit, next, [...proof, treeExtension(tree)])
    : groupInfo
  const welcome = changes.adds.length === 0 ? undefined : await makeWelcome(kit, welcomeInfo, epoch, changes.adds)
  wipe([epoch.joinerSecret, epoch.welcomeSecret])
  const commit = encodeMlsMessage({ version: "mls10", wireformat: "mls_public_message", publicMessage })
  const fits = commit.length <= maxBytes.commit && (welcome?.length ?? 0) <= maxBytes.welcome
  demand(fits, "MLS_TOO_LARGE", "more members than one commit can add")
  // Others would refuse such a commit, or such a tree when they join.
  requireFew(commit, "message")
  if (changes.adds.length > 0) requireFew(encodeTree(tree), "tree")
  return {
    next: closed(next),
    commit,
    groupInfo: encodeMlsMessage({ version: "mls10", wireformat: "mls_group_info", groupInfo }),
    welcome,
    tree: () => encodeTree(tree),
    added: applied.added,
  }
}

interface MadePath {
  readonly update: UpdatePath
  readonly commitSecret: Uint8Array
  readonly privateKeys: ReadonlyMap<number, Uint8Array>
}

/**
 * Generates the own direct path and encrypts its secrets to the other members (RFC 9420 section 7.5). Changes `tree`.
 */
async function makePath(kit: Kit, inside: Inside, tree: Tree, identity?: Identity): Promise<MadePath> {
  const { ownLeaf, context } = inside
  const old = leafAt(tree, ownLeaf)
  demand(old !== undefined, "MLS_BAD_SENDER", "not a member")
  if (identity !== undefined) {
    const same = kit.deviceOf(identity.credential) === kit.deviceOf(credentialOf(old))
    demand(same, "MLS_BAD_LEAF", "a leaf cannot move to another device")
  }
  const steps = filteredPath(tree, ownLeaf)
  const sealTo = steps.map((step) => step.recipients.map((node) => encryptionKeyAt(tree, node)))
  const leafKey = await kit.suite.dhKeyPair()
  const nodes = steps.map((step) => step.node)
  const { secrets, commitSecret } = await deriveSecrets(kit, kit.suite.random(32), nodes)
  const publicKeys = secrets.map((secret) => secret.publicKey)
  const parentHash = await linkPath(kit, tree, ownLeaf, steps, publicKeys)
  const tbs: LeafNodeTBSCommit = {
    leafNodeSource: "commit",
    hpkePublicKey: leafKey.publicKey,
    signaturePublicKey: identity?.signatureKey ?? old.signaturePublicKey,
    credential:
      identity === undefined ? old.credential : { credentialType: "basic", identity: copyOf(identity.credential) },
    capabilities: old.capabilities,
    extensions: old.extensions,
    parentHash,
    groupId: context.groupId,
    leafIndex: ownLeaf,
  }
  // The leaf is signed with its new key, and the commit with the old one.
  const leafNode = await signLeafNodeCommit(tbs, identity?.key ?? inside.identityKey, kit.cs.signature)
  setNode(tree, ownLeaf * 2, { nodeType: "leaf", leaf: leafNode })
  const info = pathInfo(context, await treeHash(kit, tree))
  const sealed = await Promise.all(
    secrets.map(async ({ publicKey, secret }, step) => ({
      hpkePublicKey: publicKey,
      encryptedPathSecret: await Promise.all((sealTo[step] ?? []).map((key) => sealSecret(kit, key, info, secret))),
    })),
  )
  wipe(secrets.map(({ secret }) => secret))
  const privateKeys = new Map([[ownLeaf * 2, leafKey.privateKey]])
  for (const { node, privateKey } of secrets) privateKeys.set(node, privateKey)
  return { update: { leafNode, nodes: sealed }, commitSecret, privateKeys }
}

async function sealSecret(kit: Kit, key: Uint8Array, info: Uint8Array, secret: Uint8Array): Promise<HPKECiphertext> {
  const { enc, ciphertext } = await kit.hpke.seal(key, info, secret)
  return { kemOutput: enc, ciphertext }
}

function treeExtension(tree: Tree): Extension {
  return { extensionType: "ratchet_tree", extensionData: encodeTree(tree) }
}

async function makeGroupInfo(kit: Kit, next: Inside, extensions: Extension[]): Promise<GroupInfo> {
  const { context: groupContext, confirmationTag, ownLeaf: signer } = next
  return signGroupInfo({ groupContext, extensions, confirmationTag, signer }, next.identityKey, kit.cs.signature)
}

async function makeWelcome(
  kit: Kit,
  groupInfo: GroupInfo,
  epoch: NewEpoch,
  adds: readonly KeyPackage[],
): Promise<Uint8Array> {
  const encryptedGroupInfo = await encryptGroupInfo(groupInfo, epoch.welcomeSecret, kit.cs)
  const info = sealingInfo("Welcome", encryptedGroupInfo)
  const plaintext = encodeGroupSecrets({ joinerSecret: epoch.joinerSecret, pathSecret: undefined, psks: [] })
  const secrets = await Promise.all(
    adds.map(async (keyPackage) => ({
      newMember: await makeKeyPackageRef(keyPackage, kit.cs.hash),
      encryptedGroupSecrets: await sealSecret(kit, keyPackage.initKey, info, plaintext),
    })),
  )
  plaintext.fill(0)
  const welcome = { cipherSuite: suiteName, secrets, encryptedGroupInfo } as const
  return encodeMlsMessage({ version: "mls10", wireformat: "mls_welcome", welcome })
}

/**
 * Wipes the previous epoch after the commit was accepted. After a restart, `next` is decoded.
 *
 * @returns The new epoch.
 */
export function acceptCommit(before: GroupState, staged: Pick<StagedCommit, "next">): GroupState {
  wipeEnded(before, staged.next)
  return staged.next
}

/** Wipes the staged epoch after the commit was refused. `before` stays valid. */
export function discardCommit(before: GroupState, staged: Pick<StagedCommit, "next">): void {
  wipeEnded(staged.next, before)
}

/** Wipes the secrets of one state, except those that another state shares. */
export function wipeEnded(ended: GroupState, alive: GroupState): void {
  const shared = new Set(opened(alive).privateKeys.values())
  const { epochSecrets, privateKeys, secretTree } = opened(ended)
  wipe(epochSecretList(epochSecrets))
  wipe([...privateKeys.values()].filter((key) => !shared.has(key)))
  wipe(secretsOf(secretTree))
}

/** Wipes all secrets of a state when its group is left. The state is unusable afterwards. */
export function wipeState(state: GroupState): void {
  const { epochSecrets, privateKeys, secretTree } = opened(state)
  wipe([...epochSecretList(epochSecrets), ...privateKeys.values(), ...secretsOf(secretTree)])
}
