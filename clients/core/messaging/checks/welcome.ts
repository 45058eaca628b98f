import { equalBytes } from "@signet/canonical/bytes"
import { decode } from "@signet/canonical/canonical"
import { type CommitReceipt, verifyCommitReceipt } from "@signet/canonical/commit-receipt"
import { checkConversationBinding } from "@signet/canonical/conversation-binding"
import { parseEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { type MembershipProof, verifyMembershipProof } from "@signet/canonical/membership-proof"
import { parseSigned } from "@signet/canonical/signed"
import type { KeyPackageRecord } from "@signet/proto/client/v1/records"
import { ConversationKind as BindingKind, EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { MembershipOp, MembershipProofBodyV1Schema } from "@signet/proto/credential/v1/policy_proof"
import type { Welcome } from "@signet/proto/messaging/v1/records"
import { hex } from "../crypto/bytes.ts"
import { MessagingError } from "../errors.ts"
import { bytesOfId } from "../ids.ts"
import { frameOf, type Joined, stateTag } from "../mls.ts"
import { checkMembers } from "./commit.ts"
import { verifyMember } from "./credential.ts"
import { Forked } from "./verdict.ts"
import type { VerificationContext } from "./verification-context.ts"

/**
 * Checks that the joined group belongs to the welcome's conversation, that its commit has a valid receipt and proof,
 * and that every member has a valid credential.
 *
 * @param joined The group after the engine has processed the welcome.
 * @param commit The commit in the log at the position of the welcome.
 * @returns The receipt of that commit.
 * @throws CanonicalError, MlsError, Forked; MessagingError WELCOME_REFUSED
 */
export function checkWelcome(
  verification: VerificationContext,
  welcome: Welcome,
  joined: Joined,
  keyPackage: KeyPackageRecord,
  commit: Uint8Array,
): CommitReceipt {
  const { state, members } = joined
  checkGroup(verification, welcome, joined)
  const { receipt, proof } = verifyCommitOf(verification, welcome, joined, commit)
  const atSeconds = receipt.body.acceptedAtMs / 1_000n
  const addedHere = new Map(proof.body.added.map((subject) => [hex(subject.credentialHash), subject.keyPackageRef]))
  for (const member of members) {
    const isNew = addedHere.has(hex(hash("device-credential", member.credential)))
    verifyMember(verification, member, isNew ? atSeconds : "ever")
  }
  checkMembers(verification, members)
  checkOwnLeaf(welcome, joined, keyPackage, addedHere)
  checkAdder(proof, joined)
  if (!equalBytes(stateTag(state), receipt.body.resultingStateTag)) {
    throw new Forked("STATE_TAG_DIFFERS", { stateTag: stateTag(state) })
  }
  return receipt
}

function checkGroup(
  { conversationId, tenantId, appId, record }: VerificationContext,
  { mlsGroupId, epoch }: Welcome,
  { state, binding }: Joined,
): void {
  const id = bytesOfId("cnv", conversationId)
  const isGroup = equalBytes(state.groupId, mlsGroupId) && equalBytes(mlsGroupId.subarray(0, 16), id)
  if (!isGroup || state.epoch !== epoch || epoch === 0n) throw refused("a welcome of another group or epoch")
  const kind = record.isDirect ? BindingKind.DIRECT : BindingKind.GROUP
  checkConversationBinding(binding ?? new Uint8Array(), { tenantId, appId, conversationId: id, kind })
}

/** Verifies receipt and proof of the commit that added this device. */
function verifyCommitOf(
  verification: VerificationContext,
  welcome: Welcome,
  joined: Joined,
  commit: Uint8Array,
): { receipt: CommitReceipt; proof: MembershipProof } {
  const { mlsGroupId, epoch, commitSeq } = welcome
  const id = bytesOfId("cnv", verification.conversationId)
  const aad = parseEnvelopeAad(frameOf(commit).aad, { conversationId: id, kind: EnvelopeKind.COMMIT })
  const isSame = equalBytes(aad.membershipProof, welcome.proof) && equalBytes(joined.proof ?? id, welcome.proof)
  if (!isSame) throw refused("commit and welcome have different proofs")
  const receipt = verifyCommitReceipt(welcome.receipt, {
    issuerKeys: verification.issuerKeys,
    conversationId: id,
    mlsGroupId,
    epoch: epoch - 1n,
    seq: commitSeq,
    commitHash: hash("commit", commit),
    proofHash: hash("membership-proof", welcome.proof),
    previous: "unknown",
    nowMs: BigInt(verification.nowMs),
    verify: verification.verify,
  })
  const proof = verifyMembershipProof(welcome.proof, {
    ...verification,
    conversationId: id,
    mlsGroupId,
    baseEpoch: epoch - 1n,
    // This device never had that state. The members of that epoch have compared the tag.
    baseStateTag: bodyOf(welcome.proof).baseStateTag,
    atSeconds: receipt.body.acceptedAtMs / 1_000n,
  })
  if (proof.body.op === MembershipOp.RESET && !verification.record.isDirect)
    throw refused("only a direct conversation is reset")
  return { receipt, proof }
}

/** @param added The proof's KeyPackageRefs, by credential hash in hexadecimal. */
function checkOwnLeaf(
  { keyPackageRef }: Welcome,
  { state, members }: Joined,
  { identityKey }: KeyPackageRecord,
  added: ReadonlyMap<string, Uint8Array>,
): void {
  const own = members.find(({ leaf }) => leaf === state.ownLeaf)
  if (own === undefined || !equalBytes(own.signatureKey, identityKey))
    throw refused("the proof does not name this device")
  const ownRef = added.get(hex(hash("device-credential", own.credential)))
  const isNamed = ownRef !== undefined && equalBytes(ownRef, keyPackageRef)
  if (!isNamed) throw refused("the proof does not name this device")
}

function checkAdder({ body: { requester } }: MembershipProof, { adder }: Joined): void {
  const isAdder = requester.length === 0 || equalBytes(requester, hash("device-credential", adder.credential))
  if (!isAdder) throw refused("another member than the proof names added this device")
}

/** True for a welcome to the first epoch of a group that replaced another. The proof is verified before. */
export const isOfReset = ({ proof }: Pick<Welcome, "proof">): boolean => bodyOf(proof).op === MembershipOp.RESET

/** True for a welcome to the first epoch of a group, also of a new conversation. The proof is verified before. */
export const isOfFirstCommit = (welcome: Pick<Welcome, "proof">): boolean =>
  isOfReset(welcome) || bodyOf(welcome.proof).op === MembershipOp.CREATE

const bodyOf = (signedProof: Uint8Array) =>
  decode(MembershipProofBodyV1Schema, parseSigned(MembershipProofBodyV1Schema, signedProof).body)

function refused(message: string): MessagingError {
  return new MessagingError("WELCOME_REFUSED", message)
}
