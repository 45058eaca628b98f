import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { expect, test } from "vitest"
import { concat } from "./bytes.ts"
import { buildEnvelopeAad, parseEnvelopeAad } from "./envelope-aad.ts"
import { codeOf } from "./testing/code-of.ts"
import { bytes32, conversationId, id, proofBytes } from "./testing/world.ts"

const commit = { conversationId, kind: EnvelopeKind.COMMIT, membershipProof: proofBytes, lastReceiptHash: bytes32(1) }
const message = { conversationId, kind: EnvelopeKind.APPLICATION }
const commitBytes = buildEnvelopeAad(commit)

test("the frame of a commit returns its proof and the sender's last receipt", () => {
  const frame = parseEnvelopeAad(commitBytes, commit)
  expect([frame.membershipProof, frame.lastReceiptHash]).toEqual([proofBytes, bytes32(1)])
})

test("the frame of a message is small and has no proof", () => {
  expect(buildEnvelopeAad(message).length).toBe(22)
  expect(parseEnvelopeAad(buildEnvelopeAad(message), message).membershipProof.length).toBe(0)
})

test.each([
  ["of another conversation", commitBytes, { ...commit, conversationId: id(9) }, "AAD_WRONG_CONVERSATION"],
  ["of a message on a commit", buildEnvelopeAad(message), commit, "AAD_WRONG_KIND"],
  ["of a commit on a message", commitBytes, message, "AAD_WRONG_KIND"],
  ["with something after it", concat(commitBytes, Uint8Array.of(0)), commit, "AAD_MALFORMED"],
  ["with the reserved field", concat(commitBytes, Uint8Array.of(0x32, 1, 1)), commit, "AAD_MALFORMED"],
  ["that is missing", new Uint8Array(0), commit, "AAD_MALFORMED"],
] as const)("a frame %s is refused", (_, bytes, expected, code) => {
  expect(codeOf(() => parseEnvelopeAad(bytes, expected))).toBe(code)
})

test("only a commit carries a proof", () => {
  const kinds = [EnvelopeKind.APPLICATION, EnvelopeKind.PROPOSAL]
  const codes = kinds.map((kind) => codeOf(() => buildEnvelopeAad({ ...commit, kind })))
  expect(codes).toEqual(["AAD_MALFORMED", "AAD_MALFORMED"])
  const smuggled = commitBytes.map((byte, at) => (at === 21 ? EnvelopeKind.PROPOSAL : byte))
  const expected = { conversationId, kind: EnvelopeKind.PROPOSAL }
  expect(codeOf(() => parseEnvelopeAad(smuggled, expected))).toBe("AAD_MALFORMED")
})
