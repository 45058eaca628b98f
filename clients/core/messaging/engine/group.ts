import { copyOf, wipe } from "../crypto/bytes.ts"
import { keepNeeded } from "./epoch.ts"
import type { Identity } from "./key-package.ts"
import { type Kit, suiteName } from "./kit.ts"
import { conversationBinding, ownCapabilities } from "./leaf.ts"
import { derive } from "./path.ts"
import { makeSecretTree } from "./secret-tree.ts"
import { closed, type GroupState } from "./state.ts"
import { type Tree, treeHash } from "./tree.ts"
import {
  createConfirmationTag,
  type GroupContext,
  initializeKeySchedule,
  type LeafNodeTBSKeyPackage,
  signLeafNodeKeyPackage,
} from "./ts-mls.ts"

export interface NewGroup {
  /** 32 bytes: the conversation id and 16 random bytes. */
  readonly groupId: Uint8Array
  readonly identity: Identity
  /** Opaque bytes in the GroupContext that bind the group to its conversation for its lifetime. */
  readonly binding?: Uint8Array
  /** Lifetime of the own first leaf, Unix seconds. */
  readonly notBefore: number
  readonly notAfter: number
  /**
   * The first epoch: 0, unless the group replaces another one of its conversation and continues its epoch numbers. Only
   * the creator is ever in the first epoch, so joiners with any engine see no difference.
   */
  readonly epoch?: bigint
}

/** Creates a group with one member (RFC 9420 section 11). */
export async function createGroup(kit: Kit, group: NewGroup): Promise<GroupState> {
  const { identity } = group
  const own = await kit.suite.dhKeyPair()
  const tbs: LeafNodeTBSKeyPackage = {
    leafNodeSource: "key_package",
    hpkePublicKey: own.publicKey,
    signaturePublicKey: identity.signatureKey,
    credential: { credentialType: "basic", identity: copyOf(identity.credential) },
    capabilities: ownCapabilities(),
    lifetime: { notBefore: BigInt(group.notBefore), notAfter: BigInt(group.notAfter) },
    extensions: [],
  }
  const leaf = await signLeafNodeKeyPackage(tbs, identity.key, kit.cs.signature)
  const tree: Tree = { nodes: [{ nodeType: "leaf", leaf }], hashes: new Array(1) }
  const context: GroupContext = {
    version: "mls10",
    cipherSuite: suiteName,
    groupId: copyOf(group.groupId),
    epoch: group.epoch ?? 0n,
    treeHash: await treeHash(kit, tree),
    confirmedTranscriptHash: new Uint8Array(),
    extensions:
      group.binding === undefined ? [] : [{ extensionType: conversationBinding, extensionData: copyOf(group.binding) }],
  }
  const epochSecret = kit.suite.random(32)
  const schedule = await initializeKeySchedule(epochSecret, kit.cs.kdf)
  const { confirmationKey } = schedule
  const confirmationTag = await createConfirmationTag(confirmationKey, context.confirmedTranscriptHash, kit.cs.hash)
  const encryptionSecret = await derive(kit, epochSecret, "encryption")
  wipe([epochSecret])
  return closed({
    context,
    confirmationTag,
    tree,
    ownLeaf: 0,
    privateKeys: new Map([[0, own.privateKey]]),
    epochSecrets: keepNeeded(schedule),
    secretTree: makeSecretTree(1, encryptionSecret),
    identityKey: identity.key,
  })
}
