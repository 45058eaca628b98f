import { expect, test } from "vitest"
import { createEvents, type MessengerEvent } from "./events.ts"

const lagged: MessengerEvent = { is: "lagged" }
const blocked = (...userIds: string[]): MessengerEvent => ({ is: "blockedUsers", userIds })

async function all(stream: AsyncIterable<MessengerEvent>): Promise<MessengerEvent[]> {
  const found: MessengerEvent[] = []
  for await (const event of stream) found.push(event)
  return found
}

test("a stream waits for its next event", async () => {
  const events = createEvents()
  const stream = events.stream()[Symbol.asyncIterator]()
  const first = stream.next()
  events.emit(blocked("a"))
  expect(await first).toEqual({ done: false, value: blocked("a") })
  const second = stream.next()
  events.close()
  expect(await second).toEqual({ done: true, value: undefined })
})

test("a stream whose signal was aborted before has no events", async () => {
  const events = createEvents()
  const stream = events.stream(AbortSignal.abort())
  events.emit(blocked("a"))
  expect(await all(stream)).toEqual([])
})

test("an unread stream stores 10,000 events, and reports that it has dropped others", async () => {
  const events = createEvents()
  const stream = events.stream()
  for (let i = 0; i < 10_003; i++) events.emit(blocked(`${i}`))
  events.close()
  const found = await all(stream)
  expect(found).toHaveLength(10_001)
  expect(found.slice(-2)).toEqual([blocked("9999"), lagged])
})
