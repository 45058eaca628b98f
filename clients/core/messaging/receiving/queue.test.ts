import { create } from "@bufbuild/protobuf"
import { EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { expect, test } from "vitest"
import { createQueue } from "./incoming.ts"

const envelope = (seq: number, size = 1) => create(EnvelopeSchema, { seq: BigInt(seq), message: new Uint8Array(size) })
const seqs = (found: readonly { readonly seq: bigint }[]) => found.map(({ seq }) => Number(seq))

test("queued envelopes are in log order, each once, and processed ones are dropped", () => {
  const queue = createQueue()
  for (const seq of [5, 3, 4, 3, 5]) queue.add("a", envelope(seq))
  queue.add("b", envelope(1))
  expect(seqs(queue.after("a", 0n))).toEqual([3, 4, 5])
  expect(seqs(queue.after("a", 4n))).toEqual([5])
  expect(seqs(queue.after("a", 0n))).toEqual([5])
  expect(seqs(queue.after("b", 0n))).toEqual([1])
  expect(queue.after("c", 0n)).toEqual([])
})

test("at most 2,000 envelopes of all conversations are queued, and processing frees capacity", () => {
  const queue = createQueue()
  // A repeated envelope uses no capacity.
  for (let round = 0; round < 2; round++) for (let seq = 1; seq <= 1_000; seq++) queue.add("a", envelope(seq))
  for (let seq = 1; seq <= 1_001; seq++) queue.add("b", envelope(seq))
  expect(queue.after("a", 0n)).toHaveLength(1_000)
  expect(queue.after("b", 0n)).toHaveLength(1_000)
  expect(queue.after("a", 1n)).toHaveLength(999)
  queue.add("b", envelope(1_001))
  queue.add("b", envelope(1_002))
  expect(seqs(queue.after("b", 999n))).toEqual([1_000, 1_001])
})

test("at most 8 MiB are queued", () => {
  const mib = 1024 * 1024
  const queue = createQueue()
  queue.add("a", envelope(1, 5 * mib))
  queue.add("a", envelope(2, 3 * mib + 1))
  expect(seqs(queue.after("a", 0n))).toEqual([1])
  queue.add("a", envelope(2, 3 * mib))
  queue.add("a", envelope(3, 1))
  expect(seqs(queue.after("a", 0n))).toEqual([1, 2])
  expect(seqs(queue.after("a", 1n))).toEqual([2])
  queue.add("a", envelope(3, 5 * mib))
  expect(seqs(queue.after("a", 0n))).toEqual([2, 3])
})
