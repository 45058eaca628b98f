import { Code, ConnectError } from "@connectrpc/connect"
import { idOf, parseId } from "@signet/kernel/ids"
import { heartbeatMs } from "@signet/kernel/messaging/limits"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import type { SubscribeResponse } from "@signet/proto/messaging/v1/conversation_service"
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { isLong } from "../../../../../test/support/effort.ts"
import type { TestDevice } from "../../../../../test/support/messaging/device.ts"
import { randomBytes } from "../../../../../test/support/messaging/device-parts.ts"
import { claimsOf } from "../../../../../test/support/people.ts"
import { openTestStore, storyStore, type TestStore } from "../../../../../test/support/postgres.ts"
import { freshId, newSession, putPerson } from "../../../../store/postgres/testing/people.ts"
import { type MessagingWorld, openMessagingWorld } from "../../testing/world.ts"
import { endingOf } from "./alive.ts"

let store: TestStore
let world: MessagingWorld
beforeAll(async () => {
  store = await openTestStore(storyStore)
})
afterAll(() => store.close())

// Each test moves a clock of its own.
beforeEach(async () => {
  world = await openMessagingWorld(store)
})
afterEach(async () => {
  expect(world.faults).toEqual([])
  await world.close()
})

/** A stream that the test reads event by event. */
function listening(device: TestDevice, includeEnvelopes = false) {
  const ended = new AbortController()
  const stream = device.calls.conversations.subscribe({ includeEnvelopes }, { signal: ended.signal })
  const events = stream[Symbol.asyncIterator]()
  const next = async (): Promise<SubscribeResponse["event"]> => {
    const result = await events.next()
    if (result.done === true) throw new Error("the stream has ended")
    return result.value.event
  }
  return {
    next,
    /** Reads up to the first event of that kind. */
    async until(kind: SubscribeResponse["event"]["case"]): Promise<SubscribeResponse["event"]> {
      for (;;) {
        const event = await next()
        if (event.case === kind) return event
      }
    },
    close: () => ended.abort(),
  }
}

async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return "goes on"
  } catch (error) {
    const { code } = ConnectError.from(error)
    return ConnectError.from(error).findDetails(ErrorInfoSchema)[0]?.reason ?? Code[code]
  }
}

/** Resolves when this many streams are set up: each has a timer for its token and one for its heartbeat. */
const listeners = (streams: number) => expect.poll(() => world.timers).toBe(2 * streams)

test("a stream opens with unread logs, a pending welcome and a shortage of key packages", async () => {
  const { newDevice } = world
  const alice = await newDevice()
  const bob = await newDevice({ packages: 3 })
  const room = await alice.createGroup([bob.userId])
  const stream = listening(bob)
  expect(await stream.next()).toMatchObject({
    case: "envelopeAvailable",
    value: { conversationId: room.id, headSeq: 1n, envelopes: [] },
  })
  expect(await stream.next()).toMatchObject({ case: "welcomeAvailable", value: { conversationId: room.id } })
  expect(await stream.next()).toMatchObject({ case: "keyPackageLow", value: { inventory: { available: 2 } } })
  stream.close()
})

test("new envelopes are included on request", async () => {
  const { newDevice } = world
  const alice = await newDevice()
  const bob = await newDevice()
  const room = await alice.createGroup([bob.userId])
  await bob.join()
  await bob.calls.conversations.ackMessages({ conversationId: room.id, processedSeq: 1n, processedEpoch: 1n })
  const [plain, inline] = [listening(bob), listening(bob, true)]
  // Both are set up once they have reported that few packages are left.
  await Promise.all([plain.until("keyPackageLow"), inline.until("keyPackageLow")])
  const [told, brought] = [plain.next(), inline.next()]
  const { seq } = await alice.send(room, "hello")
  expect(await told).toMatchObject({ case: "envelopeAvailable", value: { headSeq: seq, envelopes: [] } })
  expect(await brought).toMatchObject({ case: "envelopeAvailable", value: { headSeq: seq, envelopes: [{ seq }] } })
  plain.close()
  inline.close()
})

test("a stream of a device that is added reports the welcome and later messages", async () => {
  const { newDevice } = world
  const alice = await newDevice()
  const bob = await newDevice()
  const stream = listening(bob)
  const first = stream.until("welcomeAvailable")
  await listeners(1)
  const room = await alice.createGroup([bob.userId])
  expect(await first).toMatchObject({ value: { conversationId: room.id } })
  await stream.until("envelopeAvailable")
  const { directive } = await alice.calls.conversations.requestRejoin({ conversationId: room.id })
  expect(await stream.until("directiveIssued")).toMatchObject({ value: { directive: { id: directive?.id } } })
  stream.close()
})

test("a stream of a device that is removed reports the removal, nothing after it, and other conversations", async () => {
  const { newDevice } = world
  const alice = await newDevice()
  const bob = await newDevice()
  const [left, kept] = [await alice.createGroup([bob.userId]), await alice.createGroup([bob.userId])]
  await bob.join()
  const stream = listening(bob)
  await stream.until("keyPackageLow")
  const { seq } = await alice.remove(left, { userIds: [bob.userId] })
  expect(await stream.next()).toMatchObject({ value: { conversationId: left.id, headSeq: seq } })
  // Events are ordered: after this one the stream has processed the removal.
  const { seq: between } = await alice.send(kept, "between")
  expect(await stream.next()).toMatchObject({ value: { conversationId: kept.id, headSeq: between } })
  await alice.send(left, "among us")
  const { seq: heard } = await alice.send(kept, "hello")
  expect(await stream.next()).toMatchObject({ value: { conversationId: kept.id, headSeq: heard } })
  stream.close()
})

test("a stream sends a heartbeat every twenty seconds by the server's clock", async () => {
  const { newDevice, advance } = world
  const alice = await newDevice()
  const stream = listening(alice)
  for (let beats = 0; beats < 3; beats++) {
    const beat = stream.until("heartbeat")
    await listeners(1)
    advance(heartbeatMs)
    expect((await beat).case).toBe("heartbeat")
  }
  stream.close()
})

test("a stream ends with its token, with its session, and with its device", async () => {
  const { newDevice, newUser, advance } = world
  const user = await newUser()
  const [phone, laptop, tablet] = [
    await newDevice({ of: user }),
    await newDevice({ of: user }),
    await newDevice({ of: user }),
  ]
  const streams = [phone, laptop, tablet].map((device) => listening(device).until("directiveIssued"))
  const ends = Promise.all(streams.map(refusal))
  await listeners(3)
  await tablet.calls.devices.revokeDevice({ deviceId: phone.id })
  await listeners(2)
  const sessionId = parseId("ses", String(claimsOf(laptop.session.accessToken).sid)) ?? expect.fail("no session")
  await store.store.transaction((tx) => tx.sessions.end(sessionId, "REVOKED", "test", Date.now()))
  advance(heartbeatMs)
  await listeners(1)
  advance(600_000)
  expect(await ends).toEqual(["DEVICE_REVOKED", "SESSION_REVOKED", "TOKEN_EXPIRED"])
})

test("a stream continues for an active device with an active session or without a session", async () => {
  const device = await world.newDevice({ packages: 0 })
  const deviceId = parseId("dev", device.id) ?? expect.fail("no device")
  const nowMs = Date.now()
  const [active, ended, expired] = await Promise.all(
    [3_600_000, 3_600_000, -1].map(async (leftMs) => {
      const absoluteExpiresAtMs = nowMs + leftMs
      const session = newSession(await putPerson(store.store), {
        absoluteExpiresAtMs,
        idleExpiresAtMs: absoluteExpiresAtMs,
      })
      await store.store.transaction((tx) => tx.sessions.insert(session))
      return session.id
    }),
  )
  if (!active || !ended || !expired) return expect.fail("no sessions")
  await store.store.transaction((tx) => tx.sessions.end(ended, "REVOKED", "test", nowMs))
  const unknown = { deviceId: freshId("dev"), sessionId: freshId("ses") }
  const cases = [
    [active, undefined],
    [null, undefined],
    [ended, "SESSION_REVOKED"],
    [expired, "SESSION_EXPIRED"],
    [unknown.sessionId, "SESSION_REVOKED"],
  ] as const
  const shared = world.deps.shared?.endingOf ?? expect.fail("no shared heartbeats")
  /** The look-ups of one stream and of all streams of a process agree. */
  const reasons = async (of: Parameters<typeof shared>[0]) =>
    (await Promise.all([endingOf(world.deps, of), shared(of)])).map((refused) => refused?.reason)
  await Promise.all(
    cases.map(async ([sessionId, reason]) => expect(await reasons({ deviceId, sessionId })).toEqual([reason, reason])),
  )
  const isRevoked = ["DEVICE_REVOKED", "DEVICE_REVOKED"]
  expect(await reasons({ ...unknown, sessionId: active })).toEqual(isRevoked)
  await device.calls.devices.revokeDevice({ deviceId })
  expect(await reasons({ deviceId, sessionId: active })).toEqual(isRevoked)
})

test("a device has at most four open streams", async () => {
  const { newDevice } = world
  const alice = await newDevice({ packages: 0 })
  const streams = [1, 2, 3, 4].map(() => listening(alice))
  await Promise.all(streams.map((stream) => stream.until("keyPackageLow")))
  expect(await refusal(listening(alice).next())).toBe("LIMIT_EXCEEDED")
  streams[0]?.close()
  await listeners(3)
  const another = listening(alice)
  expect((await another.next()).case).toBe("keyPackageLow")
  for (const stream of [...streams, another]) stream.close()
})

test.runIf(isLong)("a stalled reader delays no other, and its stream ends", async () => {
  const { newDevice, advance, deps } = world
  const alice = await newDevice()
  const bob = await newDevice()
  const carol = await newDevice()
  const room = await alice.createGroup([bob.userId, carol.userId])
  await bob.join()
  await carol.join()
  const [stalled, reading] = [listening(bob, true), listening(carol, true)]
  await stalled.next()
  await reading.until("keyPackageLow")
  for (let count = 0; count < 20; count++) {
    const next = reading.until("envelopeAvailable")
    const { seq } = await alice.send(room, `message ${count}`)
    expect(await next).toMatchObject({ value: { headSeq: seq } })
  }
  for (let beats = 0; beats < 4; beats++) {
    advance(heartbeatMs)
    await reading.until("heartbeat")
  }
  const ended = stalled.until("directiveIssued")
  expect(await refusal(ended)).toBe("UNAVAILABLE")
  expect(deps.clock.nowMs()).toBeGreaterThan(Date.now())
  reading.close()
})

test("a stream whose reader takes nothing ends once too many hints wait", async () => {
  const alice = await world.newDevice({ packages: 3 })
  const stream = listening(alice)
  await stream.until("keyPackageLow")
  const deviceId = parseId("dev", alice.id) ?? expect.fail("no device")
  const hints = Array.from({ length: 300 }, () => ({
    ...({ is: "welcome", deviceId } as const),
    ...{ welcomeId: idOf("wel", randomBytes(16)), conversationId: idOf("cnv", randomBytes(16)) },
  }))
  world.deps.wakeups.publish(hints)
  expect(await refusal(stream.until("heartbeat"))).toBe("UNAVAILABLE")
  expect(world.timers).toBe(0)
})
