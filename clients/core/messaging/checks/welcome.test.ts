// Welcomes with a validly signed receipt and proof, each with one wrong field.
import { create } from "@bufbuild/protobuf"
import { issueCommitReceipt } from "@signet/canonical/commit-receipt"
import { buildConversationBinding, type ConversationIdentity } from "@signet/canonical/conversation-binding"
import { verifyEd25519 } from "@signet/canonical/ed25519"
import { buildEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { ConversationRecordSchema, KeyPackageRecordSchema } from "@signet/proto/client/v1/records"
import { ConversationKind as BindingKind, EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { MembershipOp } from "@signet/proto/credential/v1/policy_proof"
import { EnvelopeSchema, type Welcome, WelcomeSchema } from "@signet/proto/messaging/v1/records"
import { expect, test } from "vitest"
import { issueMembershipProof } from "../../../../proto/canonical/membership-proof.ts"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { idOf } from "../ids.ts"
import { type Joined, stateTag } from "../mls.ts"
import { signedEngine as engine, signedLifetime as lifetime, signedIdentity } from "../testing/signed-group.ts"
import { verifyEvidence } from "./evidence.ts"
import { checkGroupInfo } from "./group-info.ts"
import type { VerificationContext } from "./verification-context.ts"
import { checkWelcome, isOfReset } from "./welcome.ts"

const { bob, appId, tenantId, bytes32, id, now, day, mlsGroupId } = world
const conversation = { tenantId, appId, conversationId: world.conversationId, kind: BindingKind.GROUP }
const binding = buildConversationBinding(conversation)

const bobs = { userId: bob, deviceId: id(0x68) }

const [adder, joiner] = [await signedIdentity(), await signedIdentity(bobs)]
const before = await engine.createGroup({ groupId: mlsGroupId, identity: adder, binding, ...lifetime })
const keyPackage = await engine.newKeyPackage(joiner, lifetime)
const staged = await engine.add(before, [keyPackage.keyPackage], { aad: new Uint8Array() })
const base = await engine.join({
  welcome: staged.welcome ?? expect.fail("no welcome"),
  tree: staged.tree(),
  keyPackage: keyPackage.keyPackage,
  secret: keyPackage.secret,
  identityKey: joiner.key,
})
const subject = { credentialHash: hash("device-credential", joiner.credential), keyPackageRef: keyPackage.reference }
const { baseStateTag: _, ...proofFields } = world.proofFields
const verification: VerificationContext = {
  issuerKeys: world.issuerKeys,
  tenantId,
  appId,
  verify: verifyEd25519,
  conversationId: idOf("cnv", world.conversationId),
  record: create(ConversationRecordSchema, { isDirect: false }),
  nowMs: Number(now) * 1_000 + 400,
}
const direct = create(ConversationRecordSchema, { isDirect: true })

interface Faults {
  readonly proof?: Partial<Omit<typeof world.proofFields, "op">> & { readonly op?: MembershipOp }
  readonly receipt?: Partial<typeof world.receiptFields>
  /** The conversation that the commit's frame names. */
  readonly framedIn?: Uint8Array
  /** The proof in the commit's frame, if it differs from the welcome's. */
  readonly framedProof?: Uint8Array
  readonly welcome?: Partial<Pick<Welcome, "mlsGroupId" | "epoch" | "proof" | "keyPackageRef">>
  readonly joined?: Partial<Joined>
  readonly on?: Partial<VerificationContext>
  readonly identityKey?: Uint8Array
  readonly signer?: typeof world.receiptKey
}

async function signedWith({ proof = {}, receipt = {}, framedIn = world.conversationId, framedProof, signer }: Faults) {
  const base0 = { ...proofFields, baseEpoch: 0n, baseStateTag: stateTag(before), added: [subject] }
  const requester = hash("device-credential", adder.credential)
  const signed = await issueMembershipProof({ ...base0, requester, ...proof }, world.proofKey)
  const aad = buildEnvelopeAad({
    conversationId: framedIn,
    kind: EnvelopeKind.COMMIT,
    membershipProof: framedProof ?? signed,
    lastReceiptHash: new Uint8Array(),
  })
  const { commit } = await engine.update(before, { aad })
  const fields = {
    ...world.receiptFields,
    epoch: 0n,
    commitHash: hash("commit", commit),
    proofHash: hash("membership-proof", signed),
    resultingStateTag: stateTag(base.state),
    groupInfoHash: hash("group-info", staged.groupInfo),
    ...receipt,
  }
  return { signed, commit, receipt: issueCommitReceipt(fields, signer ?? world.receiptKey) }
}

async function check(faults: Faults) {
  const { signed, commit, receipt } = await signedWith(faults)
  const welcome = create(WelcomeSchema, {
    mlsGroupId,
    epoch: 1n,
    commitSeq: 9n,
    proof: signed,
    receipt,
    keyPackageRef: keyPackage.reference,
    ...faults.welcome,
  })
  const joined = { ...base, proof: signed, ...faults.joined }
  const own = create(KeyPackageRecordSchema, { identityKey: faults.identityKey ?? joiner.signatureKey })
  return checkWelcome({ ...verification, ...faults.on }, welcome, joined, own, commit)
}

test("a welcome with matching receipt and proof is accepted", async () => {
  const receipt = await check({})
  expect(receipt.body).toMatchObject({ seq: 9n, epoch: 0n })
  // A member that was added earlier may have a credential that has expired since.
  const old = await signedIdentity({ notBefore: now - 9n * day, notAfter: now - day, deviceId: id(0x69) })
  const earlier = { leaf: 2, credential: old.credential, signatureKey: old.signatureKey }
  await check({ joined: { members: [...base.members, earlier] } })
  // A proof without a requester leaves the committer open.
  const stranger = { ...base.adder, credential: joiner.credential }
  const open = { op: MembershipOp.REJOIN, requester: new Uint8Array() }
  await check({ proof: open, joined: { adder: stranger } })
})

const otherGroup = Uint8Array.of(...world.conversationId, ...id(0x79))
const otherConversation = idOf("cnv", id(0x7a))
const bound = (change: Partial<ConversationIdentity>) => buildConversationBinding({ ...conversation, ...change })
const [newcomer, ghost] = [
  base.members[1] ?? expect.fail("no B"),
  await signedIdentity({ deviceId: id(0x6a) }, world.strangerKey),
]
const expired = await signedIdentity({ ...bobs, notBefore: now - 9n * day, notAfter: now })
const asNewcomer = { ...newcomer, credential: expired.credential, signatureKey: expired.signatureKey }
const members = (...added: Joined["members"]) => ({ joined: { members: [...base.members, ...added] } })

test.each<[string, Faults, string]>([
  ["that names another group", { welcome: { mlsGroupId: otherGroup } }, "another group or epoch"],
  ["to a group of another conversation", { on: { conversationId: otherConversation } }, "another group or epoch"],
  ["that names another epoch", { welcome: { epoch: 2n } }, "another group or epoch"],
  [
    "to the first epoch of a group, which adds nobody",
    { welcome: { epoch: 0n }, joined: { state: before } },
    "another group or epoch",
  ],
  ["to a group without a binding", { joined: { binding: undefined } }, "BINDING_"],
  ["to a group of another app", { joined: { binding: bound({ appId: id(0x34) }) } }, "BINDING_WRONG_APP"],
  ["to a group of another tenant", { joined: { binding: bound({ tenantId: id(0x23) }) } }, "BINDING_WRONG_TENANT"],
  ["to a group as a direct conversation", { on: { record: direct } }, "BINDING_WRONG_KIND"],
  [
    "to a direct conversation as a group",
    { joined: { binding: bound({ kind: BindingKind.DIRECT }) } },
    "BINDING_WRONG_KIND",
  ],
  ["with another proof than its commit", { welcome: { proof: world.proofBytes } }, "different proofs"],
  ["whose commit carries another proof", { framedProof: world.proofBytes }, "different proofs"],
  ["with another proof than its GroupInfo", { joined: { proof: world.proofBytes } }, "different proofs"],
  ["whose GroupInfo has no proof", { joined: { proof: undefined } }, "different proofs"],
  ["whose commit is framed in another conversation", { framedIn: id(0x7a) }, "AAD_"],
  ["with a receipt of another key", { signer: world.listKey }, "RECEIPT_"],
  ["with a receipt of another conversation", { receipt: { conversationId: id(0x7a) } }, "RECEIPT_WRONG_CONVERSATION"],
  ["with a receipt of another group", { receipt: { mlsGroupId: otherGroup } }, "RECEIPT_WRONG_GROUP"],
  ["with a receipt of another epoch", { receipt: { epoch: 1n } }, "RECEIPT_WRONG_EPOCH"],
  ["with a receipt of another position", { receipt: { seq: 10n } }, "RECEIPT_WRONG_SEQ"],
  ["with a receipt of another commit", { receipt: { commitHash: bytes32(1) } }, "RECEIPT_WRONG_COMMIT"],
  ["with a receipt of another proof", { receipt: { proofHash: bytes32(1) } }, "RECEIPT_WRONG_PROOF"],
  ["with a receipt from tomorrow", { on: { nowMs: Number(now - day) * 1_000 } }, "RECEIPT_FROM_FUTURE"],
  ["with a proof of another group", { proof: { mlsGroupId: otherGroup } }, "PROOF_WRONG_GROUP"],
  ["with a proof of another epoch", { proof: { baseEpoch: 1n } }, "PROOF_FUTURE_EPOCH"],
  ["with a proof of another app", { proof: { appId: id(0x34) } }, "PROOF_WRONG_APP"],
  ["with a proof that had expired", { proof: { issuedAt: now - day } }, "PROOF_EXPIRED"],
  ["to a member without a valid credential", members({ leaf: 2, ...ghost }), "CRED_UNKNOWN_ISSUER_KEY"],
  [
    "to a newcomer whose credential had expired",
    {
      proof: { added: [subject, { ...subject, credentialHash: hash("device-credential", expired.credential) }] },
      joined: { members: [...base.members.slice(0, 1), asNewcomer] },
    },
    "CRED_EXPIRED",
  ],
  ["to two leaves of one device", members({ ...newcomer, leaf: 2 }), "DEVICE_TWICE"],
  ["without an own leaf", { joined: { members: base.members.slice(0, 1) } }, "does not name this device"],
  ["to a leaf of another key", { identityKey: adder.signatureKey }, "does not name this device"],
  [
    "whose proof adds another device",
    { proof: { added: [{ ...subject, credentialHash: bytes32(0xa1) }] } },
    "does not name this device",
  ],
  [
    "whose proof adds another key package",
    { proof: { added: [{ ...subject, keyPackageRef: bytes32(0xb1) }] } },
    "does not name this device",
  ],
  ["for another key package", { welcome: { keyPackageRef: bytes32(0xb1) } }, "does not name this device"],
  ["from a device that its proof does not name", { proof: { requester: bytes32(0xa1) } }, "another member"],
  ["to another state than its receipt names", { receipt: { resultingStateTag: bytes32(1) } }, "STATE_TAG_DIFFERS"],
])("a welcome %s is refused", async (_, faults, message) => {
  await expect(check(faults)).rejects.toThrow(message)
})

test("only a direct conversation is reset", async () => {
  // A reset keeps the epochs of the group before it.
  const first = await engine.createGroup({ groupId: mlsGroupId, identity: adder, binding, epoch: 1n, ...lifetime })
  const added = await engine.add(first, [keyPackage.keyPackage], { aad: new Uint8Array() })
  const { welcome = expect.fail("no welcome") } = added
  const again = await engine.join({ ...keyPackage, welcome, tree: added.tree(), identityKey: joiner.key })
  const { state, members: all } = again
  const faults: Faults = {
    proof: { op: MembershipOp.RESET, baseEpoch: 1n, baseStateTag: bytes32(5) },
    receipt: { epoch: 1n, resultingStateTag: stateTag(state) },
    welcome: { epoch: 2n },
    joined: { state, members: all, binding: again.binding },
  }
  await expect(check(faults)).rejects.toThrow("only a direct conversation is reset")
  const proofs = [faults, {}].map(async (one: Faults) => isOfReset({ proof: (await signedWith(one)).signed }))
  expect(await Promise.all(proofs)).toEqual([true, false])
  const isDirect = { binding: bound({ kind: BindingKind.DIRECT }) }
  await check({ ...faults, on: { record: direct }, joined: { ...faults.joined, ...isDirect } })
})

test("the service's GroupInfo must be the one that the receipt names, and of the joined state", async () => {
  const receipt = await check({})
  const shown = { epoch: 1n, groupInfo: staged.groupInfo }
  checkGroupInfo(shown, { epoch: 1n }, base, receipt)
  const other = await engine.update(before, { aad: new Uint8Array() })
  const refused = expect.objectContaining({ reason: "GROUP_INFO_DIFFERS" })
  // The receipt names another GroupInfo, and the state differs.
  const changed = { ...shown, groupInfo: other.groupInfo }
  expect(() => checkGroupInfo(changed, { epoch: 1n }, base, receipt)).toThrow(refused)
  // The receipt names it, but the state differs.
  const named = await check({ receipt: { groupInfoHash: hash("group-info", other.groupInfo) } })
  expect(() => checkGroupInfo(changed, { epoch: 1n }, base, named)).toThrow(refused)
  // Of this state, but the receipt names another GroupInfo.
  expect(() => checkGroupInfo(shown, { epoch: 1n }, base, named)).toThrow(refused)
  // A GroupInfo of a later epoch was compared by its committer; an earlier one is refused.
  checkGroupInfo({ ...changed, epoch: 2n }, { epoch: 1n }, base, receipt)
  expect(() => checkGroupInfo({ ...changed, epoch: 0n }, { epoch: 1n }, base, receipt)).toThrow(refused)
})

test.each<[string, Faults, string]>([
  ["of another key", { signer: world.listKey }, "RECEIPT_"],
  ["of another conversation", { receipt: { conversationId: id(0x7a) } }, "RECEIPT_WRONG_CONVERSATION"],
  ["of another group", { receipt: { mlsGroupId: otherGroup } }, "RECEIPT_WRONG_GROUP"],
  ["of another epoch", { receipt: { epoch: 1n } }, "RECEIPT_WRONG_EPOCH"],
  ["of another position", { receipt: { seq: 10n } }, "RECEIPT_WRONG_SEQ"],
  ["of another commit", { receipt: { commitHash: bytes32(1) } }, "RECEIPT_WRONG_COMMIT"],
  ["of another proof", { receipt: { proofHash: bytes32(1) } }, "RECEIPT_WRONG_PROOF"],
  ["of a commit that is framed in another conversation", { framedIn: id(0x7a) }, "AAD_"],
  ["from tomorrow", { receipt: { acceptedAtMs: (now + day) * 1_000n } }, "RECEIPT_FROM_FUTURE"],
])("a receipt %s is no evidence of an equivocation", async (_, faults, code) => {
  const evidence = async (changes: Faults) => {
    const { commit, receipt } = await signedWith(changes)
    const issuer = { keys: () => world.issuerKeys, refresh: async () => world.issuerKeys }
    const clock = { nowMs: () => verification.nowMs, after: () => () => undefined }
    const logged = create(EnvelopeSchema, { seq: 9n, epoch: 0n, message: commit, receipt })
    verifyEvidence({ issuer, clock, verify: verifyEd25519 }, verification.conversationId, base.state, logged)
  }
  await evidence({})
  // A commit that changes no members carries no proof.
  await evidence({ framedProof: new Uint8Array(), receipt: { proofHash: new Uint8Array() } })
  await expect(evidence(faults)).rejects.toThrow(code)
})
