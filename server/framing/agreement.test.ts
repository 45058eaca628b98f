import { stateTagOf } from "@signet/canonical/hash"
import { encodeGroupContext } from "ts-mls/groupContext.js"
import { type LeafNode as TheirLeaf, verifyLeafNodeSignature } from "ts-mls/leafNode.js"
import { encodeMlsMessage } from "ts-mls/message.js"
import { decodeRatchetTree } from "ts-mls/ratchetTree.js"
import { treeHashRoot } from "ts-mls/treeHash.js"
import { encodeWelcome } from "ts-mls/welcome.js"
import { beforeAll, describe, expect, test } from "vitest"
import { hex } from "../../clients/core/messaging/crypto/bytes.ts"
import { testKit } from "../../clients/core/messaging/testing/forge.ts"
import { effort } from "../../test/support/effort.ts"
import { seed } from "../../test/support/random.ts"
import { parseCommit } from "./commit.ts"
import { firstGroupContext, fitsGroup, parseGroupInfo, verifyGroupInfo } from "./group-info.ts"
import { keyPackageMessage, keyPackageRef, parseKeyPackage, verifyKeyPackage } from "./key-package.ts"
import { type LeafNode, verifyLeafNode } from "./leaf-node.ts"
import { parseApplication } from "./message.ts"
import { theirs } from "./testing/bent.ts"
import { binding, proof, type Recording, recordHistory, suite } from "./testing/recording.ts"
import { verify } from "./testing/samples.ts"
import { interimTranscriptHash, nextConfirmedTranscriptHash, verifyCommitSignature } from "./transcript.ts"
import { parseTree } from "./tree.ts"
import { treeHash } from "./tree-hash.ts"
import { parseWelcome, splitWelcome } from "./welcome.ts"

// A random history of the engine, decoded by ts-mls and by this folder: two decoders without common code agree on every
// field.
const size = effort({ steps: 24, members: 12 }, { steps: 150, members: 30 }, { steps: 600, members: 60 })
let recording: Recording
beforeAll(async () => {
  recording = await recordHistory(size.steps, size.members, seed)
})

const { cs } = testKit(suite)
function sameLeaf(ours: LeafNode, their: TheirLeaf): void {
  expect(hex(ours.encryptionKey)).toBe(hex(their.hpkePublicKey))
  expect(hex(ours.signatureKey)).toBe(hex(their.signaturePublicKey))
  expect(their.credential).toMatchObject({ credentialType: "basic" })
  if (their.credential.credentialType === "basic") expect(hex(ours.identity)).toBe(hex(their.credential.identity))
  expect(ours.capabilities.extensions).toEqual(their.capabilities.extensions)
  expect(ours.capabilities.proposals).toEqual(their.capabilities.proposals)
  expect(ours.source.kind).toBe(their.leafNodeSource)
  if (ours.source.kind === "key_package" && their.leafNodeSource === "key_package") {
    expect(ours.source).toMatchObject(their.lifetime)
  }
  if (ours.source.kind === "commit" && their.leafNodeSource === "commit") {
    expect(hex(ours.source.parentHash)).toBe(hex(their.parentHash))
  }
  expect(ours.extensions.length).toBe(their.extensions.length)
  expect(hex(ours.signature)).toBe(hex(their.signature))
}

describe(`a random history of seed ${seed}`, () => {
  test("the history has every kind of message", () => {
    expect(recording.messages.length).toBeGreaterThan(0)
    expect(recording.commits.filter(({ staged }) => staged.welcome !== undefined).length).toBeGreaterThan(1)
    expect(recording.commits.filter(({ removed }) => removed.length > 0).length).toBeGreaterThan(0)
  })

  test("every key package has the reference, the fields and the signatures that the engine gave it", async () => {
    for (const { keyPackage, reference } of recording.keyPackages) {
      const ours = parseKeyPackage(keyPackage)
      const { keyPackage: their } = theirs(keyPackage, "mls_key_package")
      sameLeaf(ours.leafNode, their.leafNode)
      expect(hex(ours.initKey)).toBe(hex(their.initKey))
      expect(hex(keyPackageRef(ours))).toBe(hex(reference))
      expect(verifyKeyPackage(ours, verify)).toBe(true)
      expect(hex(keyPackageMessage(ours))).toBe(hex(keyPackage))
      expect(ours).toMatchObject({ lastResort: false, extensions: [] })
    }
  })

  test("every application message has the frame that the engine gave it", () => {
    for (const { message, epoch } of recording.messages) {
      const ours = parseApplication(message)
      const { privateMessage: their } = theirs(message, "mls_private_message")
      expect(hex(ours.groupId)).toBe(hex(epoch.context.groupId))
      expect(ours.epoch).toBe(epoch.context.epoch)
      expect(hex(ours.aad)).toBe(hex(their.authenticatedData))
      expect(hex(ours.encryptedSenderData)).toBe(hex(their.encryptedSenderData))
      expect(hex(ours.ciphertext)).toBe(hex(their.ciphertext))
    }
  })

  test("every commit has the engine's changes and its sender's signature", async () => {
    for (const { staged, before, sender, keyPackages, removed } of recording.commits) {
      const ours = parseCommit(staged.commit)
      const { publicMessage: their } = theirs(staged.commit, "mls_public_message")
      expect(ours).toMatchObject({ sender, removes: removed, epoch: before.context.epoch })
      expect(hex(ours.groupId)).toBe(hex(before.context.groupId))
      expect(their.auth.contentType).toBe("commit")
      if (their.auth.contentType === "commit" && their.senderType === "member") {
        expect(hex(ours.confirmationTag)).toBe(hex(their.auth.confirmationTag))
        expect(hex(ours.membershipTag)).toBe(hex(their.membershipTag))
      }
      expect(hex(ours.aad)).toBe(hex(their.content.authenticatedData))
      expect(ours.adds.map((added) => hex(keyPackageMessage(added)))).toEqual(keyPackages.map(hex))
      const commit = their.content.contentType === "commit" ? their.content.commit : undefined
      expect(ours.path === undefined).toBe(commit?.path === undefined)
      if (ours.path !== undefined && commit?.path !== undefined) {
        sameLeaf(ours.path.leafNode, commit.path.leafNode)
        const nodes = commit.path.nodes.map((node) => [hex(node.hpkePublicKey), node.encryptedPathSecret.length])
        expect(ours.path.nodes.map((node) => [hex(node.encryptionKey), node.recipients])).toEqual(nodes)
        const place = { groupId: ours.groupId, leafIndex: sender }
        expect(verifyLeafNode(ours.path.leafNode, place, verify)).toBe(true)
        expect(await verifyLeafNodeSignature(commit.path.leafNode, ours.groupId, sender, cs.signature)).toBe(true)
        expect(verifyLeafNode(ours.path.leafNode, { ...place, leafIndex: sender + 1 }, verify)).toBe(false)
        expect(verifyLeafNode(ours.path.leafNode, undefined, verify)).toBe(false)
      }
      const leafKey = before.members.find(({ leaf }) => leaf === sender)?.signatureKey ?? new Uint8Array()
      expect(verifyCommitSignature(ours, encodeGroupContext(before.context), leafKey, verify)).toBe(true)
      const otherEpoch = encodeGroupContext({ ...before.context, epoch: before.context.epoch + 1n })
      expect(verifyCommitSignature(ours, otherEpoch, leafKey, verify)).toBe(false)
    }
  })

  describe("every GroupInfo", () => {
    test("is the context of the epoch that the commit leads to, signed by the committer", () => {
      for (const { staged, after, sender, removed, keyPackages } of recording.commits) {
        const ours = parseGroupInfo(staged.groupInfo)
        const { groupInfo: their } = theirs(staged.groupInfo, "mls_group_info")
        expect(hex(ours.context.bytes)).toBe(hex(encodeGroupContext(after.context)))
        expect(ours).toMatchObject({ signer: sender, context: { epoch: after.context.epoch } })
        expect(hex(ours.context.groupId)).toBe(hex(their.groupContext.groupId))
        expect(hex(ours.context.treeHash)).toBe(hex(their.groupContext.treeHash))
        expect(hex(ours.context.confirmedTranscriptHash)).toBe(hex(their.groupContext.confirmedTranscriptHash))
        expect(hex(ours.context.binding ?? new Uint8Array())).toBe(hex(binding))
        const changes = removed.length + keyPackages.length > 0
        expect(ours.proof && hex(ours.proof)).toBe(changes ? hex(proof) : undefined)
        expect(hex(stateTagOf(ours.confirmationTag))).toBe(hex(stateTagOf(after.confirmationTag)))
        const key = after.members.find(({ leaf }) => leaf === sender)?.signatureKey ?? new Uint8Array()
        expect(verifyGroupInfo(ours, key, verify)).toBe(true)
        expect(parseTree(recording.commits[0]?.tree ?? new Uint8Array()).leaves.get(0)).toSatisfy((leaf: LeafNode) =>
          fitsGroup(leaf, ours.context),
        )
      }
    })

    test("belongs to its commit by transcript hash and tag, and to no other", () => {
      for (const [i, { staged, before }] of recording.commits.entries()) {
        const commit = parseCommit(staged.commit)
        const { context, confirmationTag } = parseGroupInfo(staged.groupInfo)
        const interim = interimTranscriptHash(before.context.confirmedTranscriptHash, before.confirmationTag)
        expect(hex(nextConfirmedTranscriptHash(interim, commit))).toBe(hex(context.confirmedTranscriptHash))
        expect(hex(commit.confirmationTag)).toBe(hex(confirmationTag))
        const other = recording.commits[i + 1]
        if (other === undefined) continue
        const wrong = nextConfirmedTranscriptHash(interim, parseCommit(other.staged.commit))
        expect(hex(wrong)).not.toBe(hex(context.confirmedTranscriptHash))
      }
    })
  })

  test("the context of epoch 0, which is never sent, is computed from the first commit's data", () => {
    const [first] = recording.commits
    if (first === undefined) throw new Error("no commit")
    const { context } = parseGroupInfo(first.staged.groupInfo)
    const creator = parseTree(first.tree).leaves.get(first.sender)
    if (creator === undefined) throw new Error("no creator")
    const zero = firstGroupContext(context, creator)
    expect(hex(zero)).toBe(hex(encodeGroupContext(first.before.context)))
    expect(verifyCommitSignature(parseCommit(first.staged.commit), zero, creator.signatureKey, verify)).toBe(true)
  })

  test("every tree has the members and the tree hash of its epoch", async () => {
    for (const { tree, after, staged } of recording.commits) {
      const ours = parseTree(tree)
      const members = after.members.map(({ leaf, credential, signatureKey }) => [
        leaf,
        hex(credential),
        hex(signatureKey),
      ])
      expect([...ours.leaves].map(([leaf, node]) => [leaf, hex(node.identity), hex(node.signatureKey)])).toEqual(
        members,
      )
      const hash = hex(treeHash(ours))
      expect(hash).toBe(hex(parseGroupInfo(staged.groupInfo).context.treeHash))
      const nodes = decodeRatchetTree(tree, 0)?.[0] ?? []
      expect(hash).toBe(hex(await treeHashRoot(nodes, cs.hash)))
      for (const [leaf, node] of ours.leaves) {
        const their = nodes[leaf * 2]
        if (their?.nodeType === "leaf") sameLeaf(node, their.leaf)
      }
    }
  })

  test("a Welcome is split into one per joining member, identical to what ts-mls encodes for it", async () => {
    for (const { staged, keyPackages } of recording.commits) {
      if (staged.welcome === undefined) continue
      const { welcome: their } = theirs(staged.welcome, "mls_welcome")
      const parts = splitWelcome(staged.welcome)
      const references = keyPackages.map((keyPackage) => hex(keyPackageRef(parseKeyPackage(keyPackage))))
      expect([...parts.keys()]).toEqual(references)
      for (const secret of their.secrets) {
        const alone = { ...their, secrets: [secret] }
        const expected = encodeMlsMessage({ version: "mls10", wireformat: "mls_welcome", welcome: alone })
        const part = parts.get(hex(secret.newMember)) ?? new Uint8Array()
        expect(hex(part)).toBe(hex(expected))
        expect(hex(part.subarray(4))).toBe(hex(encodeWelcome(alone)))
        expect(parseWelcome(part).secrets).toHaveLength(1)
      }
    }
  })
})
