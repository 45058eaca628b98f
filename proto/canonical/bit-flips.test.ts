import { expect, test } from "vitest"
import { effort } from "../../test/support/effort.ts"
import { verifyCommitReceipt } from "./commit-receipt.ts"
import { verifyDeviceCredential } from "./device-credential.ts"
import { verifyDeviceList } from "./device-list.ts"
import type { Verify } from "./ed25519.ts"
import { verifyIssuerKeySet } from "./issuer-keys.ts"
import { verifyMembershipProof } from "./membership-proof.ts"
import { codeOf } from "./testing/code-of.ts"
import { nodeVerify } from "./testing/node-verify.ts"
import * as world from "./testing/world.ts"

const roots = { roots: [world.root.publicKey], issuerId: world.issuerId, atSeconds: world.now }

type Open = (bytes: Uint8Array, verify?: Verify) => unknown
const signed: readonly (readonly [name: string, bytes: Uint8Array, open: Open])[] = [
  [
    "device credential",
    world.credentialBytes,
    (bytes, verify) => verifyDeviceCredential(bytes, { ...world.credentialExpectation, verify }),
  ],
  [
    "membership proof",
    world.proofBytes,
    (bytes, verify) => verifyMembershipProof(bytes, { ...world.proofExpectation, verify }),
  ],
  [
    "commit receipt",
    world.receiptBytes,
    (bytes, verify) => verifyCommitReceipt(bytes, { ...world.receiptExpectation, verify }),
  ],
  ["device list", world.listBytes, (bytes, verify) => verifyDeviceList(bytes, { ...world.listExpectation, verify })],
  ["issuer key set", world.keySetBytes, (bytes, verify) => verifyIssuerKeySet(bytes, { ...roots, verify })],
]

/** The positions, every `step`-th from the first, of bits that can be flipped without a refusal. */
function acceptedFlips(bytes: Uint8Array, step: number, open: (bytes: Uint8Array) => unknown): number[] {
  expect(codeOf(() => open(bytes))).toBe("ok")
  const accepted: number[] = []
  for (let bit = 0; bit < bytes.length * 8; bit += step) {
    const flipped = bytes.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte))
    if (codeOf(() => open(flipped)) === "ok") accepted.push(bit)
  }
  return accepted
}

// OpenSSL's verifier is faster, and tests the Verify port. In npm test it gets every 3rd bit, and the portable one every
// 97th.
test.each(signed)(
  "every single-bit flip is refused: %s, its envelope, body and signature",
  (_, bytes, open) => {
    expect(acceptedFlips(bytes, effort(3, 1, 1), (flipped) => open(flipped, nodeVerify))).toEqual([])
    expect(acceptedFlips(bytes, effort(97, 3, 1), (flipped) => open(flipped))).toEqual([])
  },
  effort(60_000, 300_000, 300_000),
)
