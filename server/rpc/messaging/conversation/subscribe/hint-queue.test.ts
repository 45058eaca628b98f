import { idOf } from "@signet/kernel/ids"
import { expect, test } from "vitest"
import { createHintQueue, type Notice } from "./hint-queue.ts"

const conversation = (number: number) => idOf("cnv", new Uint8Array(16).fill(number))
const grown = (number: number, headSeq: bigint): Notice => ({
  is: "envelopes",
  conversationId: conversation(number),
  headSeq,
})

test("hints are read in the order in which their objects were first pushed", async () => {
  const queue = createHintQueue()
  for (const notice of [grown(1, 1n), { is: "heartbeat", atMs: 1 } as const, grown(2, 1n), grown(1, 2n)])
    queue.push(notice)
  expect(await queue.next()).toEqual(grown(1, 2n))
  expect(await queue.next()).toEqual({ is: "heartbeat", atMs: 1 })
  expect(await queue.next()).toEqual(grown(2, 1n))
})

test("a reported sequence number never decreases", async () => {
  const queue = createHintQueue()
  queue.push(grown(1, 9n))
  queue.push(grown(1, 3n))
  expect(await queue.next()).toEqual(grown(1, 9n))
})

test("a reported version of a device list never decreases", async () => {
  const userId = idOf("prn", new Uint8Array(16).fill(1))
  const list = (version: bigint): Notice => ({ is: "deviceList", userId, version })
  for (const [first, second] of [
    [9n, 3n],
    [3n, 9n],
  ] as const) {
    const queue = createHintQueue()
    queue.push(list(first))
    queue.push(list(second))
    expect(await queue.next()).toEqual(list(9n))
  }
})

test("a thousand hints of one log are queued as one", () => {
  const queue = createHintQueue(2)
  for (let seq = 1n; seq <= 1_000n; seq++) expect(queue.push(grown(1, seq))).toBe(true)
  expect(queue.size).toBe(1)
})

test("hints of more objects than the capacity are rejected", () => {
  const queue = createHintQueue(2)
  expect([1, 2, 3].map((number) => queue.push(grown(number, 1n)))).toEqual([true, true, false])
})

test("a waiting reader resumes on a hint and on close", async () => {
  const queue = createHintQueue()
  const first = queue.next()
  queue.push(grown(1, 1n))
  expect(await first).toEqual(grown(1, 1n))
  const second = queue.next()
  queue.close()
  expect(await second).toBeUndefined()
  expect(queue.push(grown(1, 2n))).toBe(true)
  expect(await queue.next()).toBeUndefined()
})
