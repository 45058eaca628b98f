import { equal, wipe } from "../crypto/bytes.ts"
import { keepNeeded } from "./epoch.ts"
import { type Identity, readKeyPackage, readKeyPackageSecret } from "./key-package.ts"
import { type Kit, suiteName } from "./kit.ts"
import { checkGroupExtensions, conversationBinding, type Member, memberOf, membershipProof } from "./leaf.ts"
import { deriveSecrets, sealingInfo } from "./path.ts"
import { demand, MlsError } from "./refusal.ts"
import { makeSecretTree } from "./secret-tree.ts"
import { closed, type GroupState } from "./state.ts"
import { decodeStrictly, maxBytes, strictMessage } from "./strict.ts"
import { encryptionKeyAt, leafAt, leaves, parentAt, sameLeaf, type Tree } from "./tree.ts"
import { decodeTree } from "./tree-bytes.ts"
import { checkTree } from "./tree-check.ts"
import { directPath, isWithin } from "./tree-math.ts"
import {
  decodeGroupInfo,
  decodeGroupSecrets,
  deriveKeySchedule,
  encodeGroupInfo,
  encodeGroupSecrets,
  extractWelcomeSecret,
  type GroupInfo,
  type GroupSecrets,
  type KeyPackage,
  makeKeyPackageRef,
  verifyGroupInfoSignature,
  type Welcome,
  welcomeKey,
  welcomeNonce,
} from "./ts-mls.ts"

export interface JoinInput {
  /** MLSMessage of wire format mls_welcome. The service splits a Welcome, so this one has only our encrypted secret. */
  readonly welcome: Uint8Array
  /** The ratchet tree; absent only if the Welcome carries it. */
  readonly tree: Uint8Array | undefined
  /** The key package that was used to add us, and its secret. */
  readonly keyPackage: Uint8Array
  readonly secret: Uint8Array
  /** The leaf's signature key, as the suite's `sign` accepts it. */
  readonly identityKey: Identity["key"]
}

export interface Joined {
  readonly state: GroupState
  readonly members: readonly Member[]
  /** The signer of the GroupInfo: the committer that added us. */
  readonly adder: Member
  readonly keyPackageReference: Uint8Array
  /** The GroupContext extension 0xF0A1. */
  readonly binding: Uint8Array | undefined
  /** The GroupInfo extension 0xF0A2. */
  readonly proof: Uint8Array | undefined
}

/**
 * Joins by a Welcome (RFC 9420 section 12.4.3.1), after verifying the GroupInfo's signature, the whole tree
 * (`checkTree`) and the confirmation tag. It does not use the checks of ts-mls, which refuse valid trees (defect E3).
 *
 * The caller verifies the credentials of all members before it stores the state.
 *
 * @throws MlsError
 */
export async function join(kit: Kit, input: JoinInput): Promise<Joined> {
  const { welcome } = strictMessage(input.welcome, maxBytes.welcome, "mls_welcome")
  demand(welcome.cipherSuite === suiteName, "MLS_WRONG_SUITE", "V1 has one cipher suite")
  const keyPackage = readKeyPackage(input.keyPackage)
  const keys = readKeyPackageSecret(input.secret)
  const reference = await makeKeyPackageRef(keyPackage, kit.cs.hash)
  const groupSecrets = await openGroupSecrets(kit, welcome, reference, keys.initKey, keyPackage.initKey)
  const info = await openGroupInfo(kit, welcome, groupSecrets.joinerSecret)
  const context = info.groupContext
  demand(context.cipherSuite === suiteName, "MLS_WRONG_SUITE", "V1 has one cipher suite")
  checkGroupExtensions(context.extensions)

  const tree = treeOf(info, input.tree)
  const adder = leafAt(tree, info.signer)
  demand(adder !== undefined, "MLS_BAD_WELCOME", "the signer's leaf is blank")
  const signed = await verifyGroupInfoSignature(info, adder.signaturePublicKey, kit.cs.signature)
  demand(signed, "MLS_BAD_SIGNATURE", "the GroupInfo is not signed by its signer")
  await checkTree(kit, tree, context)

  const ownLeaf = findOwn(tree, keyPackage)
  demand(ownLeaf !== info.signer, "MLS_BAD_WELCOME", "the signer of a Welcome is another member")
  const privateKeys = new Map([[ownLeaf * 2, keys.leafKey]])
  const own = await kit.suite.dhKeyPair(keys.leafKey)
  demand(
    equal(own.publicKey, keyPackage.leafNode.hpkePublicKey),
    "MLS_BAD_WELCOME",
    "the secrets do not belong to this key package",
  )
  await learnPath(kit, tree, ownLeaf, info.signer, groupSecrets.pathSecret, privateKeys)

  const { joinerSecret } = groupSecrets
  const [schedule, encryptionSecret] = await deriveKeySchedule(joinerSecret, new Uint8Array(32), context, kit.cs.kdf)
  const tag = await kit.suite.mac(schedule.confirmationKey, context.confirmedTranscriptHash)
  demand(equal(tag, info.confirmationTag), "MLS_BAD_CONFIRMATION", "the Welcome's confirmation tag does not match")
  wipe([joinerSecret, keys.initKey])
  const state = closed({
    context,
    confirmationTag: info.confirmationTag,
    tree,
    ownLeaf,
    privateKeys,
    epochSecrets: keepNeeded(schedule),
    secretTree: makeSecretTree(tree.nodes.length, encryptionSecret),
    identityKey: input.identityKey,
  })
  return {
    state,
    members: [...leaves(tree)].map(([leaf, node]) => memberOf(leaf, node)),
    adder: memberOf(info.signer, adder),
    keyPackageReference: reference,
    binding: context.extensions.find((extension) => extension.extensionType === conversationBinding)?.extensionData,
    proof: info.extensions.find((extension) => extension.extensionType === membershipProof)?.extensionData,
  }
}

async function openGroupSecrets(
  kit: Kit,
  welcome: Welcome,
  reference: Uint8Array,
  initKey: Uint8Array,
  initPublicKey: Uint8Array,
): Promise<GroupSecrets> {
  const ours = welcome.secrets.filter((secret) => equal(secret.newMember, reference))
  const [entry] = ours
  demand(
    entry !== undefined && ours.length === 1,
    "MLS_BAD_WELCOME",
    "the Welcome does not have exactly one secret for this key package",
  )
  const { kemOutput: enc, ciphertext } = entry.encryptedGroupSecrets
  const info = sealingInfo("Welcome", welcome.encryptedGroupInfo)
  const bytes = await kit.hpke.open(initKey, info, { enc, ciphertext }, initPublicKey).catch(undecryptable)
  const secrets = decodeStrictly(bytes, maxBytes.keyPackage, decodeGroupSecrets, encodeGroupSecrets)
  bytes.fill(0)
  demand(secrets.psks.length === 0, "MLS_BAD_WELCOME", "V1 has no pre-shared keys")
  demand(secrets.joinerSecret.length === 32, "MLS_BAD_WELCOME", "the joiner secret does not have 32 bytes")
  return secrets
}

async function openGroupInfo(kit: Kit, welcome: Welcome, joinerSecret: Uint8Array): Promise<GroupInfo> {
  const welcomeSecret = await extractWelcomeSecret(joinerSecret, new Uint8Array(32), kit.cs.kdf)
  const key = await welcomeKey(welcomeSecret, kit.cs)
  const nonce = await welcomeNonce(welcomeSecret, kit.cs)
  const bytes = await kit.cs.hpke.decryptAead(key, nonce, undefined, welcome.encryptedGroupInfo).catch(undecryptable)
  wipe([welcomeSecret, key])
  return decodeStrictly(bytes, maxBytes.welcome, decodeGroupInfo, encodeGroupInfo, "groupInfo")
}

function undecryptable(cause: unknown): never {
  throw new MlsError("MLS_UNDECRYPTABLE", "the Welcome does not open", { cause })
}

function treeOf(info: GroupInfo, given: Uint8Array | undefined): Tree {
  const carried = info.extensions.find((extension) => extension.extensionType === "ratchet_tree")?.extensionData
  const bytes = given ?? carried
  demand(bytes !== undefined, "MLS_BAD_WELCOME", "the Welcome has no tree")
  return decodeTree(bytes)
}

function findOwn(tree: Tree, { leafNode }: KeyPackage): number {
  for (const [leaf, node] of leaves(tree)) {
    if (equal(node.hpkePublicKey, leafNode.hpkePublicKey) && sameLeaf(node, leafNode)) return leaf
  }
  throw new MlsError("MLS_BAD_WELCOME", "the key package's leaf is not in the tree")
}

/** Derives the private keys from the committer's path secret, and checks each against its public key in the tree. */
async function learnPath(
  kit: Kit,
  tree: Tree,
  ownLeaf: number,
  signer: number,
  pathSecret: Uint8Array | undefined,
  privateKeys: Map<number, Uint8Array>,
): Promise<void> {
  if (pathSecret === undefined) return
  demand(pathSecret.length === 32, "MLS_BAD_WELCOME", "a path secret has 32 bytes")
  const shared = directPath(ownLeaf * 2, tree.nodes.length).filter((node) => isWithin(signer * 2, node))
  demand(
    shared[0] !== undefined && parentAt(tree, shared[0]) !== undefined,
    "MLS_BAD_WELCOME",
    "a secret of a blank node",
  )
  const nodes = shared.filter((node) => parentAt(tree, node) !== undefined)
  const { secrets, commitSecret } = await deriveSecrets(kit, pathSecret, nodes)
  for (const { node, publicKey, privateKey, secret } of secrets) {
    demand(equal(publicKey, encryptionKeyAt(tree, node)), "MLS_BAD_WELCOME", "a path secret of another tree")
    privateKeys.set(node, privateKey)
    secret.fill(0)
  }
  commitSecret.fill(0)
}
