// Devices that were lost or replaced without a revocation: once no member was online for a minute, the direct
// conversation continues in a new group under the same id.

import { Code, ConnectError } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { afterAll, beforeAll, expect, test } from "vitest"
import { failureOf } from "../../clients/core/errors.ts"
import type { TimelineEntry } from "../../clients/core/messaging/events.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { copyOf } from "../support/messaging/copied-store.ts"
import { lyingTransport } from "../support/messaging/lying-transport.ts"
import { type Messengers, messengersOn, type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import { movedClock } from "../support/messaging/moved-clock.ts"
import { watchedTransport } from "../support/messaging/watched-transport.ts"
import { storyStore } from "../support/postgres.ts"

const isAtEdge = process.env.SIGNET_MESSAGING === "edge"
/** The Worker's time cannot be moved: the tests wait for a minute or two, side by side. */
const waiting = { concurrent: isAtEdge, timeout: isAtEdge ? 400_000 : 180_000 }

let server: Deployment
let messengers: Messengers
const { clock, pass } = movedClock(() => server.inProcess)

beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server, { keyPackages: 3 })
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)
const newcomer = (name: string) => messengers.newcomer(name, { clock })

/** Another device of the same person, who has lost the first one with its store. */
async function replaced({ person }: Pick<OpenedMessenger, "person">): Promise<OpenedMessenger> {
  const opened = await messengers.open(await person.again(), { clock })
  await opened.messenger.sync()
  return opened
}

async function syncAll(...all: readonly OpenedMessenger[]): Promise<void> {
  for (let round = 0; round < 3; round++) for (const { messenger } of all) await messenger.sync()
}

const kindsIn = async ({ messenger }: OpenedMessenger, id: string) => (await messenger.timeline(id)).map(({ is }) => is)
const statusOf = async ({ messenger }: OpenedMessenger, id: string) => (await messenger.conversation(id))?.status

/** A conversation whose two devices are lost with their stores, and the devices that replaced them. */
async function bothReplaced(
  name: string,
): Promise<{ ada: OpenedMessenger; bob: OpenedMessenger; id: string; lost: OpenedMessenger[] }> {
  const [first, second] = [await newcomer(`ada ${name}`), await newcomer(`bob ${name}`)]
  const { id } = await first.messenger.createDirectConversation(second.person.userId)
  await syncAll(second)
  await first.messenger.send(id, utf8("before"))
  await syncAll(second)
  await pass()
  return { ada: await replaced(first), bob: await replaced(second), id, lost: [first, second] }
}

test.runIf(isLong)(
  "two people who have both replaced their devices write to each other without a revocation",
  waiting,
  async () => {
    const { ada, bob, id, lost } = await bothReplaced("b")
    const { id: same, status } = await ada.messenger.createDirectConversation(bob.person.userId)
    expect({ same, status }).toEqual({ same: id, status: "active" })
    await ada.messenger.send(id, utf8("hello"))
    await syncAll(bob)
    await bob.messenger.send(id, utf8("hello back"))
    await syncAll(ada)
    expect(await textsIn(bob, id)).toEqual(["hello", "hello back"])
    expect(await textsIn(ada, id)).toEqual(["hello", "hello back"])
    // A device that was only offline follows: it keeps its timeline, which shows the gap.
    const [first] = lost
    if (first === undefined) throw new Error("nobody")
    await syncAll(first)
    expect(await kindsIn(first, id)).toEqual(["membership", "message", "reset", "newKeys", "message", "message"])
    expect(await statusOf(first, id)).toBe("active")
    await first.messenger.send(id, utf8("from the old one"))
    await syncAll(ada, bob)
    expect((await textsIn(bob, id)).at(-1)).toBe("from the old one")
  },
)

test.runIf(isLong)(
  "messages between two resets, the second of which voids the welcomes of the first, are shown as a gap",
  waiting,
  async () => {
    const { ada, bob, id, lost } = await bothReplaced("twice")
    await ada.messenger.createDirectConversation(bob.person.userId)
    await ada.messenger.send(id, utf8("between the resets"))
    await syncAll(bob)
    await pass()
    const [adaAgain, bobAgain] = [await replaced(ada), await replaced(bob)]
    await adaAgain.messenger.createDirectConversation(bob.person.userId)
    await adaAgain.messenger.send(id, utf8("after both"))
    await syncAll(bobAgain)
    const [first] = lost
    if (first === undefined) throw new Error("nobody")
    const told: string[] = []
    first.messenger.subscribe((event) => event.is === "entry" && told.push(event.entry.is))
    await syncAll(first)
    const shown = ["reset", "gap", "newKeys", "reset", "message"]
    expect(await kindsIn(first, id)).toEqual(["membership", "message", ...shown])
    expect(told).toEqual(shown)
    const entries = await first.messenger.timeline(id)
    const [begun, again] = entries.filter(({ is }) => is === "reset")
    const gap = entries.find(({ is }) => is === "gap")
    expect(gap).toMatchObject({ seq: again?.seq, afterSeq: begun?.seq })
    expect(await textsIn(first, id)).toEqual(["before", "after both"])
  },
)

test.runIf(isLong)(
  "a device that has never joined resets the conversation with a later sync, without a message",
  waiting,
  async () => {
    const [first, second] = [await newcomer("ada never"), await newcomer("bob never")]
    const { id } = await first.messenger.createDirectConversation(second.person.userId)
    await syncAll(second)
    const ada = await replaced(first)
    expect((await ada.messenger.createDirectConversation(second.person.userId)).status).toBe("waiting")
    await pass()
    await ada.messenger.sync()
    expect(await statusOf(ada, id)).toBe("active")
  },
)

test.runIf(isLong).each([
  ["because another device was first", "NOT_MEMBER", "waiting"],
  ["for another reason", "INVALID_FIELD", "INVALID_FIELD"],
])(
  "a reset that the service refuses %s keeps the queued message for the next one",
  waiting,
  async (_, reason, outcome) => {
    const [first, second] = [await newcomer(`ada ${reason}`), await newcomer(`bob ${reason}`)]
    const { id } = await first.messenger.createDirectConversation(second.person.userId)
    await syncAll(second)
    await pass()
    const transport = watchedTransport(messengers.transport)
    const ada = await messengers.open(await first.person.again(), { clock, transport })
    await ada.messenger.sync()
    transport.before = async ({ method }) => {
      if (method !== "AppendMessage") return
      transport.before = undefined
      throw new ConnectError("refused", Code.FailedPrecondition, undefined, [
        { desc: ErrorInfoSchema, value: { reason, domain: "signet" } },
      ])
    }
    const asked = ada.messenger.createDirectConversation(second.person.userId)
    expect(
      await asked.then(
        ({ status }) => status,
        (error: unknown) => failureOf(error)?.reason,
      ),
    ).toBe(outcome)
    expect(transport.before).toBeUndefined()
    expect(await statusOf(ada, id)).toBe("waiting")
    await ada.messenger.send(id, utf8("hello"))
    await syncAll(ada, second)
    expect(await statusOf(ada, id)).toBe("active")
    expect(await textsIn(second, id)).toEqual(["hello"])
  },
)

test.runIf(isLong)(
  "messages that a restored store has encrypted with used keys are encrypted again for the new group",
  waiting,
  async () => {
    const [ada, bob] = [await newcomer("ada restored"), await newcomer("bob offline")]
    const { id } = await ada.messenger.createDirectConversation(bob.person.userId)
    await syncAll(bob)
    const backup = await copyOf(ada.store)
    await ada.messenger.send(id, utf8("one"))
    await ada.messenger.close()
    await pass()
    const restored = await messengers.open(ada.person, { clock, store: backup, box: ada.box })
    for (const text of ["two", "three"]) await restored.messenger.encryptMessage(id, utf8(text))
    await syncAll(restored)
    expect(await kindsIn(restored, id)).toEqual(["membership", "unreadable", "reset", "message", "message"])
    await syncAll(bob)
    expect(await kindsIn(bob, id)).not.toContain("unreadable")
    expect(await textsIn(bob, id)).toEqual(["one", "two", "three"])
  },
)

/** A device that was offline finds a reset in the log and joins by its welcome. The new group has no message yet. */
async function awayAndBack(
  name: string,
): Promise<{ ada: OpenedMessenger; bob: OpenedMessenger; id: string; away: OpenedMessenger }> {
  const { ada, bob, id, lost } = await bothReplaced(name)
  const [away] = lost
  if (away === undefined) throw new Error("nobody")
  await ada.messenger.createDirectConversation(bob.person.userId)
  await syncAll(away)
  return { ada, bob, id, away }
}

/** Reads page by page, each after the sequence number of the last entry. */
async function readOn({ messenger }: OpenedMessenger, id: string, read: TimelineEntry[]): Promise<void> {
  for (;;) {
    const last = read.at(-1)
    const page = await messenger.timeline(id, { limit: 1, ...(last && { afterSeq: last.seq }) })
    if (page.length === 0) return
    read.push(...page)
  }
}

const newDevicesIn = (entries: readonly TimelineEntry[]) =>
  entries.flatMap((entry) => (entry.is === "newKeys" ? entry.devices.map(({ deviceId }) => deviceId) : [])).sort()

test.runIf(isLong)("an app that reads page by page misses nothing after a reset", waiting, async () => {
  const { ada, bob, id, away } = await awayAndBack("pages")
  const read: TimelineEntry[] = []
  await readOn(away, id, read)
  for (const text of ["first", "second"]) {
    await ada.messenger.send(id, utf8(text))
    await syncAll(away)
    await readOn(away, id, read)
  }
  expect(read.map(({ is }) => is)).toEqual(["membership", "message", "reset", "newKeys", "message", "message"])
  expect(read).toEqual(await away.messenger.timeline(id))
  expect(newDevicesIn(read)).toEqual([ada.messenger.deviceId, bob.messenger.deviceId].sort())
})

test.runIf(isLong)("each of two tabs warns once of a reset's new keys", waiting, async () => {
  const { ada, bob, id, lost } = await bothReplaced("tabs")
  const [here] = lost
  if (here === undefined) throw new Error("nobody")
  const tabs = [here, await messengers.open(here.person, { ...here, clock })]
  const heard = await Promise.all(
    tabs.map(async ({ messenger }) => {
      await messenger.conversation(id)
      const entries: string[] = []
      messenger.subscribe((event) => event.is === "entry" && entries.push(event.entry.is))
      return entries
    }),
  )
  await ada.messenger.createDirectConversation(bob.person.userId)
  for (const { messenger } of tabs) await messenger.sync()
  await ada.messenger.send(id, utf8("hello"))
  for (const { messenger } of tabs.toReversed()) await messenger.sync()
  for (const entries of heard) expect(entries).toEqual(["reset", "newKeys", "message"])
})

test.runIf(isLong)("a device joins a reset right after a reset, and gets the warnings of both", waiting, async () => {
  const { ada, bob, id, away } = await awayAndBack("at once")
  const failures: unknown[] = []
  away.messenger.subscribe((event) => event.is === "failed" && failures.push(event.error))
  await away.messenger.rejoin(id)
  await pass()
  const third = await replaced(ada)
  await third.messenger.createDirectConversation(bob.person.userId)
  await third.messenger.send(id, utf8("hello"))
  await syncAll(away)
  expect(failures).toEqual([])
  expect(await kindsIn(away, id)).toEqual(["membership", "message", "reset", "newKeys", "reset", "message"])
  const devices = [ada, bob, third].map(({ messenger }) => messenger.deviceId)
  expect(newDevicesIn(await away.messenger.timeline(id))).toEqual(devices.sort())
})

test.runIf(isLong)("of two resets at the same time one is used, and all is delivered once", waiting, async () => {
  const { ada, bob, id } = await bothReplaced("e")
  await Promise.all([
    ada.messenger.createDirectConversation(bob.person.userId),
    bob.messenger.createDirectConversation(ada.person.userId),
  ])
  await Promise.all([ada.messenger.send(id, utf8("from ada")), bob.messenger.send(id, utf8("from bob"))])
  await syncAll(ada, bob)
  for (const opened of [ada, bob]) {
    expect((await textsIn(opened, id)).sort()).toEqual(["from ada", "from bob"])
    expect(await statusOf(opened, id)).toBe("active")
  }
})

test.runIf(isLong && !isAtEdge)("messages wait for a peer whose key packages have all expired", waiting, async () => {
  const [first, second] = [await newcomer("ada c"), await newcomer("bob c")]
  const { id } = await first.messenger.createDirectConversation(second.person.userId)
  await syncAll(second)
  // A last resort is valid for 90 days.
  await pass(100 * 86_400_000)
  const ada = await replaced(first)
  const { id: same, status } = await ada.messenger.createDirectConversation(second.person.userId)
  expect({ same, status }).toEqual({ same: id, status: "waiting" })
  expect((await ada.messenger.send(id, utf8("hello"))).state).toBe("queued")
  await ada.messenger.sync()
  expect(await statusOf(ada, id)).toBe("waiting")
  const bob = await replaced(second)
  await syncAll(ada, bob)
  expect(await textsIn(bob, id)).toEqual(["hello"])
})

/** Bob has not read Ada's message, and the answer to Bob's last message was lost when he began to wait. */
async function unreadAndUnanswered(name: string): Promise<{ ada: OpenedMessenger; bob: OpenedMessenger; id: string }> {
  const ada = await newcomer(`ada ${name}`)
  const transport = lyingTransport(messengers.transport)
  const bob = await messengers.newcomer(`bob ${name}`, { clock, transport })
  const { id } = await ada.messenger.createDirectConversation(bob.person.userId)
  await syncAll(bob, ada)
  transport.bend = {
    method: "AppendMessage",
    answer() {
      throw new Error("lost")
    },
  }
  await expect(bob.messenger.send(id, utf8("unanswered"))).rejects.toThrow("lost")
  transport.bend = undefined
  await bob.messenger.rejoin(id)
  await ada.messenger.send(id, utf8("unread"))
  await pass()
  return { ada, bob, id }
}

test
  .runIf(isLong)
  .each<[string, (device: Pick<OpenedMessenger, "messenger">, id: string, peerUserId: string) => unknown]>([
    ["a message that it sends", ({ messenger }, id) => messenger.send(id, utf8("next"))],
    ["the app's request", ({ messenger }, _, peerUserId) => messenger.createDirectConversation(peerUserId)],
  ])("a device reads the log to its end before the reset that follows %s", waiting, async (name, want) => {
  const { ada, bob, id } = await unreadAndUnanswered(name)
  await want(bob, id, ada.person.userId)
  await expect.poll(() => statusOf(bob, id)).toBe("active")
  await syncAll(ada, bob)
  for (const opened of [ada, bob]) {
    expect((await textsIn(opened, id)).filter((text) => text !== "next")).toEqual(["unanswered", "unread"])
    expect(await kindsIn(opened, id)).toContain("reset")
  }
})
