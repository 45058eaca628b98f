// Members and strangers who send what they should not: each is refused, by name, and the log is as it was.
import { Code, ConnectError } from "@connectrpc/connect"
import { buildConversationBinding } from "@signet/canonical/conversation-binding"
import { buildEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { issueMembershipProof } from "@signet/canonical/membership-proof"
import { newId } from "@signet/kernel/ids"
import { ConversationKind, EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { MembershipOp } from "@signet/proto/credential/v1/policy_proof"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import {
  CommitConflictSchema,
  CommitRequiredSchema,
  LimitExceededSchema,
  StaleEpochSchema,
} from "@signet/proto/messaging/v1/conflict"
import { ReportForkRequest_Fault } from "@signet/proto/messaging/v1/conversation_service"
import { Conversation_Status } from "@signet/proto/messaging/v1/records"
import { createContentCommitSignature } from "ts-mls/framedContent.js"
import { signGroupInfo } from "ts-mls/groupInfo.js"
import { type LeafNodeCommit, signLeafNodeCommit } from "ts-mls/leafNode.js"
import { encodeMlsMessage } from "ts-mls/message.js"
import { protectPublicMessage } from "ts-mls/messageProtectionPublic.js"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { opened } from "../../clients/core/messaging/engine/state.ts"
import type { StagedCommit } from "../../clients/core/messaging/mls.ts"
import { forgeCommit, testKit } from "../../clients/core/messaging/testing/forge.ts"
import { theirs } from "../../server/framing/testing/bent.ts"
import { parseTree } from "../../server/framing/tree.ts"
import { treeHash } from "../../server/framing/tree-hash.ts"
import { protocols } from "../support/clients.ts"
import { callsOver } from "../support/messaging/calls.ts"
import { type CommitPayload, newClaimId, type StagedAppend } from "../support/messaging/committing.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { bytesOf, engine, newLeafKey, randomBytes, suite } from "../support/messaging/papers.ts"
import { aadOf, type Room } from "../support/messaging/room.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import type { SignedIn } from "../support/messaging/world.ts"

let server: MessagingServer
let alice: TestDevice
let bob: TestDevice
let carol: TestDevice
let dave: TestDevice
/** Of Alice and Bob; no test changes it. */
let room: Room
let bobs: Room
/** Another group of Alice and Bob. */
let elsewhere: Room

const overGrpc = () => protocols.gRPC?.(server.url) ?? expect.fail("no such protocol")

async function registered(of?: SignedIn, packages = 12): Promise<TestDevice> {
  const session = of === undefined ? await server.person(crypto.randomUUID()) : await of.again()
  const device = await newDevice(overGrpc(), session)
  await device.register()
  if (packages > 0) await device.upload(packages)
  return device
}

beforeAll(async () => {
  server = await startMessagingServer({ store: "pglite" })
  alice = await registered()
  bob = await registered()
  carol = await registered(undefined, 40)
  dave = await registered()
  room = await alice.createGroup([bob.userId])
  bobs = (await bob.join())[0] ?? expect.fail("bob has no welcome")
  elsewhere = await alice.createGroup([bob.userId])
}, 30_000)
afterAll(() => server.close())

/** "GHOST_MEMBER", or "PROOF_REFUSED PROOF_EXPIRED" where the metadata has a code, or "taken". */
async function refusal(call: Promise<unknown>): Promise<string> {
  const error = await errorOf(call)
  if (error === undefined) return "taken"
  const [info] = error.findDetails(ErrorInfoSchema)
  const { reason = error.message, metadata = {} } = info ?? {}
  return metadata.code === undefined || metadata.code === reason ? reason : `${reason} ${metadata.code}`
}

async function errorOf(call: Promise<unknown>): Promise<ConnectError | undefined> {
  try {
    await call
    return undefined
  } catch (error) {
    if (error instanceof ConnectError) return error
    throw error
  }
}

/** Alice's commit that adds Carol, changed. */
async function adding(change: (value: CommitPayload, staged: StagedAppend) => Partial<CommitPayload>) {
  const staged = await alice.stageChange(room, await alice.authorizeAdd(room, { userIds: [carol.userId] }))
  return sending(staged, change(staged.request.payload.value, staged))
}

function sending({ request }: StagedAppend, change: Partial<CommitPayload>, by = alice) {
  const payload = { case: "commit", value: { ...request.payload.value, ...change } } as const
  return by.append({ ...request, idempotencyKey: randomBytes(16), payload })
}

const committed = ({ commit, groupInfo, welcome, tree }: StagedCommit, claimTickets: Uint8Array[] = []) => ({
  commit,
  groupInfo,
  ...(welcome ? { welcome, tree: tree() } : {}),
  claimTickets,
})

/** A commit by this device with whatever proof. */
const carrying = (proof: Uint8Array, of: Room = room) => ({ aad: aadOf(of, EnvelopeKind.COMMIT, proof), proof })

async function packageOf(device: TestDevice): Promise<Uint8Array> {
  const [made] = await device.newKeyPackages(1)
  return made?.keyPackage ?? expect.fail("no key package")
}

/** The commit with another leaf in its path, signed again by its committer. */
async function pathCommit(
  commit: Uint8Array,
  by: TestDevice,
  bend: (leaf: LeafNodeCommit) => LeafNodeCommit | Promise<LeafNodeCommit>,
): Promise<Uint8Array> {
  const { content } = theirs(commit, "mls_public_message").publicMessage
  const path = content.contentType === "commit" ? content.commit.path : undefined
  if (path === undefined || content.sender.senderType !== "member") return expect.fail("no path")
  const { cs } = testKit(suite)
  const { context, epochSecrets } = opened(room.state)
  const changed = { ...path, leafNode: await bend(path.leafNode) }
  const { framedContent, signature } = await createContentCommitSignature(
    context,
    "mls_public_message",
    { proposals: [], path: changed },
    content.sender,
    content.authenticatedData,
    by.key.seed,
    cs.signature,
  )
  const auth = { contentType: "commit", signature, confirmationTag: randomBytes(32) } as const
  const whole = { wireformat: "mls_public_message", content: framedContent, auth } as const
  const publicMessage = await protectPublicMessage(epochSecrets.membership, context, whole, cs)
  return encodeMlsMessage({ version: "mls10", wireformat: "mls_public_message", publicMessage })
}

/** An AAD frame that names another receipt than the newest. */
const withReceipt = (kind: EnvelopeKind, lastReceiptHash: Uint8Array) =>
  buildEnvelopeAad({ conversationId: bytesOf("cnv", room.id), kind, lastReceiptHash })

const flipped = (bytes: Uint8Array, at: number) => bytes.with(at < 0 ? bytes.length + at : at, (bytes.at(at) ?? 0) ^ 1)

describe("a commit", () => {
  test("that adds a ghost beside whom its proof names is refused", async () => {
    const { proof, claim } = await alice.authorizeAdd(room, { userIds: [carol.userId] })
    const [wanted] = claim?.keyPackages ?? []
    const ghost = await packageOf(dave)
    const staged = await engine.add(room.state, [wanted?.keyPackage ?? expect.fail("none"), ghost], carrying(proof))
    const value = committed(staged, [claim?.ticket ?? randomBytes(1)])
    const request = { conversationId: room.id, idempotencyKey: randomBytes(16), expectedEpoch: room.epoch }
    expect(await refusal(alice.append({ ...request, payload: { case: "commit", value } }))).toBe("GHOST_MEMBER")
  })

  test("that adds somebody without any proof is refused", async () => {
    const staged = await engine.add(room.state, [await packageOf(carol)], { aad: aadOf(room, EnvelopeKind.COMMIT) })
    const request = { conversationId: room.id, idempotencyKey: randomBytes(16), expectedEpoch: room.epoch }
    const payload = { case: "commit", value: committed(staged) } as const
    expect(await refusal(alice.append({ ...request, payload }))).toBe("PROOF_REFUSED PROOF_MISSING")
  })

  test("that changes nobody and carries a proof is refused", async () => {
    const { proof } = await alice.authorizeAdd(room, { userIds: [carol.userId] })
    const staged = await engine.update(room.state, carrying(proof))
    const request = { conversationId: room.id, idempotencyKey: randomBytes(16), expectedEpoch: room.epoch }
    const payload = { case: "commit", value: committed(staged) } as const
    expect(await refusal(alice.append({ ...request, payload }))).toBe("PROOF_REFUSED PROOF_UNEXPECTED")
  })

  test("that removes somebody else than its proof says is refused", async () => {
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

  test("by another member than the one its proof was given to is refused", async () => {
    const { proof, claim } = await alice.authorizeAdd(room, { userIds: [carol.userId] })
    const [wanted] = claim?.keyPackages ?? []
    const staged = await engine.add(bobs.state, [wanted?.keyPackage ?? expect.fail("none")], carrying(proof))
    const request = { conversationId: room.id, idempotencyKey: randomBytes(16), expectedEpoch: room.epoch }
    const payload = { case: "commit", value: committed(staged, [claim?.ticket ?? randomBytes(1)]) } as const
    expect(await refusal(bob.append({ ...request, payload }))).toBe("PROOF_REFUSED PROOF_WRONG_COMMITTER")
  })

  test("sent by a member who did not make it is refused", async () => {
    const staged = await alice.stageUpdate(room)
    expect(await refusal(bob.append(staged))).toBe("NOT_MEMBER")
  })

  test("whose signature does not verify is refused", async () => {
    const staged = await alice.stageUpdate(room)
    // Before the two tags, each with its length.
    const commit = flipped(staged.staged.commit, -(2 * 33 + 1))
    expect(await refusal(sending(staged, { commit }))).toBe("MLS_MALFORMED MLS_BAD_SIGNATURE")
  })

  test("whose path has a leaf that nobody signed, or another device's, is refused", async () => {
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

  test("with a package that was not claimed, or by somebody else, is refused", async () => {
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
  })

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

  test("whose GroupInfo has another proof than itself is refused", async () => {
    const { proof, claim } = await alice.authorizeAdd(room, { userIds: [carol.userId] })
    const [wanted] = claim?.keyPackages ?? []
    const options = { aad: aadOf(room, EnvelopeKind.COMMIT, proof), proof: randomBytes(200) }
    const staged = await engine.add(room.state, [wanted?.keyPackage ?? expect.fail("none")], options)
    const request = { conversationId: room.id, idempotencyKey: randomBytes(16), expectedEpoch: room.epoch }
    const payload = { case: "commit", value: committed(staged, [claim?.ticket ?? randomBytes(1)]) } as const
    expect(await refusal(alice.append({ ...request, payload }))).toBe("GROUP_INFO_MISMATCH")
  })

  test("with a tree that is not the epoch's, or without the tree that newcomers need, is refused", async () => {
    const other = await alice.stageUpdate(room)
    expect(await refusal(adding(() => ({ tree: other.staged.tree() })))).toBe("GROUP_INFO_MISMATCH")
    // In the encryption key of the first leaf: nothing else sees it.
    expect(await refusal(adding(({ tree = randomBytes(1) }) => ({ tree: flipped(tree, 12) })))).toBe(
      "GROUP_INFO_MISMATCH",
    )
    expect(await refusal(adding(() => ({ tree: new Uint8Array() })))).toBe("GROUP_INFO_MISMATCH")
    expect(await refusal(adding(({ tree }) => ({ tree: new Uint8Array([...(tree ?? []), 0]) })))).toBe(
      "MLS_NON_CANONICAL",
    )
  })

  test("whose signed tree has one leaf more than its members is refused", async () => {
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

  test("whose GroupInfo names another tree is refused, or no other member could commit again", async () => {
    const staged = await alice.stageUpdate(room)
    const { groupInfo } = theirs(staged.staged.groupInfo, "mls_group_info")
    const { signature: _, ...signed } = groupInfo
    const groupContext = { ...groupInfo.groupContext, treeHash: randomBytes(32) }
    const again = await signGroupInfo({ ...signed, groupContext }, alice.key.seed, testKit(suite).cs.signature)
    const forged = encodeMlsMessage({ version: "mls10", wireformat: "mls_group_info", groupInfo: again })
    expect(await refusal(sending(staged, { groupInfo: forged }))).toBe("GROUP_INFO_MISMATCH")
  })

  test("with a welcome for a device that is not added, or for none, is refused", async () => {
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

  test("that was first in a group whose creator is somebody else is refused", async () => {
    const erin = await registered(undefined, 0)
    const value = { userIds: [carol.userId, erin.userId] }
    const { conversation, authorization } = await alice.create({ case: "group", value })
    if (conversation === undefined || authorization === undefined) return expect.fail("not created")
    // Erin may ask for a proof too, but this one is Alice's.
    expect(await refusal(erin.append(await erin.stageFirst(conversation, authorization)))).toBe(
      "PROOF_REFUSED PROOF_WRONG_COMMITTER",
    )
    const staged = await alice.stageFirst(conversation, authorization)
    expect(await refusal(erin.append(staged))).toBe("CREDENTIAL_REFUSED")
    expect(await refusal(sending(staged, { tree: new Uint8Array() }))).toBe("GROUP_INFO_MISMATCH")
    expect(await refusal(alice.append(staged))).toBe("taken")
  })

  test("that was first in a group for another conversation is refused", async () => {
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

  test("that was first without a proof is refused", async () => {
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

describe("an application message", () => {
  const sendAs = (value: Uint8Array, by = alice) =>
    by.append({
      conversationId: room.id,
      idempotencyKey: randomBytes(16),
      expectedEpoch: room.epoch,
      payload: { case: "application", value },
    })

  test("is a private message, and a commit a public one", async () => {
    const { staged } = await alice.stageUpdate(room)
    expect(await refusal(sendAs(staged.commit))).toBe("MLS_WRONG_WIRE_FORMAT")
    const { payload } = await alice.stageText(room, "hello")
    const message = payload?.case === "application" ? new Uint8Array(payload.value ?? []) : expect.fail("no message")
    expect(await refusal(adding(() => ({ commit: message })))).toBe("MLS_WRONG_WIRE_FORMAT")
    // Version, wire format, a group id of 32 bytes and the epoch are before the content type.
    const handshake = message.with(2 + 2 + 33 + 8, 3)
    expect(await refusal(sendAs(handshake))).toBe("MLS_WRONG_WIRE_FORMAT")
    expect(await refusal(sendAs(new Uint8Array([...message, 0])))).toBe("MLS_NON_CANONICAL")
    expect(await refusal(sendAs(message.subarray(0, -1)))).toBe("MLS_MALFORMED")
    expect(await refusal(sendAs(randomBytes(500)))).toMatch(/^MLS_MALFORMED/)
  })

  test("without its AAD frame is refused", async () => {
    for (const [aad, code] of [
      [randomBytes(3), "AAD_MALFORMED"],
      [aadOf(room, EnvelopeKind.COMMIT), "AAD_WRONG_KIND"],
      [aadOf(elsewhere, EnvelopeKind.APPLICATION), "AAD_WRONG_CONVERSATION"],
      [withReceipt(EnvelopeKind.APPLICATION, randomBytes(32)), "AAD_WRONG_RECEIPT"],
      [buildEnvelopeAad({ conversationId: bytesOf("cnv", room.id), kind: EnvelopeKind.PROPOSAL }), "AAD_WRONG_KIND"],
    ] as const) {
      const { message } = await engine.encrypt(room.state, randomBytes(3), aad)
      expect(await refusal(sendAs(message))).toBe(`ENVELOPE_INVALID ${code}`)
    }
  })

  test("of another epoch than the request says, of a passed and of a future one is refused", async () => {
    const staged = await alice.stageText(room, "hello")
    expect(await refusal(alice.append({ ...staged, expectedEpoch: room.epoch + 1n }))).toBe("FUTURE_EPOCH")
    const stale = await errorOf(alice.append({ ...staged, expectedEpoch: room.epoch - 1n }))
    expect(await refusal(Promise.reject(stale))).toBe("STALE_EPOCH")
    const [detail] = stale?.findDetails(StaleEpochSchema) ?? []
    expect(detail).toMatchObject({ conversationId: room.id, currentEpoch: room.epoch, fromSeq: 1n })
    await alice.update(elsewhere)
    const ahead = await alice.stageText(elsewhere, "ahead")
    const mixed = { ...ahead, expectedEpoch: elsewhere.epoch - 1n }
    expect(await refusal(alice.append(mixed))).toBe("STALE_EPOCH")
  })

  test("of a stranger is answered as if the conversation were not there", async () => {
    const staged = await alice.stageText(room, "hello")
    const missing = { ...staged, conversationId: `cnv_${"0".repeat(26)}` }
    const told = await Promise.all([dave.append(staged), dave.append(missing)].map(errorOf))
    expect(told.map((error) => error?.rawMessage)).toEqual(["not allowed here", "not allowed here"])
    expect(told.map((error) => error?.code)).toEqual([Code.PermissionDenied, Code.PermissionDenied])
    const [here, nowhere] = told.map((error) => error?.findDetails(ErrorInfoSchema)[0])
    expect(here).toEqual(nowhere)
    for (const conversationId of [room.id, missing.conversationId]) {
      const { conversations } = dave.calls
      expect(await refusal(conversations.getConversation({ conversationId }))).toBe("RESOURCE_UNRESOLVED")
      expect(await refusal(conversations.listMessages({ conversationId }))).toBe("RESOURCE_UNRESOLVED")
      expect(await refusal(conversations.getGroupInfo({ conversationId }))).toBe("RESOURCE_UNRESOLVED")
      expect(await refusal(conversations.listDirectives({ conversationId }))).toBe("RESOURCE_UNRESOLVED")
      expect(await refusal(conversations.leaveConversation({ conversationId }))).toBe("RESOURCE_UNRESOLVED")
      expect(await refusal(conversations.requestRejoin({ conversationId }))).toBe("RESOURCE_UNRESOLVED")
      expect(await refusal(conversations.ackMessages({ conversationId }))).toBe("RESOURCE_UNRESOLVED")
      const treeHash = "0".repeat(64)
      expect(await refusal(conversations.getTree({ conversationId, treeHash }))).toBe("RESOURCE_UNRESOLVED")
      const add = { case: "add" as const, value: { userIds: [dave.userId], claimId: newClaimId() } }
      expect(await refusal(conversations.authorizeMembership({ conversationId, change: add }))).toBe(
        "RESOURCE_UNRESOLVED",
      )
    }
  })

  test("is not read by a device that was removed, nor taken from it", async () => {
    const group = await alice.createGroup([bob.userId])
    await bob.join()
    const left = bob.room(group.id)
    await alice.send(group, "before")
    await alice.sync(group)
    const removal = await alice.remove(group, { deviceIds: [bob.id] })
    await alice.send(group, "after")
    const page = await bob.calls.conversations.listMessages({ conversationId: group.id })
    expect(page.headSeq).toBe(removal.seq)
    expect(page.envelopes.map(({ seq }) => seq)).toEqual([1n, 2n, 3n])
    const more = await bob.calls.conversations.listMessages({ conversationId: group.id, afterSeq: removal.seq })
    expect(more.envelopes).toEqual([])
    expect(await refusal(bob.send(left, "still here"))).toBe("RESOURCE_UNRESOLVED")
    expect(await refusal(bob.calls.conversations.getConversation({ conversationId: group.id }))).toBe(
      "RESOURCE_UNRESOLVED",
    )
  })

  test("is not taken from a device that was revoked", async () => {
    const user = await server.person(crypto.randomUUID())
    const phone = await registered(user)
    const group = await phone.createGroup([bob.userId])
    const laptop = await registered(user)
    await laptop.calls.devices.revokeDevice({ deviceId: phone.id })
    expect(await refusal(phone.send(group, "still here"))).toMatch(/^(DEVICE_REVOKED|DEVICE_REQUIRED|SESSION_REVOKED)$/)
    await bob.join()
    const { directives } = await bob.calls.conversations.listDirectives({ conversationId: group.id })
    expect(directives.map(({ deviceId }) => deviceId)).toEqual([phone.id])
    await bob.carryOut(bob.room(group.id), directives[0]?.id ?? "")
    const { conversation } = await bob.calls.conversations.getConversation({ conversationId: group.id })
    expect(conversation?.members.map(({ deviceId }) => deviceId)).toEqual([bob.id])
    expect(conversation?.directives).toEqual([])
  })
})

describe("two at once", () => {
  test("commits: one is taken, and the other gets the winner", async () => {
    const [first, second] = [await alice.stageUpdate(elsewhere), await alice.stageUpdate(elsewhere)]
    const taken = await alice.append(first)
    const error = await errorOf(alice.append(second))
    expect(await refusal(Promise.reject(error))).toBe("COMMIT_CONFLICT")
    expect(error?.code).toBe(Code.Aborted)
    const [conflict] = error?.findDetails(CommitConflictSchema) ?? []
    expect(conflict).toMatchObject({
      conversationId: elsewhere.id,
      attemptedEpoch: elsewhere.epoch,
      currentEpoch: elsewhere.epoch + 1n,
      winningSeq: taken.seq,
      receipt: taken.receipt,
    })
    expect(conflict?.winningCommitHash).toEqual(hash("commit", first.staged.commit))
    expect(conflict?.envelope?.message).toEqual(first.staged.commit)
    const delay = conflict?.retryAfter?.nanos ?? 0
    expect(delay).toBeGreaterThanOrEqual(50_000_000)
    expect(delay).toBeLessThanOrEqual(500_000_000)
    await alice.sync(elsewhere)
  })

  test("the same append again is the same answer, and another under its key is refused", async () => {
    const staged = await alice.stageText(elsewhere, "once")
    const answer = await alice.append(staged)
    expect(await alice.append(staged)).toEqual(answer)
    expect((await alice.append({ ...staged, idempotencyKey: randomBytes(16) })).seq).toBe(answer.seq)
    const update = await alice.stageUpdate(elsewhere)
    const committed = await alice.commit(update)
    // Both epochs have passed, and only the answers were lost.
    for (const [request, seq] of [
      [staged, answer.seq],
      [update.request, committed.seq],
    ] as const) {
      expect((await alice.append({ ...request, idempotencyKey: randomBytes(16) })).seq).toBe(seq)
    }
    const other = await alice.stageText(elsewhere, "twice")
    expect(await refusal(alice.append({ ...other, idempotencyKey: staged.idempotencyKey }))).toBe(
      "IDEMPOTENCY_MISMATCH",
    )
  })
})

describe("over every protocol", () => {
  test.each(Object.keys(protocols))("%s tells who won", async (name) => {
    const transport = protocols[name]?.(server.url) ?? expect.fail("no such protocol")
    const calls = callsOver(transport, alice.credentials)
    const error = await errorOf(calls.conversations.appendMessage((await lost()).request))
    expect(await refusal(Promise.reject(error))).toBe("COMMIT_CONFLICT")
    expect(error?.findDetails(CommitConflictSchema)[0]).toMatchObject({ conversationId: elsewhere.id })
  })

  /** A commit of an epoch that has passed. */
  async function lost(): Promise<StagedAppend> {
    const late = await alice.stageUpdate(elsewhere)
    await alice.update(elsewhere)
    return late
  }
})

describe("what is too large", () => {
  const application = (length: number) => ({
    conversationId: room.id,
    idempotencyKey: randomBytes(16),
    expectedEpoch: room.epoch,
    payload: { case: "application" as const, value: new Uint8Array(length) },
  })

  test("is refused before it is read", async () => {
    expect(await refusal(alice.append(application(256 * 1_024 + 1)))).toBe("INVALID_FIELD")
    const startedMs = performance.now()
    expect(await refusal(alice.append(application(5 * 1_024 * 1_024)))).toBe("BODY_TOO_LARGE")
    expect(performance.now() - startedMs).toBeLessThan(2_000)
    const { message } = await engine.encrypt(room.state, randomBytes(3), randomBytes(33_001))
    const { request } = await alice.stageUpdate(room)
    const payload = { case: "application" as const, value: message }
    const error = await errorOf(alice.append({ ...request, idempotencyKey: randomBytes(16), payload }))
    expect(await refusal(Promise.reject(error))).toBe("LIMIT_EXCEEDED")
    expect(error?.findDetails(LimitExceededSchema)[0]).toMatchObject({ limit: "application_message_bytes" })
  })

  test.each<[keyof CommitPayload, number, string]>([
    ["commit", 1.5 * 1_024 * 1_024 + 1, "INVALID_FIELD"],
    ["groupInfo", 64 * 1_024 + 1, "INVALID_FIELD"],
    ["welcome", 1_024 * 1_024 + 1, "INVALID_FIELD"],
    ["tree", 4 * 1_024 * 1_024, "BODY_TOO_LARGE"],
  ])("a %s of %i bytes is refused", async (field, length, expected) => {
    expect(await refusal(adding(() => ({ [field]: new Uint8Array(length) })))).toBe(expected)
  })
})

test("another tenant's conversation is answered like one that is not there", async () => {
  const tenantId = newId("ten", Date.now(), randomBytes(10))
  const inTenant = await newDevice(overGrpc(), await server.person(crypto.randomUUID(), { tenantId }))
  await inTenant.register()
  const error = await errorOf(inTenant.calls.conversations.getConversation({ conversationId: room.id }))
  const none = `cnv_${"0".repeat(26)}`
  const missing = await errorOf(inTenant.calls.conversations.getConversation({ conversationId: none }))
  expect(await refusal(Promise.reject(error))).toBe("RESOURCE_UNRESOLVED")
  expect(error?.rawMessage).toBe(missing?.rawMessage)
  expect(error?.findDetails(ErrorInfoSchema)).toEqual(missing?.findDetails(ErrorInfoSchema))
  expect(await refusal(inTenant.create({ case: "direct", value: { peerUserId: alice.userId } }))).toBe(
    "RESOURCE_UNRESOLVED",
  )
  const claimId = newClaimId()
  const claim = { conversationId: room.id, userIds: [alice.userId], claimId }
  expect(await refusal(inTenant.calls.keyPackages.claimKeyPackages(claim))).toBe("RESOURCE_UNRESOLVED")
})

describe("a quarantined conversation", () => {
  test("takes nothing but what brings its members back", async () => {
    const group = await alice.createGroup([bob.userId])
    await bob.join()
    const { seq } = await alice.update(group)
    const report = {
      conversationId: group.id,
      epoch: 1n,
      seq,
      fault: ReportForkRequest_Fault.COMMIT_UNPROCESSABLE,
    }
    expect(await refusal(bob.calls.conversations.reportFork({ ...report, epoch: 2n }))).toBe("INVALID_FIELD")
    expect(await refusal(dave.calls.conversations.reportFork(report))).toBe("RESOURCE_UNRESOLVED")
    const { status } = await bob.calls.conversations.reportFork(report)
    expect(status).toBe(Conversation_Status.QUARANTINED)
    expect(await refusal(alice.send(group, "hello"))).toBe("CONVERSATION_QUARANTINED")
    expect(await refusal(alice.append(await alice.stageUpdate(group)))).toBe("CONVERSATION_QUARANTINED")
    const { directive } = await bob.calls.conversations.requestRejoin({ conversationId: group.id })
    const id = directive?.id ?? ""
    expect(await refusal(bob.calls.conversations.leaseDirective({ conversationId: group.id, directiveId: id }))).toBe(
      "NOT_MEMBER",
    )
    await alice.carryOut(group, id)
    await alice.carryOut(group, id)
    await bob.join()
    expect(bob.room(group.id).epoch).toBe(group.epoch)
    const { conversation } = await alice.calls.conversations.getConversation({ conversationId: group.id })
    expect(conversation?.status).toBe(Conversation_Status.ACTIVE)
    expect(await refusal(alice.send(group, "hello again"))).toBe("taken")
  })
})

describe("a directive", () => {
  test("is carried out by whoever leased it, and others wait for it after the grace", async () => {
    const group = await alice.createGroup([bob.userId, carol.userId])
    await bob.join()
    await carol.join()
    const conversationId = group.id
    const { directive } = await carol.calls.conversations.leaveConversation({ conversationId })
    const directiveId = directive?.id ?? expect.fail("no directive")
    const again = await carol.calls.conversations.leaveConversation({ conversationId })
    expect(again.directive?.id).toBe(directiveId)
    expect(await refusal(carol.send(carol.room(group.id), "still here"))).toBe("NOT_MEMBER")
    expect(await refusal(carol.calls.conversations.leaseDirective({ conversationId, directiveId }))).toBe("NOT_MEMBER")
    expect(await refusal(alice.authorizeCarryOut(group, directiveId))).toBe("DIRECTIVE_LEASED")
    await bob.calls.conversations.leaseDirective({ conversationId, directiveId })
    const error = await errorOf(alice.calls.conversations.leaseDirective({ conversationId, directiveId }))
    expect(await refusal(Promise.reject(error))).toBe("DIRECTIVE_LEASED")
    expect(Number(error?.metadata.get("retry-after"))).toBeGreaterThan(0)
    const proof = await bob.authorizeCarryOut(bob.room(group.id), directiveId)
    expect(await refusal(alice.send(group, "within the grace"))).toBe("taken")
    server.advance(31_000)
    await alice.calls.conversations.listMessages({ conversationId })
    const waiting = await errorOf(alice.send(group, "after the grace"))
    expect(await refusal(Promise.reject(waiting))).toBe("COMMIT_REQUIRED")
    expect(waiting?.findDetails(CommitRequiredSchema)[0]?.directive?.id).toBe(directiveId)
    const bobsGroup = await bob.sync(bob.room(group.id))
    await bob.commit(await bob.stageChange(bobsGroup, proof))
    await alice.sync(group)
    expect(await refusal(alice.send(group, "after the commit"))).toBe("taken")
    expect(await refusal(bob.calls.conversations.leaseDirective({ conversationId, directiveId }))).toBe("NOT_FOUND")
  })

  test("of a direct conversation is none: it is for good", async () => {
    const { conversation } = await alice.create({ case: "direct", value: { peerUserId: dave.userId } })
    const conversationId = conversation?.id ?? expect.fail("not created")
    const again = await dave.create({ case: "direct", value: { peerUserId: alice.userId } })
    expect(again.conversation?.id).toBe(conversationId)
    expect(await refusal(alice.calls.conversations.leaveConversation({ conversationId }))).toBe("NOT_MEMBER")
    const add = { case: "add" as const, value: { userIds: [bob.userId], claimId: newClaimId() } }
    expect(await refusal(alice.calls.conversations.authorizeMembership({ conversationId, change: add }))).toBe(
      "NOT_MEMBER",
    )
    expect(await refusal(alice.create({ case: "direct", value: { peerUserId: alice.userId } }))).toBe("INVALID_FIELD")
  })
})
