import { create } from "@bufbuild/protobuf"
import { hash } from "@signet/canonical/hash"
import { ConversationStatus, type Record, RecordSchema } from "@signet/proto/transfer/v1/records"
import { expect, test } from "vitest"
import { createHeads } from "./heads.ts"

const receipt = new Uint8Array([1, 2, 3])
const head = (change: object = {}): Record =>
  create(RecordSchema, {
    kind: {
      case: "conversation",
      value: {
        id: "cnv_1",
        status: ConversationStatus.ACTIVE,
        headSeq: 4n,
        firstSeq: 2n,
        state: { receiptHash: hash("commit-receipt", receipt) },
        ...change,
      },
    },
  })
const said = (seq: bigint, of: Uint8Array | undefined = undefined): Record =>
  create(RecordSchema, {
    kind: { case: "envelope", value: { conversationId: "cnv_1", seq, ...(of ? { receipt: of, isCommit: true } : {}) } },
  })

function seen(...records: readonly Record[]): number {
  const heads = createHeads()
  // In pages of one record: only the order matters.
  for (const record of records) heads.see([record])
  return heads.end()
}

test("a log without gaps whose head names its newest receipt is consistent", () => {
  expect(seen(head(), said(2n), said(3n, receipt), said(4n))).toBe(1)
  expect(seen(head({ headSeq: 0n, firstSeq: 1n, state: undefined }))).toBe(1)
})

test.each<[string, readonly Record[], string]>([
  ["a log with a gap", [head(), said(2n, receipt), said(4n)], "has 4 instead of 3"],
  ["a place that comes twice", [head(), said(2n), said(2n)], "has 2 instead of 3"],
  ["a log that ends too early", [head(), said(2n, receipt), said(3n)], "ends at 3 and not at 4"],
  ["another receipt than the head's", [head(), said(2n), said(3n, new Uint8Array([9])), said(4n)], "newest receipt"],
  ["a log before its conversation", [said(2n)], "comes after its log"],
])("%s is not", (_, records, message) => {
  expect(() => seen(...records)).toThrow(message)
})
