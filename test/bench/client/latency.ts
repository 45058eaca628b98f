// From send to received: of a messenger that follows, and of bare stubs that append, hear the hint and fetch.
import type { Messenger } from "@signet/client-node/messaging"
import type { TestDevice } from "../../support/messaging/device.ts"
import type { Room } from "../../support/messaging/room.ts"
import { appender } from "../messaging/cast.ts"

/** Sends one, and resolves when it has been received. */
type RoundTrip = () => Promise<void>

const text = new TextEncoder().encode("as long as most messages are")

export async function messengerTrip(
  from: Messenger,
  to: Messenger,
  conversationId: string,
  signal: AbortSignal,
): Promise<RoundTrip> {
  let received = () => {}
  to.subscribe((event) => {
    if (event.is === "entry" && event.entry.is === "message") received()
  })
  to.run(signal).catch((error: unknown) => {
    if (!signal.aborted) console.error(error)
  })
  return async () => {
    const arrived = Promise.withResolvers<void>()
    received = arrived.resolve
    await Promise.all([from.send(conversationId, text), arrived.promise])
  }
}

export async function bareTrip(from: TestDevice, to: TestDevice, room: Room, signal: AbortSignal): Promise<RoundTrip> {
  const append = await appender(from, room)
  const events = to.calls.conversations.subscribe({}, { signal })[Symbol.asyncIterator]()
  await events.next()
  let received = () => {}
  let afterSeq = room.seq
  const listen = async () => {
    for (;;) {
      const { value, done } = await events.next()
      if (done) return
      if (value.event.case !== "envelopeAvailable" || value.event.value.headSeq <= afterSeq) continue
      const { envelopes } = await to.calls.conversations.listMessages({ conversationId: room.id, afterSeq, limit: 50 })
      afterSeq = envelopes.at(-1)?.seq ?? afterSeq
      received()
    }
  }
  listen().catch(() => {})
  return async () => {
    const arrived = Promise.withResolvers<void>()
    received = arrived.resolve
    await Promise.all([append(), arrived.promise])
  }
}

/** Milliseconds of each, by turns, so that noise hits both alike; the first tenth warms up. */
export async function byTurns(trips: readonly RoundTrip[], count: number): Promise<number[][]> {
  const all = trips.map((): number[] => [])
  for (let i = 0; i < count * 1.1; i++) {
    for (const [j, trip] of trips.entries()) {
      const startedMs = performance.now()
      await trip()
      if (i >= count / 10) all[j]?.push(performance.now() - startedMs)
    }
  }
  return all
}
