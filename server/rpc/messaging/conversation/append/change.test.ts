// The changes that a commit's proof permits, and the devices of its leaves.
import { randomBytes } from "node:crypto"
import { buildEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { nodeVerify } from "@signet/canonical/node/ed25519"
import { Refused } from "@signet/kernel/errors"
import { idBytes, idOf } from "@signet/kernel/ids"
import type { ProofFacts } from "@signet/kernel/messaging/authority"
import type { MembershipOp } from "@signet/kernel/messaging/membership"
import { bytes, conversation, messagingDevice, nowMs } from "@signet/kernel/messaging/testing/records"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { beforeAll, expect, test } from "vitest"
import { type Commit, parseCommit } from "../../../../framing/commit.ts"
import { type GroupContext, parseGroupInfo } from "../../../../framing/group-info.ts"
import { keyPackageRef } from "../../../../framing/key-package.ts"
import type { LeafNode } from "../../../../framing/leaf-node.ts"
import { recordSmall } from "../../../../framing/testing/recording.ts"
import { createAuthority } from "../../../../keys/authority.ts"
import { issuer, newTestIssuer } from "../../testing/test-issuer.ts"
import { judgeChange } from "./change.ts"
import { deviceOfLeaf } from "./credential.ts"
import { openFrame } from "./frame.ts"
import type { Judge } from "./judge.ts"
import { credentialHashOf } from "./tree.ts"

let judge: Judge
let authority: ReturnType<typeof createAuthority>
/** A commit that adds three leaves with credentials that nobody issued. */
let commit: Commit
let group: GroupContext
beforeAll(async () => {
  const keys = await newTestIssuer({ bytes: (length) => new Uint8Array(randomBytes(length)) }, nowMs)
  authority = createAuthority({ signer: keys.signer, keySet: keys.keySet }, issuer)
  judge = {
    conversation,
    begins: null,
    device: messagingDevice(10),
    issuerKeys: keys.issuerKeys,
    verify: nodeVerify,
    nowMs,
    tree: undefined,
  }
  const [first] = (await recordSmall()).commits
  if (first === undefined) return expect.fail("no commit")
  commit = parseCommit(first.staged.commit)
  group = parseGroupInfo(first.staged.groupInfo).context
})

/** The reason of a refusal, with its code. */
function refusal(check: () => unknown): string {
  try {
    check()
    return "taken"
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return [error.reason, error.metadata?.code].filter((part) => part !== undefined).join(" ")
  }
}

const proofOf = async (op: MembershipOp, change: Partial<ProofFacts> = {}): Promise<Uint8Array> => {
  const facts = {
    place: conversation,
    conversationId: conversation.id,
    mlsGroupId: conversation.mlsGroupId,
    baseEpoch: conversation.epoch,
    baseStateTag: conversation.state?.stateTag ?? null,
    op,
    added: commit.adds.map((one) => ({
      credentialHash: credentialHashOf(one.leafNode),
      keyPackageRef: keyPackageRef(one),
    })),
    removed: [],
    requester: bytes(10),
    decisionId: idOf("dcn", bytes(1, 16)),
    issuedAtMs: nowMs,
    policyVersion: 1n,
    ...change,
  }
  return (await authority.issueProof(facts, () => expect.fail("it asks for nothing"))).bytes
}

// The proof is checked before the credentials, so a refused credential means an accepted proof.
test.each<[string, Judge["begins"], MembershipOp, string]>([
  ["an addition by a proof of one", null, "ADD", "CREDENTIAL_REFUSED CRED_MALFORMED"],
  ["a reset by a proof of one", "reset", "RESET", "CREDENTIAL_REFUSED CRED_MALFORMED"],
  ["the first commit by the proof of an addition", "create", "ADD", "PROOF_REFUSED PROOF_MISSING"],
  ["a reset by the proof of an addition", "reset", "ADD", "PROOF_REFUSED PROOF_MISSING"],
  ["an addition by the proof of a reset", null, "RESET", "PROOF_REFUSED PROOF_MISSING"],
])("%s: %s %s", async (_, begins, op, expected) => {
  const proof = await proofOf(op)
  expect(refusal(() => judgeChange({ ...judge, begins }, commit, bytes(10), proof, group))).toBe(expected)
})

test("only a proof that names no requester is directed", async () => {
  const removing: Commit = { ...commit, adds: [], removes: [1], path: undefined }
  const isDirected = async (requester: Uint8Array | null) => {
    const proof = await proofOf("REMOVE", { added: [], removed: [bytes(20)], requester })
    return judgeChange(judge, removing, bytes(10), proof, group).membership?.isDirected
  }
  expect([await isDirected(bytes(10)), await isDirected(null)]).toEqual([false, true])
})

test("a leaf belongs to its credential's device and supports the group's extensions", async () => {
  const [added] = commit.adds
  if (added === undefined) return expect.fail("nobody is added")
  const { device } = judge
  const facts = {
    ...{ place: conversation, userId: device.userId, deviceId: device.id, leafKey: added.leafNode.signatureKey },
    ...{ serial: 1n, notBeforeMs: nowMs - 1_000, notAfterMs: nowMs + 3_600_000, flags: 0 },
  }
  const credential = await authority.issueCredential(facts, bytes(1))
  const leaf: LeafNode = { ...added.leafNode, identity: credential.bytes }
  const whose = { deviceId: device.id, userId: device.userId, credentialHash: credential.hash }
  expect(deviceOfLeaf(judge, leaf, group)).toEqual(whose)
  const unable = { ...leaf, capabilities: { ...leaf.capabilities, extensions: [] } }
  expect(refusal(() => deviceOfLeaf(judge, unable, group))).toBe("MLS_MALFORMED")
  const otherKey = { ...leaf, signatureKey: bytes(1) }
  expect(refusal(() => deviceOfLeaf(judge, otherKey, group))).toMatch(/^CREDENTIAL_REFUSED/)
})

test("a message of the newest epoch names its newest receipt or none; another epoch's is refused by its epoch", () => {
  const open = (receipt: Uint8Array | undefined, epoch: bigint) => {
    const kind = EnvelopeKind.APPLICATION
    const aad = buildEnvelopeAad({ conversationId: idBytes(conversation.id), kind, lastReceiptHash: receipt })
    return refusal(() => openFrame(conversation, { groupId: conversation.mlsGroupId, epoch, aad }, "APPLICATION"))
  }
  expect(open(conversation.state?.receiptHash, conversation.epoch)).toBe("taken")
  expect(open(undefined, conversation.epoch)).toBe("taken")
  expect(open(hash("commit-receipt", bytes(1)), conversation.epoch)).toBe("ENVELOPE_INVALID AAD_WRONG_RECEIPT")
  expect(open(hash("commit-receipt", bytes(1)), conversation.epoch - 1n)).toBe("taken")
})
