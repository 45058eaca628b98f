// Forged, altered and misplaced commits. The service refuses each one, and the conversation continues.
import { buildConversationBinding } from "@signet/canonical/conversation-binding"
import { issueMembershipProof } from "@signet/canonical/membership-proof"
import { idOf } from "@signet/kernel/ids"
import { ConversationKind, EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { MembershipOp } from "@signet/proto/credential/v1/policy_proof"
import type { GroupContext } from "ts-mls/groupContext.js"
import { type GroupInfo, signGroupInfo } from "ts-mls/groupInfo.js"
import { signLeafNodeCommit } from "ts-mls/leafNode.js"
import { encodeMlsMessage } from "ts-mls/message.js"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { forgeCommit, testKit } from "../../clients/core/messaging/testing/forge.ts"
import { parseCommit } from "../../server/framing/commit.ts"
import { theirs } from "../../server/framing/testing/bent.ts"
import { nextConfirmedTranscriptHash } from "../../server/framing/transcript.ts"
import { parseTree } from "../../server/framing/tree.ts"
import { treeHash } from "../../server/framing/tree-hash.ts"
import { isLong } from "../support/effort.ts"
import type { StagedAppend } from "../support/messaging/committing.ts"
import { bytesOf, engine, newLeafKey, randomBytes, suite } from "../support/messaging/device-parts.ts"
import { aadOf, type Room } from "../support/messaging/room.ts"
import {
  adding,
  alice,
  bob,
  bobs,
  carol,
  carrying,
  committed,
  dave,
  elsewhere,
  flipped,
  openScene,
  packageOf,
  pathCommit,
  refusal,
  registered,
  room,
  sending,
  server,
  withReceipt,
} from "./messaging-scene.ts"

const proofExtension = { extensionType: 0xf0a2, extensionData: randomBytes(200) }

beforeAll(openScene, 30_000)
afterAll(() => server.close())

describe("a commit", () => {
  test("that adds a member whom its proof does not name is refused", async () => {
    const { proof, claim } = await alice.authorizeAdd(room, { userIds: [carol.userId] })
    const [wanted] = claim?.keyPackages ?? []
    const ghost = await packageOf(dave)
    const staged = await engine.add(room.state, [wanted?.keyPackage ?? expect.fail("none"), ghost], carrying(proof))
    const value = committed(staged, [claim?.ticket ?? randomBytes(1)])
    const request = { conversationId: room.id, idempotencyKey: randomBytes(16), expectedEpoch: room.epoch }
    expect(await refusal(alice.append({ ...request, payload: { case: "commit", value } }))).toBe("GHOST_MEMBER")
  })

  test("that adds a member without a proof is refused", async () => {
    const staged = await engine.add(room.state, [await packageOf(carol)], { aad: aadOf(room, EnvelopeKind.COMMIT) })
    const request = { conversationId: room.id, idempotencyKey: randomBytes(16), expectedEpoch: room.epoch }
    const payload = { case: "commit", value: committed(staged) } as const
    expect(await refusal(alice.append({ ...request, payload }))).toBe("PROOF_REFUSED PROOF_MISSING")
  })

  test("that changes no member but carries a proof is refused", async () => {
    const { proof } = await alice.authorizeAdd(room, { userIds: [carol.userId] })
    const staged = await engine.update(room.state, carrying(proof))
    const request = { conversationId: room.id, idempotencyKey: randomBytes(16), expectedEpoch: room.epoch }
    const payload = { case: "commit", value: committed(staged) } as const
    expect(await refusal(alice.append({ ...request, payload }))).toBe("PROOF_REFUSED PROOF_UNEXPECTED")
  })

  test("that removes another member than its proof names is refused", async () => {
    const { proof } = await alice.authorizeAdd(room, { userIds: [carol.userId] })
    const staged = await engine.remove(room.state, [1], carrying(proof))
    const request = { conversationId: room.id, idempotencyKey: randomBytes(16), expectedEpoch: room.epoch }
    const payload = { case: "commit", value: committed(staged) } as const
    expect(await refusal(alice.append({ ...request, payload }))).toBe("PROOF_REFUSED PROOF_SUBJECTS_MISMATCH")
  })

  test("with the proof of another conversation is refused", async () => {
    const { proof, claim } = await alice.authorizeAdd(elsewhere, { userIds: [carol.userId] })
    const [wanted] = claim?.keyPackages ?? []
    const staged = await engine.add(room.state, [wanted?.keyPackage ?? expect.fail("none")], carrying(proof))
    const request = { conversationId: room.id, idempotencyKey: randomBytes(16), expectedEpoch: room.epoch }
    const payload = { case: "commit", value: committed(staged, [claim?.ticket ?? randomBytes(1)]) } as const
    expect(await refusal(alice.append({ ...request, payload }))).toBe("PROOF_REFUSED PROOF_WRONG_CONVERSATION")
  })

  test("with a proof of an epoch that has passed is refused", async () => {
    const { proof, claim } = await alice.authorizeAdd(elsewhere, { userIds: [carol.userId] })
    const [wanted] = claim?.keyPackages ?? []
    await alice.update(elsewhere)
    const staged = await engine.add(
      elsewhere.state,
      [wanted?.keyPackage ?? expect.fail("none")],
      carrying(proof, elsewhere),
    )
    const request = { conversationId: elsewhere.id, idempotencyKey: randomBytes(16), expectedEpoch: elsewhere.epoch }
    const payload = { case: "commit", value: committed(staged, [claim?.ticket ?? randomBytes(1)]) } as const
    expect(await refusal(alice.append({ ...request, payload }))).toBe("PROOF_STALE")
  })

  test("with a proof that the auth service did not sign is refused", async () => {
    const [leaf] =
      (await alice.calls.conversations.getConversation({ conversationId: room.id })).conversation?.members ?? []
    const proof = await issueMembershipProof(
      {
        issuerId: alice.issuerKeys.issuerId,
        appId: alice.place.appId,
        conversationId: bytesOf("cnv", room.id),
        mlsGroupId: room.state.groupId,
        baseEpoch: room.epoch,
        baseStateTag: randomBytes(32),
        op: MembershipOp.REMOVE,
        removed: [{ credentialHash: randomBytes(32) }],
        requester: leaf?.credentialHash ?? randomBytes(32),
        decisionId: randomBytes(16),
        issuedAt: BigInt(Math.floor(Date.now() / 1_000)),
      },
      newLeafKey().signer,
    )
    const staged = await engine.remove(room.state, [1], carrying(proof))
    const request = { conversationId: room.id, idempotencyKey: randomBytes(16), expectedEpoch: room.epoch }
    const payload = { case: "commit", value: committed(staged) } as const
    expect(await refusal(alice.append({ ...request, payload }))).toBe("PROOF_REFUSED PROOF_UNKNOWN_ISSUER_KEY")
  })

  test("by another member than its proof's requester is refused", async () => {
    const { proof, claim } = await alice.authorizeAdd(room, { userIds: [carol.userId] })
    const [wanted] = claim?.keyPackages ?? []
    const staged = await engine.add(bobs.state, [wanted?.keyPackage ?? expect.fail("none")], carrying(proof))
    const request = { conversationId: room.id, idempotencyKey: randomBytes(16), expectedEpoch: room.epoch }
    const payload = { case: "commit", value: committed(staged, [claim?.ticket ?? randomBytes(1)]) } as const
    expect(await refusal(bob.append({ ...request, payload }))).toBe("PROOF_REFUSED PROOF_WRONG_COMMITTER")
  })

  test("that another member made than the sender is refused", async () => {
    const staged = await alice.stageUpdate(room)
    expect(await refusal(bob.append(staged))).toBe("NOT_MEMBER")
  })

  test("whose signature does not verify is refused", async () => {
    const staged = await alice.stageUpdate(room)
    // Flips a byte of the signature, which is before the two tags and their lengths.
    const commit = flipped(staged.staged.commit, -(2 * 33 + 1))
    expect(await refusal(sending(staged, { commit }))).toBe("MLS_MALFORMED MLS_BAD_SIGNATURE")
  })

  test("whose path has an unsigned leaf or another device's leaf is refused", async () => {
    const { staged, request } = await alice.stageUpdate(room)
    const unsigned = await pathCommit(staged.commit, alice, (leaf) => ({
      ...leaf,
      signature: flipped(leaf.signature, 0),
    }))
    const send = (commit: Uint8Array) => {
      const payload = { case: "commit" as const, value: { ...request.payload.value, commit } }
      return alice.append({ ...request, idempotencyKey: randomBytes(16), payload })
    }
    expect(await refusal(send(unsigned))).toBe("MLS_MALFORMED MLS_BAD_SIGNATURE")
    const place = { groupId: room.state.groupId, leafIndex: room.state.ownLeaf }
    const foreign = await pathCommit(staged.commit, alice, async ({ signature: _, ...leaf }) => {
      const { credential: identity, signatureKey: signaturePublicKey, key } = dave.identity
      const credential = { credentialType: "basic" as const, identity }
      const changed = { ...leaf, ...place, credential, signaturePublicKey }
      return signLeafNodeCommit(changed, key, testKit(suite).cs.signature)
    })
    expect(await refusal(send(foreign))).toBe("CREDENTIAL_REFUSED")
  })

  test("whose path has a key that is already in the tree is refused: no member could process it", async () => {
    const { staged, request } = await alice.stageUpdate(room)
    const bobsLeaf = parseTree(staged.tree()).leaves.get(1) ?? expect.fail("no leaf")
    const place = { groupId: room.state.groupId, leafIndex: room.state.ownLeaf }
    const commit = await pathCommit(staged.commit, alice, async ({ signature: _, ...leaf }) => {
      const changed = { ...leaf, ...place, hpkePublicKey: bobsLeaf.encryptionKey }
      return signLeafNodeCommit(changed, alice.identity.key, testKit(suite).cs.signature)
    })
    const { groupInfo } = theirs(staged.groupInfo, "mls_group_info")
    const { signature: _, ...signed } = { ...groupInfo, confirmationTag: parseCommit(commit).confirmationTag }
    const { interimTranscriptHash } = (
      await server.messaging.deps.store.conversations.find(idOf("cnv", bytesOf("cnv", room.id)))
    )?.state ?? { interimTranscriptHash: new Uint8Array() }
    const confirmedTranscriptHash = nextConfirmedTranscriptHash(interimTranscriptHash, parseCommit(commit))
    const groupContext = { ...groupInfo.groupContext, confirmedTranscriptHash }
    const again = await signGroupInfo({ ...signed, groupContext }, alice.key.seed, testKit(suite).cs.signature)
    const forged = encodeMlsMessage({ version: "mls10", wireformat: "mls_group_info", groupInfo: again })
    const value = { ...request.payload.value, commit, groupInfo: forged }
    const payload = { case: "commit" as const, value }
    expect(await refusal(alice.append({ ...request, idempotencyKey: randomBytes(16), payload }))).toBe(
      "MLS_MALFORMED MLS_WRONG_TREE",
    )
  })

  test("that removes a blank leaf is refused", async () => {
    const { proof } = await alice.authorizeRemove(room, { userIds: [bob.userId] })
    const staged = await engine.remove(room.state, [1], carrying(proof))
    const commit = await pathCommit(staged.commit, alice, (leaf) => leaf, [99])
    const payload = { case: "commit", value: { ...committed(staged), commit } } as const
    const request = { conversationId: room.id, idempotencyKey: randomBytes(16), expectedEpoch: room.epoch, payload }
    expect(await refusal(alice.append(request))).toBe("PROOF_REFUSED PROOF_SUBJECTS_MISMATCH")
  })

  test.runIf(isLong)(
    "with a key package that was not claimed, or was claimed by another device, is refused",
    async () => {
      expect(await refusal(adding(() => ({ claimTickets: [] })))).toBe("KEY_PACKAGE_NOT_CLAIMED")
      const other = await bob.authorizeAdd(bobs, { userIds: [carol.userId] })
      const claimTickets = [other.claim?.ticket ?? randomBytes(1)]
      expect(await refusal(adding(() => ({ claimTickets })))).toBe("KEY_PACKAGE_NOT_CLAIMED TICKET_WRONG_DEVICE")
      const there = await alice.authorizeAdd(elsewhere, { userIds: [carol.userId] })
      const foreign = [there.claim?.ticket ?? randomBytes(1)]
      expect(await refusal(adding(() => ({ claimTickets: foreign })))).toBe(
        "KEY_PACKAGE_NOT_CLAIMED TICKET_WRONG_CONVERSATION",
      )
      expect(await refusal(adding(() => ({ claimTickets: [randomBytes(100)] })))).toBe(
        "KEY_PACKAGE_NOT_CLAIMED TICKET_MALFORMED",
      )
    },
  )

  test("with the GroupInfo of another epoch, group or commit is refused", async () => {
    const other = await alice.stageUpdate(room)
    const there = await alice.stageUpdate(elsewhere)
    const { groupInfo: now } = await alice.calls.conversations.getGroupInfo({ conversationId: room.id })
    for (const groupInfo of [other.staged.groupInfo, there.staged.groupInfo, now]) {
      expect(await refusal(adding(() => ({ groupInfo })))).toBe("GROUP_INFO_MISMATCH")
    }
    expect(await refusal(adding((value) => ({ groupInfo: flipped(value.groupInfo ?? randomBytes(1), -1) })))).toBe(
      "GROUP_INFO_MISMATCH",
    )
  })

  test("whose GroupInfo has another proof than the commit is refused", async () => {
    const { proof, claim } = await alice.authorizeAdd(room, { userIds: [carol.userId] })
    const [wanted] = claim?.keyPackages ?? []
    const options = { aad: aadOf(room, EnvelopeKind.COMMIT, proof), proof: randomBytes(200) }
    const staged = await engine.add(room.state, [wanted?.keyPackage ?? expect.fail("none")], options)
    const request = { conversationId: room.id, idempotencyKey: randomBytes(16), expectedEpoch: room.epoch }
    const payload = { case: "commit", value: committed(staged, [claim?.ticket ?? randomBytes(1)]) } as const
    expect(await refusal(alice.append({ ...request, payload }))).toBe("GROUP_INFO_MISMATCH")
  })

  test.runIf(isLong)("with another epoch's tree, or without the tree that new members need, is refused", async () => {
    const other = await alice.stageUpdate(room)
    expect(await refusal(adding(() => ({ tree: other.staged.tree() })))).toBe("GROUP_INFO_MISMATCH")
    // In the encryption key of the first leaf, which no other check covers.
    expect(await refusal(adding(({ tree = randomBytes(1) }) => ({ tree: flipped(tree, 12) })))).toBe(
      "GROUP_INFO_MISMATCH",
    )
    expect(await refusal(adding(() => ({ tree: new Uint8Array() })))).toBe("GROUP_INFO_MISMATCH")
    expect(await refusal(adding(({ tree }) => ({ tree: new Uint8Array([...(tree ?? []), 0]) })))).toBe(
      "MLS_NON_CANONICAL",
    )
  })

  test("whose tree has one leaf more than its members is refused", async () => {
    const authorization = await alice.authorizeAdd(room, { userIds: [carol.userId] })
    const wanted = authorization.claim?.keyPackages[0]?.keyPackage ?? expect.fail("none")
    const aad = aadOf(room, EnvelopeKind.COMMIT)
    const ghosts = await engine.add(room.state, [wanted, await packageOf(dave)], { aad })
    const tree = ghosts.tree()
    const forged = async ({ staged }: StagedAppend) => {
      const { groupInfo } = theirs(staged.groupInfo, "mls_group_info")
      const { signature: _, ...signed } = groupInfo
      const groupContext = { ...groupInfo.groupContext, treeHash: treeHash(parseTree(tree)) }
      const again = await signGroupInfo({ ...signed, groupContext }, alice.key.seed, testKit(suite).cs.signature)
      return encodeMlsMessage({ version: "mls10", wireformat: "mls_group_info", groupInfo: again })
    }
    const staged = await alice.stageChange(room, authorization)
    expect(await refusal(sending(staged, { tree, groupInfo: await forged(staged) }))).toBe("GHOST_MEMBER")
  })

  const inContext = (change: Partial<GroupContext>) => (info: GroupInfo) => ({
    groupContext: { ...info.groupContext, ...change },
  })

  test.each<[string, (info: GroupInfo) => Partial<GroupInfo>]>([
    ["names another tree", inContext({ treeHash: randomBytes(32) })],
    ["is of another group", inContext({ groupId: randomBytes(32) })],
    ["is of a later epoch", ({ groupContext: { epoch, ...of } }) => ({ groupContext: { ...of, epoch: epoch + 1n } })],
    ["follows from another history", inContext({ confirmedTranscriptHash: randomBytes(32) })],
    ["drops the group's extensions", inContext({ extensions: [] })],
    ["has the confirmation of another epoch", () => ({ confirmationTag: randomBytes(32) })],
    ["names another signer", () => ({ signer: 1 })],
    ["has a proof though the commit has none", () => ({ extensions: [proofExtension] })],
  ])("whose GroupInfo %s is refused, or no other member could commit again", async (_, bend) => {
    const staged = await alice.stageUpdate(room)
    const { groupInfo } = theirs(staged.staged.groupInfo, "mls_group_info")
    const { signature: __, ...signed } = { ...groupInfo, ...bend(groupInfo) }
    const again = await signGroupInfo(signed, alice.key.seed, testKit(suite).cs.signature)
    const forged = encodeMlsMessage({ version: "mls10", wireformat: "mls_group_info", groupInfo: again })
    expect(await refusal(sending(staged, { groupInfo: forged }))).toBe("GROUP_INFO_MISMATCH")
  })

  test("with a welcome for a device that is not added, or for no device, is refused", async () => {
    const other = await alice.stageChange(room, await alice.authorizeAdd(room, { userIds: [dave.userId] }))
    const { welcome = randomBytes(1) } = other.staged
    expect(await refusal(adding(() => ({ welcome })))).toBe("WELCOME_RECIPIENT_MISMATCH")
    expect(await refusal(adding(() => ({ welcome: new Uint8Array() })))).toBe("WELCOME_RECIPIENT_MISMATCH")
    const update = await alice.stageUpdate(room)
    expect(await refusal(sending(update, { welcome }))).toBe("WELCOME_RECIPIENT_MISMATCH")
    const authorization = await alice.authorizeAdd(room, { userIds: [carol.userId] })
    const wanted = authorization.claim?.keyPackages[0]?.keyPackage ?? expect.fail("none")
    const aad = aadOf(room, EnvelopeKind.COMMIT)
    const both = await engine.add(room.state, [wanted, await packageOf(dave)], { aad })
    const staged = await alice.stageChange(room, authorization)
    expect(await refusal(sending(staged, { welcome: both.welcome ?? randomBytes(1) }))).toBe(
      "WELCOME_RECIPIENT_MISMATCH",
    )
  })

  test("with a proposal by reference is refused", async () => {
    const reference = { proposalOrRefType: "reference", reference: randomBytes(32) } as const
    const commit = await forgeCommit(suite, room.state, { proposals: [reference] })
    expect(await refusal(adding(() => ({ commit })))).toBe("MLS_MALFORMED MLS_UNSUPPORTED")
  })

  test("with the AAD of another conversation, or of a message, is refused", async () => {
    for (const [aad, code] of [
      [aadOf(elsewhere, EnvelopeKind.COMMIT), "AAD_WRONG_CONVERSATION"],
      [aadOf(room, EnvelopeKind.APPLICATION), "AAD_WRONG_KIND"],
      [randomBytes(20), "AAD_MALFORMED"],
      [withReceipt(EnvelopeKind.COMMIT, randomBytes(32)), "AAD_WRONG_RECEIPT"],
    ] as const) {
      const staged = await engine.update(room.state, { aad })
      const payload = { case: "commit", value: committed(staged) } as const
      const request = { conversationId: room.id, idempotencyKey: randomBytes(16), expectedEpoch: room.epoch, payload }
      expect(await refusal(alice.append(request))).toBe(`ENVELOPE_INVALID ${code}`)
    }
  })

  test("of another group is refused", async () => {
    const { staged } = await alice.stageUpdate(elsewhere)
    const payload = { case: "commit", value: committed(staged) } as const
    const request = {
      conversationId: room.id,
      idempotencyKey: randomBytes(16),
      expectedEpoch: elsewhere.epoch,
      payload,
    }
    const expectedEpoch = room.epoch
    expect(await refusal(alice.append({ ...request, expectedEpoch }))).toMatch(/^MLS_WRONG_GROUP/)
  })

  test("that is the first of another creator's group is refused", async () => {
    const erin = await registered(undefined, 0)
    const value = { userIds: [carol.userId, erin.userId] }
    const { conversation, authorization } = await alice.create({ case: "group", value })
    if (conversation === undefined || authorization === undefined) return expect.fail("not created")
    // Erin may request a proof too, but this one was issued to Alice.
    expect(await refusal(erin.append(await erin.stageFirst(conversation, authorization)))).toBe(
      "PROOF_REFUSED PROOF_WRONG_COMMITTER",
    )
    const staged = await alice.stageFirst(conversation, authorization)
    expect(await refusal(erin.append(staged))).toBe("CREDENTIAL_REFUSED")
    expect(await refusal(sending(staged, { tree: new Uint8Array() }))).toBe("GROUP_INFO_MISMATCH")
    // Flips a byte of the signature, which is before the two tags and their lengths.
    const unsigned = flipped(staged.staged.commit, -(2 * 33 + 1))
    expect(await refusal(sending(staged, { commit: unsigned }))).toBe("MLS_MALFORMED MLS_BAD_SIGNATURE")
    expect(await refusal(alice.append(staged))).toBe("taken")
  })

  test("that is the first of another conversation's group is refused", async () => {
    const { conversation, authorization } = await alice.create({ case: "group", value: { userIds: [bob.userId] } })
    if (conversation === undefined || authorization === undefined) return expect.fail("not created")
    const { id, mlsGroupId } = conversation
    const life = { notBefore: 0, notAfter: 4_000_000_000 }
    const identity = { conversationId: bytesOf("cnv", room.id), appId: alice.place.appId, tenantId: undefined }
    for (const [binding, code] of [
      [buildConversationBinding({ ...identity, kind: ConversationKind.GROUP }), "BINDING_WRONG_CONVERSATION"],
      [randomBytes(20), "BINDING_MALFORMED"],
    ] as const) {
      const group = { groupId: mlsGroupId, identity: alice.identity, binding, ...life }
      const state = await engine.createGroup(group)
      const bound: Room = { ...room, id, state, epoch: 0n, staged: [], receipt: "first" }
      const staged = await alice.stageChange(bound, authorization)
      expect(await refusal(alice.append(staged))).toBe(`GROUP_INFO_MISMATCH ${code}`)
    }
  })

  test("that is the first of a group and has no proof is refused", async () => {
    const { conversation } = await alice.create({ case: "group", value: { userIds: [bob.userId] } })
    if (conversation === undefined) return expect.fail("not created")
    const { id, mlsGroupId } = conversation
    const life = { notBefore: 0, notAfter: 4_000_000_000 }
    const state = await engine.createGroup({ groupId: mlsGroupId, identity: alice.identity, ...life })
    const lonely: Room = { ...room, id, state, epoch: 0n, staged: [], receipt: "first" }
    const staged = await engine.update(state, { aad: aadOf(lonely, EnvelopeKind.COMMIT) })
    const value = { ...committed(staged), tree: staged.tree() }
    const request = { conversationId: id, idempotencyKey: randomBytes(16), expectedEpoch: 0n }
    const refused = await refusal(alice.append({ ...request, payload: { case: "commit", value } }))
    expect(refused).toBe("MLS_MALFORMED MLS_BAD_SIGNATURE")
  })
})
