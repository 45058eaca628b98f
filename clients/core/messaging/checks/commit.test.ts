// Commits with validly signed receipts and proofs and one wrong field: another conversation or epoch, a credential of
// another device, or a forbidden group. test/attack has the same attacks through a complete service.
import { create } from "@bufbuild/protobuf"
import { type CommitReceipt, issueCommitReceipt } from "@signet/canonical/commit-receipt"
import { issueDeviceCredential } from "@signet/canonical/device-credential"
import { verifyEd25519 } from "@signet/canonical/ed25519"
import { buildEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { verifyMembershipProof } from "@signet/canonical/membership-proof"
import { ConversationRecordSchema } from "@signet/proto/client/v1/records"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { MembershipOp } from "@signet/proto/credential/v1/policy_proof"
import { EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { expect, test } from "vitest"
import { issueMembershipProof } from "../../../../proto/canonical/membership-proof.ts"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { idOf } from "../ids.ts"
import { type CommitChange, type Member, stateTag } from "../mls.ts"
import type { LocalGroup } from "../state/stored-conversation.ts"
import { type OurSeat, ourSeat } from "../testing/our-seat.ts"
import { openRoom } from "../testing/seat.ts"
import {
  checkChange,
  checkMembers,
  checkReceiptSeen,
  checkResultingState,
  type VerifiedCommit,
  verifyCommit,
} from "./commit.ts"
import type { VerificationContext } from "./verification-context.ts"

const { alice, bob, appId, tenantId, now, day, id, credentialFields, credentialKey, leaf, otherLeaf } = world

const conversationId = idOf("cnv", world.conversationId)
const group = create(ConversationRecordSchema, { isDirect: false })
const direct = create(ConversationRecordSchema, {
  isDirect: true,
  directUserIds: [idOf("prn", alice), idOf("prn", bob)],
})
const verification: VerificationContext = {
  issuerKeys: world.issuerKeys,
  tenantId,
  appId,
  verify: verifyEd25519,
  conversationId,
  record: group,
  nowMs: Number(now) * 1_000,
}

type Fields = Partial<typeof credentialFields>
async function member(leafIndex: number, change: Fields = {}, by = credentialKey): Promise<Member> {
  const fields = { ...credentialFields, leafSignatureKey: otherLeaf.publicKey, ...change }
  return { leaf: leafIndex, credential: await issueDeviceCredential(fields, by), signatureKey: fields.leafSignatureKey }
}
const committer: Member = { leaf: 0, credential: world.credentialBytes, signatureKey: leaf.publicKey }
const bobs: Fields = { userId: bob, deviceId: id(0x68) }
const keyPackageReference = world.bytes32(0xb1)

/** A verified commit that adds these members, with its proof. Its receipt is not read. */
async function verifiedCommitFor(added: readonly Member[], op: MembershipOp): Promise<VerifiedCommit> {
  const isFirst = op === MembershipOp.CREATE
  const { baseStateTag: _, ...fields } = world.proofFields
  const subjects = added.map(({ credential }) => ({
    credentialHash: hash("device-credential", credential),
    keyPackageRef: keyPackageReference,
  }))
  const signed = await issueMembershipProof(
    {
      ...fields,
      op,
      ...(isFirst ? { baseEpoch: 0n } : { baseStateTag: world.proofFields.baseStateTag }),
      added: subjects,
    },
    world.proofKey,
  )
  const expected = isFirst ? { ...world.proofExpectation, baseEpoch: 0n } : world.proofExpectation
  const proof = verifyMembershipProof(signed, expected)
  return { receipt: {} as CommitReceipt, proof, atSeconds: now }
}

const nothing: CommitChange = {
  committer,
  aad: new Uint8Array(),
  added: [],
  removed: [],
  path: undefined,
  removesUs: false,
}

interface Into {
  readonly members?: readonly Member[]
  readonly on?: VerificationContext
  readonly op?: MembershipOp
}

async function add(newcomer: Member, { members = [committer], on = verification, op = MembershipOp.ADD }: Into = {}) {
  const change = { ...nothing, added: [{ ...newcomer, keyPackageReference }] }
  checkChange(on, await verifiedCommitFor([newcomer], op), members, change)
}

test("a new member with valid credential and proof is added", async () => {
  await add(await member(1, bobs))
  await add(await member(1, bobs), { on: { ...verification, record: direct } })
})

test.each<[string, () => Promise<Member>, string]>([
  ["has expired", () => member(1, { ...bobs, notBefore: now - 9n * day, notAfter: now }), "CRED_EXPIRED"],
  ["is not valid yet", () => member(1, { ...bobs, notBefore: now + 1n }), "CRED_NOT_YET_VALID"],
  ["is of another tenant", () => member(1, { ...bobs, tenantId: id(0x99) }), "CRED_WRONG_TENANT"],
  ["is of another app", () => member(1, { ...bobs, appId: id(0x99) }), "CRED_WRONG_APP"],
  [
    "is for another key",
    async () => ({ ...(await member(1, bobs)), signatureKey: leaf.publicKey }),
    "CRED_LEAF_KEY_MISMATCH",
  ],
  ["has an unknown signer", () => member(1, bobs, world.strangerKey), "CRED_UNKNOWN_ISSUER_KEY"],
  ["was signed with a key of another purpose", () => member(1, bobs, world.proofKey), "CRED_"],
  ["was altered", async () => bent(await member(1, bobs)), "CRED_"],
])("a newcomer whose credential %s is refused, with a proof that names it", async (_, make, code) => {
  await expect(make().then(add)).rejects.toMatchObject({ code: expect.stringContaining(code) })
})

const bent = ({ credential, ...rest }: Member): Member => {
  const changed = credential.slice()
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1
  return { ...rest, credential: changed }
}

test("a commit adds no member and renews no leaf beyond its proof", async () => {
  const newcomer = await member(1, bobs)
  const ghost = await verifiedCommitFor([await member(1, { ...bobs, serial: 9n })], MembershipOp.ADD)
  const adding = { ...nothing, added: [{ ...newcomer, keyPackageReference }] }
  const code = (reason: string) => expect.objectContaining({ code: reason })
  expect(() => checkChange(verification, ghost, [committer], adding)).toThrow(code("GHOST_MEMBER"))
  expect(() => checkChange(verification, { ...ghost, proof: undefined }, [committer], adding)).toThrow(
    code("PROOF_MISSING"),
  )
})

test("a member device is not added a second time, not even under another key", async () => {
  await expect(add(await member(1))).rejects.toMatchObject({ reason: "DEVICE_TWICE" })
  const others = [committer, await member(1, bobs)]
  const again = member(2, { ...bobs, leafSignatureKey: world.signerOf(0x21).publicKey })
  await expect(again.then((one) => add(one, { members: others }))).rejects.toMatchObject({ reason: "DEVICE_TWICE" })
})

test("a direct conversation admits no third user and no replacement", async () => {
  const on = { ...verification, record: direct }
  const third = await member(2, { userId: id(0x5a), deviceId: id(0x5b) })
  const reason = { reason: "THIRD_USER" }
  await expect(add(third, { on, members: [committer, await member(1, bobs)] })).rejects.toMatchObject(reason)
  await expect(add(third, { on })).rejects.toMatchObject(reason)
  // Before its users are known, it still admits only two.
  const unknown = { record: create(ConversationRecordSchema, { isDirect: true }) }
  checkMembers(unknown, [committer, await member(1, bobs)])
  const three = [committer, await member(1, bobs), third]
  expect(() => checkMembers(unknown, three)).toThrow(expect.objectContaining(reason))
  checkMembers({ record: group }, three)
})

test("a removal keeps the members that may stay", async () => {
  const [second, third] = [await member(1, bobs), await member(2, { userId: id(0x5a), deviceId: id(0x5b) })]
  const { baseStateTag, baseEpoch } = world.proofFields
  const signed = await issueMembershipProof(
    {
      ...world.proofFields,
      ...{ baseStateTag, baseEpoch, op: MembershipOp.REMOVE, added: [] },
      removed: [{ credentialHash: hash("device-credential", third.credential) }],
    },
    world.proofKey,
  )
  const proof = verifyMembershipProof(signed, world.proofExpectation)
  const verified: VerifiedCommit = { receipt: {} as CommitReceipt, proof, atSeconds: now }
  const on = { ...verification, record: direct }
  checkChange(on, verified, [committer, second, third], { ...nothing, removed: [third] })
})

test("a proof for the creation of a group is rejected in a group with members", async () => {
  const newcomer = await member(2, bobs)
  await add(newcomer, { op: MembershipOp.CREATE })
  const members = [committer, await member(1, { userId: bob, deviceId: id(0x69) })]
  await expect(add(newcomer, { op: MembershipOp.CREATE, members })).rejects.toMatchObject({ reason: "GROUP_NOT_NEW" })
})

test("a renewed leaf is of the same device and user, with a valid credential", async () => {
  const verified: VerifiedCommit = { receipt: {} as CommitReceipt, proof: undefined, atSeconds: now }
  const renew = (after: Member) =>
    checkChange(verification, verified, [committer], { ...nothing, path: { before: committer, after } })
  renew(await member(0, { serial: 4n }))
  const reason = { reason: "LEAF_OF_ANOTHER_DEVICE" }
  for (const other of [{ deviceId: id(0x68) }, { userId: bob }]) {
    const after = await member(0, other)
    expect(() => renew(after)).toThrow(expect.objectContaining(reason))
  }
  const ended = await member(0, { notBefore: now - 9n * day, notAfter: now })
  expect(() => renew(ended)).toThrow(expect.objectContaining({ code: "CRED_EXPIRED" }))
})

const suite = makeNodeSuite()
const previous = { hash: world.bytes32(0xc4), acceptedAtMs: now * 1_000n }

/** The changes of a test case to a valid commit. */
interface Elsewhere {
  /** Replaces the commit. */
  readonly message?: (committer: OurSeat, aad: Uint8Array) => Promise<Uint8Array>
  /** The epoch of the envelope, which the service sets. */
  readonly epoch?: bigint
  readonly seen?: Uint8Array
  readonly op?: MembershipOp
  readonly proof?: Partial<typeof proofFields>
  readonly isProofless?: boolean
  readonly receipt?: Partial<typeof world.receiptFields>
  readonly signer?: typeof world.receiptKey
  readonly isOwnReset?: boolean
}
const { proofHash } = world.receiptFields
const otherGroup = Uint8Array.of(...id(1), ...id(2))
const { op: _, ...proofFields } = world.proofFields

/** Makes a commit in epoch 1 with its receipt, each with the given faults, and verifies it. */
async function check({ message, epoch = 1n, seen = previous.hash, op = MembershipOp.ADD, ...faults }: Elsewhere) {
  const [a, b] = [await ourSeat(suite, "A"), await ourSeat(suite, "B")]
  const room = await openRoom(a, world.mlsGroupId)
  await room.add("A", [b])
  const fields = { ...proofFields, baseEpoch: 1n, baseStateTag: stateTag(b.current()), op, ...faults.proof }
  const proof = faults.isProofless ? new Uint8Array() : await issueMembershipProof(fields, world.proofKey)
  const aad = buildEnvelopeAad({
    conversationId: world.conversationId,
    kind: EnvelopeKind.COMMIT,
    membershipProof: proof,
    lastReceiptHash: seen,
  })
  const made = message ? await message(a, aad) : (await a.engine.update(a.current(), { aad })).commit
  const receipt = issueCommitReceipt(
    {
      ...world.receiptFields,
      epoch: 1n,
      commitHash: hash("commit", made),
      proofHash: faults.isProofless ? new Uint8Array() : hash("membership-proof", proof),
      ...faults.receipt,
    },
    faults.signer ?? world.receiptKey,
  )
  const local: LocalGroup = {
    group: b.current(),
    processedSeq: 8n,
    receipt: previous,
    leafRenewedAt: 0,
    identityKey: b.identity.signatureKey,
    treeHash: new Uint8Array(),
  }
  const envelope = create(EnvelopeSchema, { seq: 9n, epoch, message: made, receipt })
  return verifyCommit(verification, local, envelope, faults.isOwnReset)
}

test("a commit with a matching receipt and proof is valid", async () => {
  expect(await check({})).toMatchObject({ atSeconds: now, proof: { body: { op: MembershipOp.ADD } } })
  expect(await check({ isProofless: true })).toMatchObject({ proof: undefined })
})

/** An own reset continues neither our receipt nor our state, because this device was no member of the old group. */
const ownReset: Elsewhere = {
  ...{ isOwnReset: true, op: MembershipOp.RESET, seen: new Uint8Array() },
  ...{ proof: { baseStateTag: world.bytes32(5) }, receipt: { previousReceiptHash: world.bytes32(6) } },
}

test("an own reset is valid as a reset only", async () => {
  expect(await check(ownReset)).toMatchObject({ proof: { body: { op: MembershipOp.RESET } } })
  await expect(check({ ...ownReset, op: MembershipOp.ADD })).rejects.toMatchObject({ reason: "GROUP_NOT_NEW" })
})

test.each<[string, Elsewhere, string]>([
  ["a receipt of another key", { signer: world.listKey }, "RECEIPT_"],
  ["a receipt of another conversation", { receipt: { conversationId: id(0x7a) } }, "RECEIPT_WRONG_CONVERSATION"],
  ["a receipt of another group", { receipt: { mlsGroupId: otherGroup } }, "RECEIPT_WRONG_GROUP"],
  ["a receipt of another epoch", { receipt: { epoch: 2n } }, "RECEIPT_WRONG_EPOCH"],
  ["a receipt of another position", { receipt: { seq: 10n } }, "RECEIPT_WRONG_SEQ"],
  ["a receipt of another commit", { receipt: { commitHash: world.bytes32(1) } }, "RECEIPT_WRONG_COMMIT"],
  ["a receipt of another proof", { receipt: { proofHash: world.bytes32(1) } }, "RECEIPT_WRONG_PROOF"],
  ["a receipt for a proof, without a proof", { isProofless: true, receipt: { proofHash } }, "RECEIPT_WRONG_PROOF"],
  ["a receipt with another predecessor", { receipt: { previousReceiptHash: world.bytes32(6) } }, "RECEIPT_FORK"],
  ["a receipt from tomorrow", { receipt: { acceptedAtMs: (now + day) * 1_000n } }, "RECEIPT_FROM_FUTURE"],
  ["a proof of another state", { proof: { baseStateTag: world.bytes32(5) } }, "PROOF_FORK"],
  ["a proof of another epoch", { proof: { baseEpoch: 2n } }, "PROOF_FUTURE_EPOCH"],
  ["a proof of another group", { proof: { mlsGroupId: otherGroup } }, "PROOF_WRONG_GROUP"],
  ["a proof of another conversation", { proof: { conversationId: id(0x7a) } }, "PROOF_WRONG_CONVERSATION"],
  ["a proof of another tenant", { proof: { tenantId: id(0x23) } }, "PROOF_WRONG_TENANT"],
  ["a proof of another app", { proof: { appId: id(0x34) } }, "PROOF_WRONG_APP"],
  ["a proof that had expired", { proof: { issuedAt: now - day } }, "PROOF_EXPIRED"],
])("a commit with %s is refused", async (_, faults, code) => {
  await expect(check(faults)).rejects.toMatchObject({ code: expect.stringContaining(code) })
})

test.each<[string, Elsewhere, string]>([
  [
    "that is a message",
    { message: async ({ engine, current }, aad) => (await engine.encrypt(current(), new Uint8Array(), aad)).message },
    "ENVELOPE_MISPLACED",
  ],
  [
    "of another group",
    {
      async message(_, aad) {
        const stranger = await ourSeat(suite, "A")
        const room = await openRoom(stranger, world.bytes32(0x12))
        await room.update("A")
        return (await stranger.engine.update(stranger.current(), { aad })).commit
      },
    },
    "ENVELOPE_MISPLACED",
  ],
  [
    "of a later epoch in an envelope of this one",
    {
      async message({ engine, current }, aad) {
        const { next } = await engine.update(current(), { aad })
        return (await engine.update(next, { aad })).commit
      },
    },
    "EPOCH_MISPLACED",
  ],
  ["of this epoch in an envelope of another", { epoch: 2n }, "EPOCH_MISPLACED"],
  ["whose sender has seen another receipt", { seen: world.bytes32(0xc5) }, "RECEIPT_SEEN_DIFFERS"],
  ["with a proof that resets, inside the group", { op: MembershipOp.RESET }, "GROUP_NOT_NEW"],
])("a commit %s is refused, whatever its receipt says", async (_, elsewhere, reason) => {
  await expect(check(elsewhere)).rejects.toMatchObject({ name: "Forked", reason })
})

test("the resulting state is compared with the one that the receipt names", () => {
  const receipt = { body: { resultingStateTag: world.bytes32(5) } } as CommitReceipt
  const verified: VerifiedCommit = { receipt, proof: undefined, atSeconds: now }
  checkResultingState(verified, world.bytes32(5))
  const differs = expect.objectContaining({ reason: "STATE_TAG_DIFFERS", stateTag: world.bytes32(6) })
  expect(() => checkResultingState(verified, world.bytes32(6))).toThrow(differs)
})

test("before the first receipt, a sender must not have seen one", () => {
  checkReceiptSeen(new Uint8Array(), "first")
  const seen = () => checkReceiptSeen(previous.hash, "first")
  expect(seen).toThrow(expect.objectContaining({ reason: "RECEIPT_SEEN_DIFFERS" }))
})
