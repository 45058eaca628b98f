import { create } from "@bufbuild/protobuf"
import { type EnvelopeAadV1, EnvelopeAadV1Schema, EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { absent, equalBytes } from "./bytes.ts"
import { decode, encode } from "./canonical.ts"
import { ensure, rethrowAs } from "./errors.ts"

/** The content of an MLS message's authenticated_data. */
interface EnvelopeAad {
  readonly conversationId: Uint8Array
  readonly kind: EnvelopeKind
  /** The signed membership proof of a commit that changes members. */
  readonly membershipProof?: Uint8Array | undefined
  /** H("commit-receipt", ...) of the newest commit that the sender saw. */
  readonly lastReceiptHash?: Uint8Array | undefined
}

/** Encodes the AAD frame. @throws CanonicalError AAD_MALFORMED, CPB_* */
export function buildEnvelopeAad(aad: EnvelopeAad): Uint8Array {
  const frame = create(EnvelopeAadV1Schema, {
    version: 1,
    conversationId: aad.conversationId,
    kind: aad.kind,
    membershipProof: aad.membershipProof ?? absent,
    lastReceiptHash: aad.lastReceiptHash ?? absent,
  })
  ensureSound(frame)
  return encode(EnvelopeAadV1Schema, frame)
}

/**
 * Parses the AAD frame of an MLS message with a known conversation and content type.
 *
 * The proof in it is not verified here. Do not trust the frame before the engine has authenticated the message.
 *
 * @throws CanonicalError AAD_MALFORMED, AAD_WRONG_CONVERSATION, AAD_WRONG_KIND
 */
export function parseEnvelopeAad(
  bytes: Uint8Array,
  expected: { readonly conversationId: Uint8Array; readonly kind: EnvelopeKind },
): EnvelopeAadV1 {
  const frame = rethrowAs("AAD_MALFORMED", () => decode(EnvelopeAadV1Schema, bytes))
  ensureSound(frame)
  ensure(equalBytes(frame.conversationId, expected.conversationId), "AAD_WRONG_CONVERSATION")
  ensure(frame.kind === expected.kind, "AAD_WRONG_KIND")
  return frame
}

function ensureSound(frame: EnvelopeAadV1): void {
  const mayCarry = frame.kind === EnvelopeKind.COMMIT
  ensure(mayCarry || frame.membershipProof.length === 0, "AAD_MALFORMED", "membership_proof")
}
