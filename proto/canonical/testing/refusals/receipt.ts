import { type CommitReceiptBodyV1, CommitReceiptBodyV1Schema } from "@signet/proto/credential/v1/commit_receipt"
import { concat } from "../../bytes.ts"
import { maxReceiptAheadMs, verifyCommitReceipt } from "../../commit-receipt.ts"
import * as world from "../world.ts"
import { partsOf, type Refusal, resigned, signedRaw, table, tampered } from "./refusal.ts"

const { receiptBytes, receiptFields, receiptKey, now, bytes32, id } = world
const schema = CommitReceiptBodyV1Schema
const { acceptedAtMs, previousReceiptHash } = receiptFields
const none = new Uint8Array(0)
const changed = (change: Partial<CommitReceiptBodyV1>) => resigned(schema, receiptBytes, change, receiptKey)
const first = changed({ previousReceiptHash: none })
const longAgo = (now - 101n * world.day) * 1000n

export const receiptRefusals: readonly Refusal[] = table("receipt", verifyCommitReceipt, world.receiptExpectation, [
  ["a good receipt", receiptBytes, {}, "ok"],
  ["the first receipt", first, { previous: "first" }, "ok"],
  ["a receipt to one who joins", receiptBytes, { previous: "unknown" }, "ok"],
  ["a commit without a proof", changed({ proofHash: none }), { proofHash: undefined }, "ok"],
  [
    "in the same millisecond as the one before",
    receiptBytes,
    { previous: { hash: previousReceiptHash, acceptedAtMs } },
    "ok",
  ],
  ["not an envelope", Uint8Array.of(1), {}, "RECEIPT_MALFORMED"],
  [
    "a byte after the body, well signed",
    signedRaw(schema, concat(partsOf(receiptBytes).body, Uint8Array.of(0)), receiptKey),
    {},
    "RECEIPT_MALFORMED",
  ],
  [
    "signed by a key that no set holds",
    resigned(schema, receiptBytes, {}, world.strangerKey),
    {},
    "RECEIPT_UNKNOWN_ISSUER_KEY",
  ],
  [
    "signed by the key for proofs",
    resigned(schema, receiptBytes, {}, world.proofKey),
    {},
    "RECEIPT_ISSUER_KEY_PURPOSE",
  ],
  ["signed by the key for lists", resigned(schema, receiptBytes, {}, world.listKey), {}, "RECEIPT_ISSUER_KEY_PURPOSE"],
  ["tampered", tampered(receiptBytes), {}, "RECEIPT_BAD_SIGNATURE"],
  ["of another issuer", changed({ issuerId: id(9) }), {}, "RECEIPT_WRONG_ISSUER"],
  ["dated before its key's time", changed({ acceptedAtMs: longAgo }), {}, "RECEIPT_ISSUER_KEY_NOT_VALID"],
  ["of another conversation", receiptBytes, { conversationId: id(9) }, "RECEIPT_WRONG_CONVERSATION"],
  ["of another group", receiptBytes, { mlsGroupId: bytes32(9) }, "RECEIPT_WRONG_GROUP"],
  ["of an earlier epoch", receiptBytes, { epoch: 5n }, "RECEIPT_WRONG_EPOCH"],
  ["of a later epoch", receiptBytes, { epoch: 3n }, "RECEIPT_WRONG_EPOCH"],
  ["of another place in the log", receiptBytes, { seq: 10n }, "RECEIPT_WRONG_SEQ"],
  ["of another commit", receiptBytes, { commitHash: bytes32(9) }, "RECEIPT_WRONG_COMMIT"],
  ["of another proof", receiptBytes, { proofHash: bytes32(9) }, "RECEIPT_WRONG_PROOF"],
  ["of a proof where the commit has none", receiptBytes, { proofHash: undefined }, "RECEIPT_WRONG_PROOF"],
  ["of no proof where the commit has one", changed({ proofHash: none }), {}, "RECEIPT_WRONG_PROOF"],
  ["after another receipt", receiptBytes, { previous: { hash: bytes32(9), acceptedAtMs: 0n } }, "RECEIPT_FORK"],
  ["after a receipt where there is none", receiptBytes, { previous: "first" }, "RECEIPT_FORK"],
  ["after none where there is one", first, {}, "RECEIPT_FORK"],
  [
    "before the one before",
    receiptBytes,
    { previous: { hash: previousReceiptHash, acceptedAtMs: acceptedAtMs + 1n } },
    "RECEIPT_TIME_BACKWARDS",
  ],
  ["five minutes ahead", receiptBytes, { nowMs: acceptedAtMs - maxReceiptAheadMs }, "ok"],
  [
    "more than five minutes ahead",
    receiptBytes,
    { nowMs: acceptedAtMs - maxReceiptAheadMs - 1n },
    "RECEIPT_FROM_FUTURE",
  ],
])
