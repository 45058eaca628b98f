import { sha256 } from "@noble/hashes/sha2.js"
import { concat } from "@signet/canonical/bytes"
import { type Verify, verifyEd25519 } from "@signet/canonical/ed25519"
import type { Commit } from "./commit.ts"
import { verifyLabeled } from "./labeled.ts"
import { vectorBytes } from "./writer.ts"

/**
 * Whether a commit is signed by its sender (FramedContentTBS, RFC 9420 section 6.1).
 *
 * @param groupContext encoded GroupContext of the epoch that the commit was framed in: that of the GroupInfo before,
 *   or for the first commit `firstGroupContext`.
 * @param leafKey signature key of the sender's leaf in that epoch; a path does not change it for its own commit.
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
 * The confirmed transcript hash of the epoch that a commit leads to, 32 bytes (RFC 9420 section 8.2). The GroupInfo
 * that comes with the commit has to carry it: with the equal confirmation tag, that proves that it follows this commit.
 *
 * @param previousInterim `interimTranscriptHash` of the epoch that the commit was framed in.
 */
export function nextConfirmedTranscriptHash(
  previousInterim: Uint8Array,
  { transcript }: Pick<Commit, "transcript">,
): Uint8Array {
  return sha256(concat(previousInterim, transcript))
}

/** The interim transcript hash of an epoch, 32 bytes, from what its GroupInfo says (RFC 9420 section 8.2). */
export function interimTranscriptHash(confirmed: Uint8Array, confirmationTag: Uint8Array): Uint8Array {
  return sha256(concat(confirmed, vectorBytes(confirmationTag)))
}
