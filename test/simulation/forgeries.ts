// Credentials and proofs that a service with its keys can issue, and should not.
import { create } from "@bufbuild/protobuf"
import { decode } from "@signet/canonical/canonical"
import { parseEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { parseSigned } from "@signet/canonical/signed"
import { idOf, newId, type PrincipalId } from "@signet/kernel/ids"
import { ClaimTicketBodyV1Schema } from "@signet/proto/credential/v1/claim_ticket"
import { CommitReceiptBodyV1Schema } from "@signet/proto/credential/v1/commit_receipt"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { MembershipOp, MembershipProofBodyV1Schema } from "@signet/proto/credential/v1/policy_proof"
import { type Authorization, ClaimedKeyPackageSchema, type Envelope } from "@signet/proto/messaging/v1/records"
import { frameOf } from "../../clients/core/messaging/mls.ts"
import { app, type SimulatedService } from "./service/service.ts"
import { leadsToOf, type Witness } from "./watched.ts"

/** The authority is in this process, and asks for none. */
const noEvidence = () => Promise.reject(new Error("no evidence is asked for"))

const place = { appId: app.id, tenantId: null }
const orNull = (bytes: Uint8Array) => (bytes.length === 0 ? null : bytes)

/** Adds a ghost's device to what was authorized, with a proof for it. @returns False where nobody is added, or no ghost is. */
export async function withGhost(
  { deps }: SimulatedService,
  authorization: Authorization,
  ghost: PrincipalId,
): Promise<boolean> {
  const { claim, proof } = authorization
  if (claim === undefined || claim.keyPackages.length === 0) return false
  const body = decode(MembershipProofBodyV1Schema, parseSigned(MembershipProofBodyV1Schema, proof).body)
  const conversationId = idOf("cnv", body.conversationId)
  const [device] = await deps.store.devices.activeOf([ghost], place)
  if (device === undefined) return false
  const nowMs = deps.clock.nowMs()
  const taken = await deps.store.keyPackages.claim(
    {
      id: newId("clm", nowMs, deps.random.bytes(10)),
      requester: { deviceId: idOf("dev", deps.random.bytes(16)), userId: ghost },
      conversationId,
      targets: { userIds: [ghost], deviceIds: [] },
      addable: [],
      place,
      requestHash: deps.random.bytes(32),
    },
    nowMs,
    noEvent(deps, nowMs),
  )
  const [one] = taken.is === "claimed" ? taken.claim.packages : []
  if (one === undefined) return false
  const added = { credentialHash: one.credentialHash, keyPackageRef: one.ref }
  const op = (["CREATE", "ADD", "REMOVE", "LEAVE", "REJOIN"] as const).find((name) => MembershipOp[name] === body.op)
  const forged = await deps.authority.issueProof(
    {
      place,
      conversationId,
      mlsGroupId: body.mlsGroupId,
      op: op ?? "ADD",
      baseEpoch: body.baseEpoch,
      baseStateTag: orNull(body.baseStateTag),
      added: [...body.added, added],
      removed: body.removed.map(({ credentialHash }) => credentialHash),
      requester: orNull(body.requester),
      decisionId: newId("dcn", nowMs, deps.random.bytes(10)),
      issuedAtMs: nowMs,
      policyVersion: 1n,
    },
    noEvidence,
  )
  const ticket = decode(ClaimTicketBodyV1Schema, parseSigned(ClaimTicketBodyV1Schema, claim.ticket).body)
  const packages = ticket.packages.map(({ deviceId, credentialHash, keyPackageRef }) => ({
    deviceId: idOf("dev", deviceId),
    credentialHash,
    keyPackageRef,
  }))
  claim.ticket = deps.signTicket({
    place,
    claimId: idOf("clm", ticket.claimId),
    conversationId,
    requesterDeviceId: idOf("dev", ticket.requesterDeviceId),
    packages: [...packages, { ...added, deviceId: one.deviceId }],
    issuedAtMs: Number(ticket.issuedAt) * 1_000,
  })
  authorization.proof = forged.bytes
  authorization.keyPackageRefs.push(one.ref)
  claim.keyPackages.push(
    create(ClaimedKeyPackageSchema, {
      deviceId: one.deviceId,
      userId: one.userId,
      keyPackage: one.bytes,
      keyPackageRef: one.ref,
    }),
  )
  return true
}

/** A receipt that says that another commit was taken in the place of one. */
export function otherReceipt(
  { deps, conversations }: SimulatedService,
  witness: Witness,
  told: Envelope,
  commit: Uint8Array,
): Uint8Array | undefined {
  const resultingStateTag = leadsToOf(witness, commit)
  const body = decode(CommitReceiptBodyV1Schema, parseSigned(CommitReceiptBodyV1Schema, told.receipt).body)
  const { conversation } = conversations.all.get(idOf("cnv", body.conversationId)) ?? {}
  if (resultingStateTag === undefined || conversation === undefined) return undefined
  const { membershipProof } = parseEnvelopeAad(frameOf(commit).aad, {
    conversationId: body.conversationId,
    kind: EnvelopeKind.COMMIT,
  })
  return deps.signReceipt({
    conversationId: conversation.id,
    mlsGroupId: conversation.mlsGroupId,
    epoch: told.epoch,
    seq: told.seq,
    commitHash: hash("commit", commit),
    proofHash: membershipProof.length === 0 ? null : hash("membership-proof", membershipProof),
    groupInfoHash: body.groupInfoHash,
    treeBlobHash: orNull(body.treeBlobHash),
    previousReceiptHash: orNull(body.previousReceiptHash),
    acceptedAtMs: Number(body.acceptedAtMs),
    resultingStateTag,
  }).bytes
}

const noEvent = ({ random }: SimulatedService["deps"], nowMs: number) => ({
  id: newId("aud", nowMs, random.bytes(10)),
  occurredAtMs: nowMs,
  kind: "key_package.claimed" as const,
  outcome: "SUCCESS" as const,
  reason: null,
  appId: null,
  tenantId: null,
  contextId: null,
  actorPrincipalId: null,
  subjectPrincipalId: null,
  subjectIdentityId: null,
  sessionId: null,
  target: null,
  request: { id: "", route: "", ipTruncated: null },
})
