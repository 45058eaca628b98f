// Validly signed resets of another device, each with one wrong field.
import { create } from "@bufbuild/protobuf"
import { issueCommitReceipt } from "@signet/canonical/commit-receipt"
import { verifyEd25519 } from "@signet/canonical/ed25519"
import { buildEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { ConversationRecordSchema } from "@signet/proto/client/v1/records"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { MembershipOp } from "@signet/proto/credential/v1/policy_proof"
import { EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { expect, test } from "vitest"
import { issueMembershipProof } from "../../../../proto/canonical/membership-proof.ts"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { idOf } from "../ids.ts"
import { stateTag } from "../mls.ts"
import { signedEngine as engine, signedLifetime as lifetime, signedIdentity } from "../testing/signed-group.ts"
import { isOfOtherGroup, verifyReset } from "./reset.ts"
import type { VerificationContext } from "./verification-context.ts"

const { appId, tenantId, conversationId, bytes32, id, now, day, mlsGroupId } = world
const verification: VerificationContext = {
  issuerKeys: world.issuerKeys,
  tenantId,
  appId,
  verify: verifyEd25519,
  conversationId: idOf("cnv", conversationId),
  record: create(ConversationRecordSchema, { isDirect: true }),
  nowMs: Number(now) * 1_000 + 400,
}
const previous = { hash: bytes32(0xc4), acceptedAtMs: now * 1_000n }
const [own, resetter] = [await signedIdentity(), await signedIdentity({ userId: world.bob, deviceId: id(0x68) })]
const group = await engine.createGroup({ groupId: mlsGroupId, identity: own, epoch: 1n, ...lifetime })
const nextGroup = Uint8Array.of(...conversationId, ...id(0x79))
const { op: _, ...proofFields } = world.proofFields

interface Faults {
  readonly groupId?: Uint8Array
  /** The epoch of the commit's frame, and the epoch of its envelope. */
  readonly framed?: bigint
  readonly told?: bigint
  readonly framedIn?: Uint8Array
  readonly isMessage?: boolean
  readonly seen?: Uint8Array
  readonly proof?: Partial<typeof proofFields> & { readonly op?: MembershipOp }
  readonly receipt?: Partial<typeof world.receiptFields>
  readonly signer?: typeof world.receiptKey
  readonly isDirect?: boolean
}

async function resetWith({ groupId = nextGroup, framed = 1n, told = 1n, ...faults }: Faults) {
  const proof = await issueMembershipProof(
    {
      ...proofFields,
      ...{ mlsGroupId: groupId, baseEpoch: 1n, baseStateTag: stateTag(group), op: MembershipOp.RESET },
      ...faults.proof,
    },
    world.proofKey,
  )
  const aad = buildEnvelopeAad({
    conversationId: faults.framedIn ?? conversationId,
    kind: EnvelopeKind.COMMIT,
    membershipProof: proof,
    lastReceiptHash: faults.seen ?? previous.hash,
  })
  const other = await engine.createGroup({ groupId, identity: resetter, epoch: framed, ...lifetime })
  const message = faults.isMessage
    ? (await engine.encrypt(other, new Uint8Array(), aad)).message
    : (await engine.update(other, { aad })).commit
  const receipt = issueCommitReceipt(
    {
      ...world.receiptFields,
      ...{ mlsGroupId: groupId, epoch: 1n, commitHash: hash("commit", message) },
      proofHash: hash("membership-proof", proof),
      ...faults.receipt,
    },
    faults.signer ?? world.receiptKey,
  )
  return create(EnvelopeSchema, { seq: 9n, epoch: told, message, receipt })
}

async function verify(faults: Faults) {
  const record = create(ConversationRecordSchema, { isDirect: faults.isDirect ?? true })
  return verifyReset({ ...verification, record }, { group, receipt: previous }, await resetWith(faults))
}

test("a reset of our state into a group of our conversation is valid", async () => {
  expect(await verify({})).toMatchObject({ mlsGroupId: nextGroup, receipt: { body: { seq: 9n } } })
  await verify({ seen: new Uint8Array() })
  expect(isOfOtherGroup(group, await resetWith({}))).toBe(true)
  expect(isOfOtherGroup(group, await resetWith({ groupId: mlsGroupId }))).toBe(false)
})

test.each<[string, Faults, string]>([
  ["of a conversation that is not direct", { isDirect: false }, "ENVELOPE_MISPLACED"],
  ["that is a message", { isMessage: true }, "ENVELOPE_MISPLACED"],
  ["of a later epoch in an envelope of ours", { framed: 2n }, "ENVELOPE_MISPLACED"],
  ["of our epoch in an envelope of a later one", { told: 2n }, "ENVELOPE_MISPLACED"],
  ["into a group of another conversation", { groupId: bytes32(0x7a) }, "ENVELOPE_MISPLACED"],
  [
    "into a group with a short id, which no receipt can name",
    { groupId: nextGroup.slice(0, 31), proof: { mlsGroupId: nextGroup }, receipt: { mlsGroupId: nextGroup } },
    "RECEIPT_WRONG_GROUP",
  ],
  ["that is framed in another conversation", { framedIn: id(0x7a) }, "AAD_"],
  ["whose sender has seen another receipt", { seen: bytes32(0xc5) }, "RECEIPT_SEEN_DIFFERS"],
  ["whose proof is of an addition", { proof: { op: MembershipOp.ADD } }, "ENVELOPE_MISPLACED"],
  ["of another state", { proof: { baseStateTag: bytes32(5) } }, "PROOF_FORK"],
  ["with a proof of a later epoch", { proof: { baseEpoch: 2n } }, "PROOF_FUTURE_EPOCH"],
  ["with a proof of another group", { proof: { mlsGroupId } }, "PROOF_WRONG_GROUP"],
  ["with a proof of another conversation", { proof: { conversationId: id(0x7a) } }, "PROOF_WRONG_CONVERSATION"],
  ["with a proof of another tenant", { proof: { tenantId: id(0x23) } }, "PROOF_WRONG_TENANT"],
  ["with a proof of another app", { proof: { appId: id(0x34) } }, "PROOF_WRONG_APP"],
  ["with a proof that had expired", { proof: { issuedAt: now - day } }, "PROOF_EXPIRED"],
  ["with a receipt of another key", { signer: world.listKey }, "RECEIPT_"],
  ["with a receipt of another conversation", { receipt: { conversationId: id(0x7a) } }, "RECEIPT_WRONG_CONVERSATION"],
  ["with a receipt of our group", { receipt: { mlsGroupId } }, "RECEIPT_WRONG_GROUP"],
  ["with a receipt of another epoch", { receipt: { epoch: 2n } }, "RECEIPT_WRONG_EPOCH"],
  ["with a receipt of another position", { receipt: { seq: 10n } }, "RECEIPT_WRONG_SEQ"],
  ["with a receipt of another commit", { receipt: { commitHash: bytes32(1) } }, "RECEIPT_WRONG_COMMIT"],
  ["with a receipt of another proof", { receipt: { proofHash: bytes32(1) } }, "RECEIPT_WRONG_PROOF"],
  ["with a receipt of another predecessor", { receipt: { previousReceiptHash: bytes32(6) } }, "RECEIPT_FORK"],
  ["with a receipt from tomorrow", { receipt: { acceptedAtMs: (now + day) * 1_000n } }, "RECEIPT_FROM_FUTURE"],
])("a reset %s is refused", async (_, faults, message) => {
  await expect(verify(faults)).rejects.toThrow(message)
})
