import { sha256 } from "@noble/hashes/sha2.js"
import { concat } from "@signet/canonical/bytes"
import { type Verify, verifyEd25519 } from "@signet/canonical/ed25519"
import type { Commit } from "./commit.ts"
import { verifyLabeled } from "./labeled.ts"
import { vectorBytes } from "./writer.ts"

/**
 * Verifies a commit's signature by its sender (FramedContentTBS, RFC 9420 section 6.1).
 *
 * @param groupContext Encoded GroupContext of the epoch that the commit was framed in: from the previous GroupInfo, or
 * `firstGroupContext` for the first commit.
 * @param leafKey Signature key of the sender's leaf in that epoch. The commit's own path does not change it.
 */
export function verifyCommitSignature(
  { signed, signature }: Commit,
  groupContext: Uint8Array,
  leafKey: Uint8Array,
  verify: Verify = verifyEd25519,
): boolean {
  return verifyLabeled(verify, leafKey, { label: "FramedContentTBS", parts: [signed, groupContext], signature })
}

/**
 * Computes the confirmed transcript hash of the epoch that a commit leads to, 32 bytes (RFC 9420 section 8.2). The
 * commit's GroupInfo must contain it; together with an equal confirmation tag this proves that it belongs to the
 * commit.
 *
 * @param previousInterim `interimTranscriptHash` of the epoch that the commit was framed in.
 */
export function nextConfirmedTranscriptHash(
  previousInterim: Uint8Array,
  { transcript }: Pick<Commit, "transcript">,
): Uint8Array {
  return sha256(concat(previousInterim, transcript))
}

/** Computes the interim transcript hash of an epoch, 32 bytes, from its GroupInfo (RFC 9420 section 8.2). */
export function interimTranscriptHash(confirmed: Uint8Array, confirmationTag: Uint8Array): Uint8Array {
  return sha256(concat(confirmed, vectorBytes(confirmationTag)))
}
