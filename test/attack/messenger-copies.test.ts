// A store that was restored from a backup, or copied with its machine. No message is encrypted with a key that was used
// before, and no message that was reported as sent is lost.
import { randomBytes } from "node:crypto"
import { ConnectError, type Transport } from "@connectrpc/connect"
import { afterAll, beforeAll, expect, test } from "vitest"
import { isSignetError } from "../../clients/core/errors.ts"
import { isMessagingError } from "../../clients/core/messaging/errors.ts"
import type { MessengerEvent } from "../../clients/core/messaging/events.ts"
import { idOf } from "../../clients/core/messaging/ids.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import type { MessagingStore } from "../../clients/core/messaging/store/store.ts"
import { isLong, sample } from "../support/effort.ts"
import { copyOf } from "../support/messaging/copied-store.ts"
import {
  type Messengers,
  messengersOn,
  type OpenedMessenger,
  systemClock,
  textsIn,
} from "../support/messaging/messengers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let messengers: Messengers
let ben: OpenedMessenger
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server)
  ben = await messengers.newcomer("ben")
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

/** A transport on which each call fails. */
const cutOff = (): Transport => ({
  ...messengers.transport,
  unary: () => Promise.reject(new TypeError("fetch failed")),
})
const utf8 = (text: string) => new TextEncoder().encode(text)

test.runIf(isLong)("the first message after a store was restored uses no former key and is not lost", async () => {
  const ann = await messengers.newcomer("ann with a backup")
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  await ann.messenger.send(id, utf8("one"))
  const backup = await copyOf(ann.store)
  await ann.messenger.send(id, utf8("two"))
  await ann.messenger.close()

  const old = await messengers.open(ann.person, { store: backup, box: ann.box })
  await expect(old.messenger.send(id, utf8("three"))).rejects.toMatchObject({
    reason: "QUEUED",
    cause: { reason: "STATE_ROLLBACK" },
  })
  expect((await old.messenger.conversation(id))?.status).toBe("rolledBack")
  for (const one of [old, ben, old, ben]) await one.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["one", "two", "three"])
  const unreadable = (await ben.messenger.timeline(id)).filter(({ is }) => is === "unreadable")
  expect(unreadable).toEqual([])
})

test.runIf(isLong)(
  "a message that waits in a copy, and was encrypted again and sent since, is reported and read once",
  async () => {
    const ann = await messengers.newcomer("ann whose message waits")
    const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
    await ann.messenger.send(id, utf8("one"))
    await ann.messenger.close()
    const offline = await messengers.open(ann.person, { ...ann, transport: cutOff() })
    await expect(offline.messenger.send(id, utf8("waits"))).rejects.toMatchObject({ reason: "QUEUED" })
    await offline.messenger.close()
    const backup = await copyOf(ann.store)
    await ben.messenger.sync()
    await ben.messenger.addMembers(id, [(await messengers.newcomer("a third who ends the epoch")).person.userId])
    const newer = await messengers.open(ann.person, { store: ann.store, box: ann.box })
    await newer.messenger.sync()
    await newer.messenger.close()

    const old = await messengers.open(ann.person, { store: backup, box: ann.box })
    const unsent: MessengerEvent[] = []
    old.messenger.subscribe((event) => event.is === "unsent" && unsent.push(event))
    await expect(old.messenger.send(id, utf8("three"))).rejects.toMatchObject({ reason: "QUEUED" })
    for (const one of [old, ben, old, ben]) await one.messenger.sync()
    expect(unsent).toMatchObject([{ conversationId: id, error: { reason: "STATE_ROLLBACK" } }])
    expect(await textsIn(ben, id)).toEqual(["one", "waits", "three"])
  },
)

test.runIf(isLong).each(["tree", "staged"] as const)(
  "a %s that was restored alone is detected before it is used to encrypt",
  async (table) => {
    const ann = await messengers.newcomer(`ann with an old ${table}`)
    const old = new Map<string, Uint8Array>()
    const noting: MessagingStore = {
      ...ann.store,
      transact(space, generation, ops) {
        for (const op of ops) if (op.table === table && op.op === "put" && !old.has(space)) old.set(space, op.value)
        return ann.store.transact(space, generation, ops)
      },
    }
    await ann.messenger.close()
    const noted = await messengers.open(ann.person, { store: noting, box: ann.box })
    const { id } = await noted.messenger.createGroupConversation([ben.person.userId])
    await noted.messenger.addMembers(id, [(await messengers.newcomer(`a third beside ${table}`)).person.userId])
    await noted.messenger.close()
    const before = old.get(id) ?? expect.fail(`no ${table} was written`)
    const putBack: MessagingStore = {
      ...ann.store,
      async read(space, wanted) {
        const { generation, values } = await ann.store.read(space, wanted)
        const isOld = (i: number) => space === id && wanted[i]?.table === table
        return { generation, values: values.map((value, i) => (isOld(i) ? before : value)) }
      },
    }
    const opened = await messengers.open(ann.person, { store: putBack, box: ann.box })
    await expect(opened.messenger.send(id, utf8("hello"))).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
    await opened.messenger.close()
    const good = await messengers.open(ann.person, { store: ann.store, box: ann.box })
    await good.messenger.send(id, utf8("hello"))
  },
)

test("an event from another script of the page's origin has no effect", async () => {
  const { person, store, box } = await messengers.newcomer("ann in a tab")
  const said: ((space: string) => void)[] = []
  const watched: MessagingStore = { ...store, watch: (listener) => void said.push(listener) }
  const { context } = await openContext(...messengers.optionsFor(person, { store: watched, box }))
  const names = [...Array.from({ length: 200 }, () => idOf("cnv", randomBytes(16))), "", "device ", "../state"]
  for (const name of names) for (const say of said) say(name)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(said).toHaveLength(1)
  for (const name of names) expect(await context.has(name)).toBe(false)
})

const day = 86_400_000
const clocks: readonly [string, number][] = [
  ["an hour back", -day / 24],
  ["forty days ahead", 40 * day],
  ["ten years back", -3_650 * day],
  ["sixty days ahead", 60 * day],
  ["ten years ahead", 3_650 * day],
]
test.each(sample(1, clocks))(
  "a clock that was %s loses nothing: once it is right, members who were added meanwhile are in",
  async (name, offset) => {
    const ann = await messengers.newcomer(`ann, ${name}`)
    const { id: before } = await ann.messenger.createGroupConversation([ben.person.userId])
    const { id } = await ben.messenger.createGroupConversation([ann.person.userId])
    await ben.messenger.send(id, utf8("while the clock was wrong"))
    await ann.messenger.close()
    const clock = {
      ...systemClock,
      nowMs: () => Date.now() + offset,
      after: (_: number, run: () => void) => systemClock.after(0, run),
    }
    const wrong = await messengers.open(ann.person, { store: ann.store, box: ann.box, clock })
    const isTyped = (error: unknown) => isMessagingError(error) || isSignetError(error) || error instanceof ConnectError
    await wrong.messenger.sync().catch((error: unknown) => expect(error).toSatisfy(isTyped))
    await wrong.messenger
      .send(before, utf8("at a wrong time"))
      .catch((error: unknown) => expect(error).toSatisfy(isTyped))
    await wrong.messenger.close()
    const right = await messengers.open(ann.person, { store: ann.store, box: ann.box })
    for (const one of [right, ben, right, ben]) await one.messenger.sync()
    const failures: unknown[] = []
    right.messenger.subscribe((event) => event.is === "failed" && failures.push(event.error))
    await right.messenger.sync()
    expect(failures).toEqual([])
    expect(await textsIn(right, id)).toEqual(["while the clock was wrong"])
    expect((await right.messenger.conversation(before))?.status).toBe("active")
  },
)
