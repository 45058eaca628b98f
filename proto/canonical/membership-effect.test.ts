import { create } from "@bufbuild/protobuf"
import { MembershipProofBodyV1Schema } from "@signet/proto/credential/v1/policy_proof"
import { expect, test } from "vitest"
import type { CanonicalCode } from "./errors.ts"
import { type CommitEffect, checkEffect } from "./membership-effect.ts"
import { codeOf } from "./testing/code-of.ts"
import { bytes32, proofFields } from "./testing/world.ts"

const subject = (value: number) => ({ credentialHash: bytes32(0xa0 + value), keyPackageRef: bytes32(0xb0 + value) })
const leaf = (value: number) => bytes32(0xa0 + value)
const committer = proofFields.requester
const adding = create(MembershipProofBodyV1Schema, proofFields)
const removing = create(MembershipProofBodyV1Schema, {
  requester: committer,
  removed: [{ credentialHash: leaf(1) }, { credentialHash: leaf(2) }],
})
const directive = create(MembershipProofBodyV1Schema, { removed: [{ credentialHash: leaf(1) }] })
const nothing: CommitEffect = { added: [], removed: [], committer }

test.each<[string, typeof adding | undefined, Partial<CommitEffect>, CanonicalCode | "ok"]>([
  ["a path alone needs no proof", undefined, {}, "ok"],
  ["an added leaf needs one", undefined, { added: [subject(1)] }, "PROOF_MISSING"],
  ["a removed leaf needs one", undefined, { removed: [leaf(1)] }, "PROOF_MISSING"],
  ["a proof needs a change", adding, {}, "PROOF_UNEXPECTED"],
  ["the leaves that the proof names are added, in any order", adding, { added: [subject(2), subject(1)] }, "ok"],
  ["one more is a ghost", adding, { added: [subject(1), subject(2), subject(3)] }, "GHOST_MEMBER"],
  ["another in its place is a ghost", adding, { added: [subject(1), subject(3)] }, "GHOST_MEMBER"],
  ["the same one twice is a ghost", adding, { added: [subject(1), subject(2), subject(2)] }, "GHOST_MEMBER"],
  [
    "a leaf from another key package is a ghost",
    adding,
    { added: [subject(1), { ...subject(2), keyPackageRef: bytes32(0xb9) }] },
    "GHOST_MEMBER",
  ],
  [
    "a ghost in a commit that may only remove",
    removing,
    { added: [subject(1)], removed: [leaf(1), leaf(2)] },
    "GHOST_MEMBER",
  ],
  ["one fewer is not what was decided", adding, { added: [subject(1)] }, "PROOF_SUBJECTS_MISMATCH"],
  [
    "a removal that was not decided",
    adding,
    { added: [subject(1), subject(2)], removed: [leaf(5)] },
    "PROOF_SUBJECTS_MISMATCH",
  ],
  ["the leaves that the proof names are removed", removing, { removed: [leaf(2), leaf(1)] }, "ok"],
  ["one removed too few", removing, { removed: [leaf(1)] }, "PROOF_SUBJECTS_MISMATCH"],
  ["one removed too many", removing, { removed: [leaf(1), leaf(2), leaf(3)] }, "PROOF_SUBJECTS_MISMATCH"],
  ["another removed", removing, { removed: [leaf(1), leaf(3)] }, "PROOF_SUBJECTS_MISMATCH"],
  ["one removed twice", removing, { removed: [leaf(1), leaf(1)] }, "PROOF_SUBJECTS_MISMATCH"],
  ["one removed twice beside another", removing, { removed: [leaf(1), leaf(2), leaf(2)] }, "PROOF_SUBJECTS_MISMATCH"],
  [
    "anybody else may not commit it",
    adding,
    { added: [subject(1), subject(2)], committer: leaf(9) },
    "PROOF_WRONG_COMMITTER",
  ],
  ["anybody may carry out a directive", directive, { removed: [leaf(1)], committer: leaf(9) }, "ok"],
])("%s", (_, proof, change, code) => {
  expect(codeOf(() => checkEffect(proof, { ...nothing, ...change }))).toBe(code)
})
