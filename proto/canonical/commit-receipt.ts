import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { type CommitReceiptBodyV1, CommitReceiptBodyV1Schema } from "@signet/proto/credential/v1/commit_receipt"
import { KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import { equalBytes, holds } from "./bytes.ts"
import type { SyncSigner, Verify } from "./ed25519.ts"
import { ensure } from "./errors.ts"
import { hash, stateTagOf } from "./hash.ts"
import { ensureKeyTime, type IssuedKind, type IssuerKeys, openIssued } from "./issued.ts"
import { signNow } from "./signed.ts"

/** Maximum time by which a receipt may be ahead of the reader's clock. */
export const maxReceiptAheadMs = 300_000n

/** A verified commit receipt. The next receipt must name its hash. */
export interface CommitReceipt {
  readonly body: CommitReceiptBodyV1
  /** H("commit-receipt", signed bytes): 32 bytes. */
  readonly hash: Uint8Array
}

/** The verifier's own knowledge: the conversation, the commit, and the previous receipt. */
export interface ReceiptExpectation {
  readonly issuerKeys: IssuerKeys
  readonly conversationId: Uint8Array
  readonly mlsGroupId: Uint8Array
  /** The epoch that the commit is framed in. */
  readonly epoch: bigint
  readonly seq: bigint
  /** H("commit", MLSMessage). */
  readonly commitHash: Uint8Array
  /** H("membership-proof", signed proof). Undefined requires that the receipt names no proof. */
  readonly proofHash: Uint8Array | undefined
  /** The previous receipt. "first" requires that there is none; "unknown" is for a joining device. */
  readonly previous: { readonly hash: Uint8Array; readonly acceptedAtMs: bigint } | "first" | "unknown"
  /** The reader's clock, Unix milliseconds. */
  readonly nowMs: bigint
  readonly verify?: Verify
}

const commitReceipt: IssuedKind<CommitReceiptBodyV1> = {
  prefix: "RECEIPT",
  schema: CommitReceiptBodyV1Schema,
  purpose: KeyPurpose.RECEIPT,
  ensureSound: () => undefined,
}

/**
 * Signs a receipt synchronously, so that nothing runs between reading the log's head and writing after it.
 *
 * @throws CanonicalError CPB_*
 */
export function issueCommitReceipt(
  init: MessageInitShape<typeof CommitReceiptBodyV1Schema>,
  signer: SyncSigner,
): Uint8Array {
  const body = create(CommitReceiptBodyV1Schema, init)
  body.version = 1
  return signNow(CommitReceiptBodyV1Schema, body, signer)
}

/**
 * Verifies the receipt of one commit.
 *
 * @param bytes A SignedBytesV1 as received. It is verified before its body is decoded.
 * @throws CanonicalError RECEIPT_*, in the order of the list in errors.ts; RECEIPT_FORK if the receipt does not follow
 * the previous one.
 * @see proto/signet/credential/v1/commit_receipt.proto
 */
export function verifyCommitReceipt(bytes: Uint8Array, expected: ReceiptExpectation): CommitReceipt {
  const { issuerKeys, previous } = expected
  const { body, key } = openIssued(commitReceipt, bytes, issuerKeys, expected.verify)
  ensureKeyTime("RECEIPT", key, body.acceptedAtMs / 1000n)
  ensure(equalBytes(body.conversationId, expected.conversationId), "RECEIPT_WRONG_CONVERSATION")
  ensure(equalBytes(body.mlsGroupId, expected.mlsGroupId), "RECEIPT_WRONG_GROUP")
  ensure(body.epoch === expected.epoch, "RECEIPT_WRONG_EPOCH")
  ensure(body.seq === expected.seq, "RECEIPT_WRONG_SEQ")
  ensure(equalBytes(body.commitHash, expected.commitHash), "RECEIPT_WRONG_COMMIT")
  ensure(holds(body.proofHash, expected.proofHash), "RECEIPT_WRONG_PROOF")
  if (previous !== "unknown") {
    ensure(holds(body.previousReceiptHash, previous === "first" ? undefined : previous.hash), "RECEIPT_FORK")
  }
  if (typeof previous === "object") ensure(body.acceptedAtMs >= previous.acceptedAtMs, "RECEIPT_TIME_BACKWARDS")
  ensure(body.acceptedAtMs <= expected.nowMs + maxReceiptAheadMs, "RECEIPT_FROM_FUTURE")
  return { body, hash: hash("commit-receipt", bytes) }
}

/**
 * Checks that the state after the commit is the one that the server recorded.
 *
 * @param confirmationTag The tag of the epoch after the commit (RFC 9420 section 6.1).
 * @throws CanonicalError RECEIPT_STATE_FORK
 */
export function checkResultingState(receipt: CommitReceiptBodyV1, confirmationTag: Uint8Array): void {
  ensure(equalBytes(receipt.resultingStateTag, stateTagOf(confirmationTag)), "RECEIPT_STATE_FORK")
}
