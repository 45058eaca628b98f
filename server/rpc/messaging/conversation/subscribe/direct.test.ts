import { create } from "@bufbuild/protobuf"
import { idOf } from "@signet/kernel/ids"
import type { Envelope } from "@signet/kernel/messaging/records"
import { bytes, device, user } from "@signet/kernel/messaging/testing/records"
import { type SubscribeResponse, SubscribeResponseSchema } from "@signet/proto/messaging/v1/conversation_service"
import { expect, test } from "vitest"
import type { DirectWrite } from "../../../../serving/direct-write.ts"
import { createDirect } from "./direct.ts"
import { eventOf, type Listener, type Needs, readEnvelopes } from "./events.ts"
import { createHintQueue, type Notice } from "./hint-queue.ts"

const conversationId = idOf("cnv", bytes(1, 16))
const hint = (headSeq: bigint): Notice => ({ is: "envelopes", conversationId, headSeq })
const list: Notice = { is: "deviceList", userId: user(1), version: 7n }
const envelope = (seq: bigint): Envelope => ({
  seq,
  epoch: 1n,
  kind: "APPLICATION",
  message: bytes(Number(seq), 8),
  contentHash: bytes(1, 32),
  senderDeviceId: device(2),
  acceptedAtMs: 1_000,
  receipt: null,
  idempotencyKey: bytes(Number(seq), 16),
})

/** A stream of a device whose log grows, with what its transport and its handler send, in order. */
function stream({ path }: { path: { isOpen: boolean; isSlow: boolean } }) {
  const sent: unknown[] = []
  const log: Envelope[] = []
  const reads: PromiseWithResolvers<void>[] = []
  let isBroken = false
  const deps = {
    clock: { nowMs: () => 5_000 },
    readTail: async (_: unknown, __: unknown, afterSeq: bigint) => {
      const waits = Promise.withResolvers<void>()
      reads.push(waits)
      await waits.promise
      if (isBroken) throw new Error("the database has gone")
      return log.filter(({ seq }) => seq > afterSeq)
    },
  } as unknown as Needs
  const listener: Listener = { deviceId: device(1), includeEnvelopes: true, sentSeqs: new Map() }
  const queue = createHintQueue()
  const shown = (by: string, { event }: Pick<SubscribeResponse, "event">) => {
    const { value } = event
    const seqs = event.case === "envelopeAvailable" ? event.value.envelopes.map(({ seq }) => seq) : []
    return [by, event.case, ...("headSeq" in (value ?? {}) ? seqs : [])]
  }
  const write: DirectWrite = {
    get isOpen() {
      return path.isOpen
    },
    write: (message) => {
      if (!path.isOpen || path.isSlow) return false
      sent.push(shown("direct", message as SubscribeResponse))
      return true
    },
  }
  const direct = createDirect(deps, listener, queue, write)
  const handle = async () => {
    for (;;) {
      const notice = await queue.next()
      if (notice === undefined) return
      try {
        const event = await eventOf(deps, listener, notice as Exclude<Notice, { is: "member" | "revoked" }>)
        if (event !== undefined) sent.push(shown("handler", create(SubscribeResponseSchema, { event })))
      } catch {
        sent.push(["handler", "failed"])
        return
      }
    }
  }
  const handled = handle()
  return {
    sent,
    log,
    /** Lets the oldest read end. */
    read: async () => {
      await expect.poll(() => reads.length).toBeGreaterThan(0)
      reads.shift()?.resolve()
      await new Promise((resolve) => setTimeout(resolve, 1))
    },
    breakReads: (now: boolean) => {
      isBroken = now
    },
    push: (notice: Notice) => direct.deliver(notice) || queue.push(notice),
    isWritten: (notice: Notice) => direct.write(notice),
    close: () => {
      queue.close()
      return handled
    },
  }
}

const open = () => ({ isOpen: true, isSlow: false })
const turn = () => new Promise((resolve) => setTimeout(resolve, 1))

test("envelopes are read and written while the handler waits, and later notices keep their order", async () => {
  const { sent, log, push, read, isWritten, close } = stream({ path: open() })
  await turn()
  log.push(envelope(1n), envelope(2n))
  push(hint(2n))
  push(list)
  expect(isWritten(list)).toBe(false)
  log.push(envelope(3n))
  push(hint(3n))
  await read()
  // The handler takes what waited.
  await read()
  expect(sent).toEqual([
    ["direct", "envelopeAvailable", 1n, 2n, 3n],
    ["handler", "deviceListChanged"],
    ["handler", "envelopeAvailable"],
  ])
  push(list)
  expect(sent.at(-1)).toEqual(["direct", "deviceListChanged"])
  await close()
})

test.each(["the reader is slow", "the read fails"])(
  "the handler sends what is not written, and loses nothing: %s",
  async (why) => {
    const path = open()
    const { sent, log, push, read, breakReads, close } = stream({ path })
    await turn()
    log.push(envelope(1n))
    path.isSlow = why === "the reader is slow"
    breakReads(why === "the read fails")
    push(hint(1n))
    push(list)
    await read()
    breakReads(false)
    await read()
    expect(sent).toEqual([
      ["handler", "envelopeAvailable", 1n],
      ["handler", "deviceListChanged"],
    ])
    await close()
  },
)

test("without a path, the handler reads, and once only", async () => {
  const { sent, log, push, read, close } = stream({ path: { isOpen: false, isSlow: false } })
  await turn()
  log.push(envelope(1n))
  push(hint(1n))
  await read()
  expect(sent).toEqual([["handler", "envelopeAvailable", 1n]])
  await close()
})

test("a stream that ends during the read sends nothing after it", async () => {
  const path = open()
  const { sent, log, push, read, close } = stream({ path })
  await turn()
  log.push(envelope(1n))
  push(hint(1n))
  const closed = close()
  await read()
  await closed
  expect(sent).toEqual([])
})

test("streams that read one page share its message, but the sender alone gets the idempotency key", async () => {
  const page = [envelope(1n), envelope(2n)]
  const read = (deviceId: Listener["deviceId"], headSeq: bigint, from = page) => {
    const deps = { readTail: async () => from } as unknown as Needs
    const listener = { deviceId, includeEnvelopes: true, sentSeqs: new Map() }
    return readEnvelopes(deps, listener, { is: "envelopes", conversationId, headSeq })
  }
  const keysOf = ({ message: { event } }: Awaited<ReturnType<typeof read>>) =>
    event.case === "envelopeAvailable" ? event.value.envelopes.map(({ idempotencyKey }) => idempotencyKey.length) : []
  const [sender, other, another] = [device(2), device(1), device(3)]
  const first = await read(sender, 2n)
  expect(keysOf(first)).toEqual([16, 16])
  const second = await read(other, 2n)
  expect(keysOf(second)).toEqual([0, 0])
  expect(await read(another, 2n)).toBe(second)
  expect(keysOf(await read(sender, 2n))).toEqual([16, 16])
  // A later hint reports its number, and another page has a message of its own.
  expect(await read(another, 5n)).toMatchObject({ headSeq: 5n })
  expect(await read(another, 2n, [envelope(1n)])).toMatchObject({ headSeq: 2n })
})
