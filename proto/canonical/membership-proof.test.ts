import { MembershipOp } from "@signet/proto/credential/v1/policy_proof"
import { expect, test } from "vitest"
import { hash } from "./hash.ts"
import { issueMembershipProof, verifyMembershipProof } from "./membership-proof.ts"
import { codeOfAsync } from "./testing/code-of.ts"
import * as world from "./testing/world.ts"

const { proofBytes, proofFields, proofKey, proofExpectation } = world

test("a proof is valid for 300 seconds unless a shorter lifetime is given", async () => {
  expect(verifyMembershipProof(proofBytes, proofExpectation).body.expiresAt).toBe(proofFields.issuedAt + 300n)
  const short = await issueMembershipProof({ ...proofFields, expiresAt: proofFields.issuedAt + 20n }, proofKey)
  expect(verifyMembershipProof(short, proofExpectation).body.expiresAt).toBe(proofFields.issuedAt + 20n)
  const long = { ...proofFields, expiresAt: proofFields.issuedAt + 301n }
  expect(await codeOfAsync(() => issueMembershipProof(long, proofKey))).toBe("PROOF_MALFORMED")
})

test("a proof's hash is that of its signed bytes", () => {
  expect(verifyMembershipProof(proofBytes, proofExpectation).hash).toEqual(hash("membership-proof", proofBytes))
})

test("the order of subjects does not change the proof", async () => {
  const added = proofFields.added.toReversed()
  expect(await issueMembershipProof({ ...proofFields, added }, proofKey)).toEqual(proofBytes)
})

test("a proof that clients would refuse is not issued", async () => {
  expect(await codeOfAsync(() => issueMembershipProof({ ...proofFields, added: [] }, proofKey))).toBe("PROOF_MALFORMED")
})

test("a reset names its requester and replaces an epoch", async () => {
  const reset = { ...proofFields, op: MembershipOp.RESET }
  expect(await codeOfAsync(() => issueMembershipProof(reset, proofKey))).toBe("ok")
  expect(await codeOfAsync(() => issueMembershipProof({ ...reset, baseEpoch: 1n }, proofKey))).toBe("ok")
  for (const change of [{ baseEpoch: 0n }, { requester: new Uint8Array(0) }]) {
    expect(await codeOfAsync(() => issueMembershipProof({ ...reset, ...change }, proofKey))).toBe("PROOF_MALFORMED")
  }
})
