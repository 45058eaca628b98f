import { expect, test } from "vitest"
import { verifyCommitReceipt } from "./commit-receipt.ts"
import { verifyDeviceCredential } from "./device-credential.ts"
import { verifyDeviceList } from "./device-list.ts"
import { verifyIssuerKeySet } from "./issuer-keys.ts"
import { verifyMembershipProof } from "./membership-proof.ts"
import { codeOf } from "./testing/code-of.ts"
import { nodeVerify } from "./testing/node-verify.ts"
import * as world from "./testing/world.ts"

// The two that need not be ours use OpenSSL's verifier, which is faster and shows that the port is one.
const verify = nodeVerify
const listExpectation = { ...world.listExpectation, verify }
const rootExpectation = { roots: [world.root.publicKey], issuerId: world.issuerId, atSeconds: world.now, verify }
const signed: readonly (readonly [name: string, bytes: Uint8Array, verify: (bytes: Uint8Array) => unknown])[] = [
  ["device credential", world.credentialBytes, (bytes) => verifyDeviceCredential(bytes, world.credentialExpectation)],
  ["membership proof", world.proofBytes, (bytes) => verifyMembershipProof(bytes, world.proofExpectation)],
  ["commit receipt", world.receiptBytes, (bytes) => verifyCommitReceipt(bytes, world.receiptExpectation)],
  ["device list", world.listBytes, (bytes) => verifyDeviceList(bytes, listExpectation)],
  ["issuer key set", world.keySetBytes, (bytes) => verifyIssuerKeySet(bytes, rootExpectation)],
]

test.each(signed)("every single-bit flip is refused: %s, its envelope, body and signature", (_, bytes, verify) => {
  expect(codeOf(() => verify(bytes))).toBe("ok")
  const accepted: number[] = []
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = bytes.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte))
    if (codeOf(() => verify(flipped)) === "ok") accepted.push(bit)
  }
  expect(accepted).toEqual([])
})
