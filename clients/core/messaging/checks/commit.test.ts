// Commits with papers that are signed by whom they must be: in a place that is not theirs, with credentials that do not
// belong, and of groups that may not be. What a whole service makes of it is in test/attack.
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
import type { Seat } from "../state/held.ts"
import { type OurSeat, ourSeat } from "../testing/our-seat.ts"
import { openRoom } from "../testing/seat.ts"
import { checkChange, checkMembers, checkReceiptSeen, type VerifiedCommit, verifyCommit } from "./commit.ts"
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

/** Papers for exactly this addition. */
async function papersFor(added: readonly Member[], op: MembershipOp): Promise<VerifiedCommit> {
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
  checkChange(on, await papersFor([newcomer], op), members, change)
}

test("a newcomer with good papers is let in", async () => {
  await add(await member(1, bobs))
  await add(await member(1, bobs), { on: { ...verification, record: direct } })
})

test.each<[string, () => Promise<Member>, string]>([
  ["has ended", () => member(1, { ...bobs, notBefore: now - 9n * day, notAfter: now }), "CRED_EXPIRED"],
  ["does not hold yet", () => member(1, { ...bobs, notBefore: now + 1n }), "CRED_NOT_YET_VALID"],
  ["is of another tenant", () => member(1, { ...bobs, tenantId: id(0x99) }), "CRED_WRONG_TENANT"],
  ["is of another app", () => member(1, { ...bobs, appId: id(0x99) }), "CRED_WRONG_APP"],
  [
    "is for another key",
    async () => ({ ...(await member(1, bobs)), signatureKey: leaf.publicKey }),
    "CRED_LEAF_KEY_MISMATCH",
  ],
  ["nobody knows the signer of", () => member(1, bobs, world.strangerKey), "CRED_UNKNOWN_ISSUER_KEY"],
  ["was signed with a key for something else", () => member(1, bobs, world.proofKey), "CRED_"],
  ["was changed", async () => bent(await member(1, bobs)), "CRED_"],
])("a newcomer whose credential %s is refused, with a proof that names it", async (_, make, code) => {
  await expect(make().then(add)).rejects.toMatchObject({ code: expect.stringContaining(code) })
})

const bent = ({ credential, ...rest }: Member): Member => {
  const changed = credential.slice()
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1
  return { ...rest, credential: changed }
}

test("a device that is in is not let in once more, under another key either", async () => {
  await expect(add(await member(1))).rejects.toMatchObject({ reason: "DEVICE_TWICE" })
  const others = [committer, await member(1, bobs)]
  const again = member(2, { ...bobs, leafSignatureKey: world.signerOf(0x21).publicKey })
  await expect(again.then((one) => add(one, { members: others }))).rejects.toMatchObject({ reason: "DEVICE_TWICE" })
})

test("nobody is a third in a conversation of two, nor another one in their place", async () => {
  const on = { ...verification, record: direct }
  const third = await member(2, { userId: id(0x5a), deviceId: id(0x5b) })
  const reason = { reason: "THIRD_USER" }
  await expect(add(third, { on, members: [committer, await member(1, bobs)] })).rejects.toMatchObject(reason)
  await expect(add(third, { on })).rejects.toMatchObject(reason)
  // Where it is not known yet between whom: two, and no more.
  const unknown = { record: create(ConversationRecordSchema, { isDirect: true }) }
  checkMembers(unknown, [committer, await member(1, bobs)])
  const three = [committer, await member(1, bobs), third]
  expect(() => checkMembers(unknown, three)).toThrow(expect.objectContaining(reason))
})

test("what makes a new conversation does not pass in one that has members", async () => {
  const newcomer = await member(2, bobs)
  await add(newcomer, { op: MembershipOp.CREATE })
  const members = [committer, await member(1, { userId: bob, deviceId: id(0x69) })]
  await expect(add(newcomer, { op: MembershipOp.CREATE, members })).rejects.toMatchObject({ reason: "GROUP_NOT_NEW" })
})

test("new keys are of the same device of the same user, and under a good credential", async () => {
  const papers: VerifiedCommit = { receipt: {} as CommitReceipt, proof: undefined, atSeconds: now }
  const renew = (after: Member) =>
    checkChange(verification, papers, [committer], { ...nothing, path: { before: committer, after } })
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

/** What a case changes of a commit that is in its place. */
interface Elsewhere {
  /** In the place of the commit. */
  readonly message?: (committer: OurSeat, aad: Uint8Array) => Promise<Uint8Array>
  /** As the service says it, beside the commit. */
  readonly epoch?: bigint
  readonly seen?: Uint8Array
  readonly op?: MembershipOp
}

/** Papers of a commit of epoch 1, and a receipt for whatever it is. */
async function check({ message, epoch = 1n, seen = previous.hash, op = MembershipOp.ADD }: Elsewhere) {
  const [a, b] = [await ourSeat(suite, "A"), await ourSeat(suite, "B")]
  const room = await openRoom(a, world.mlsGroupId)
  await room.add("A", [b])
  const proof = await issueMembershipProof(
    { ...world.proofFields, baseEpoch: 1n, baseStateTag: stateTag(b.current()), op },
    world.proofKey,
  )
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
      proofHash: hash("membership-proof", proof),
    },
    world.receiptKey,
  )
  const seat: Seat = {
    group: b.current(),
    processedSeq: 8n,
    receipt: previous,
    leafRenewedAt: 0,
    identityKey: b.identity.signatureKey,
    treeHash: new Uint8Array(),
  }
  return verifyCommit(verification, seat, create(EnvelopeSchema, { seq: 9n, epoch, message: made, receipt }))
}

test("a commit in its place passes", async () => {
  expect(await check({})).toMatchObject({ atSeconds: now, proof: { body: { op: MembershipOp.ADD } } })
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
    "of a later epoch, that is said to be of this one",
    {
      async message({ engine, current }, aad) {
        const { next } = await engine.update(current(), { aad })
        return (await engine.update(next, { aad })).commit
      },
    },
    "EPOCH_MISPLACED",
  ],
  ["of this epoch, that is said to be of another", { epoch: 2n }, "EPOCH_MISPLACED"],
  ["whose sender has seen another receipt", { seen: world.bytes32(0xc5) }, "RECEIPT_SEEN_DIFFERS"],
  ["with a proof that resets, inside the group", { op: MembershipOp.RESET }, "GROUP_NOT_NEW"],
])("a commit %s is refused, whatever its receipt says", async (_, elsewhere, reason) => {
  await expect(check(elsewhere)).rejects.toMatchObject({ name: "Forked", reason })
})

test("before the first receipt nobody has seen one", () => {
  checkReceiptSeen(new Uint8Array(), "first")
  const seen = () => checkReceiptSeen(previous.hash, "first")
  expect(seen).toThrow(expect.objectContaining({ reason: "RECEIPT_SEEN_DIFFERS" }))
})
