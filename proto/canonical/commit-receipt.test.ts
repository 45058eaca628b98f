import { expect, test } from "vitest"
import { checkResultingState, issueCommitReceipt, verifyCommitReceipt } from "./commit-receipt.ts"
import { hash } from "./hash.ts"
import { codeOf } from "./testing/code-of.ts"
import * as world from "./testing/world.ts"

const { receiptBytes, receiptFields, receiptKey, receiptExpectation } = world

test("receipts form a chain: each names its predecessor's hash", () => {
  const first = verifyCommitReceipt(receiptBytes, receiptExpectation)
  const next = {
    ...receiptFields,
    epoch: 5n,
    seq: 10n,
    previousReceiptHash: first.hash,
    acceptedAtMs: first.body.acceptedAtMs,
  }
  const previous = { hash: first.hash, acceptedAtMs: first.body.acceptedAtMs }
  const expected = { ...receiptExpectation, epoch: 5n, seq: 10n, previous }
  const second = verifyCommitReceipt(issueCommitReceipt(next, receiptKey), expected)
  expect(second.hash).toEqual(hash("commit-receipt", issueCommitReceipt(next, receiptKey)))
})

test("a receipt for epoch 0 omits the epoch", () => {
  const bytes = issueCommitReceipt({ ...receiptFields, epoch: 0n }, receiptKey)
  expect(verifyCommitReceipt(bytes, { ...receiptExpectation, epoch: 0n }).body.epoch).toBe(0n)
})

test("a resulting state other than the server's is a fork", () => {
  const { body } = verifyCommitReceipt(receiptBytes, receiptExpectation)
  expect(codeOf(() => checkResultingState(body, world.bytes32(0x9a)))).toBe("ok")
  expect(codeOf(() => checkResultingState(body, world.bytes32(0x9b)))).toBe("RECEIPT_STATE_FORK")
})

test("a receipt without the commit's hash cannot be issued", () => {
  const init = { ...receiptFields, commitHash: new Uint8Array(0) }
  expect(codeOf(() => issueCommitReceipt(init, receiptKey))).toBe("CPB_REQUIRED")
})
