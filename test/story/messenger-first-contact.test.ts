// Two people whose devices are all new, or were replaced without being revoked, write to each other: messages wait for
// key packages, and a direct conversation that no member device can open goes on in a new group.

import { afterAll, beforeAll, expect, test } from "vitest"
import { failureOf } from "../../clients/core/errors.ts"
import type { MessengerEvent } from "../../clients/core/messaging/events.ts"
import { type Messengers, messengersOn, type Seated, systemClock, textsIn } from "../support/messaging/messengers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let messengers: Messengers
let movedMs = 0
const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + movedMs }

beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server, { keyPackages: 3 })
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)
const newcomer = (name: string) => messengers.newcomer(name, { clock })

/** Longer than a member counts as online. */
function pass(ms = 61_000): void {
  movedMs += ms
  server.advance(ms)
}

/** Another device of the same person, whose first one is lost with its store. */
async function replaced({ person }: Pick<Seated, "person">): Promise<Seated> {
  const seated = await messengers.open(await person.again(), { clock })
  await seated.messenger.sync()
  return seated
}

/** The same device, in another process. */
async function reopened({ person, store, box, messenger }: Seated): Promise<Seated> {
  await messenger.close()
  return messengers.open(person, { store, box, clock })
}

async function syncAll(...all: readonly Seated[]): Promise<void> {
  for (let round = 0; round < 3; round++) for (const { messenger } of all) await messenger.sync()
}

const kindsIn = async ({ messenger }: Seated, id: string) => (await messenger.timeline(id)).map(({ is }) => is)
const statusOf = async ({ messenger }: Seated, id: string) => (await messenger.conversation(id))?.status

function eventsOf({ messenger }: Seated): MessengerEvent[] {
  const events: MessengerEvent[] = []
  messenger.subscribe((event) => events.push(event))
  return events
}

test("messages to a person without any device wait, and arrive in order once there is one", async () => {
  const ada = await newcomer("ada a")
  const person = await server.person("bob a")
  const { id, status, waitsFor } = await ada.messenger.createDirectConversation(person.userId)
  expect({ status, waitsFor }).toEqual({ status: "waiting", waitsFor: "keyPackages" })
  const events = eventsOf(ada)
  const first = await ada.messenger.send(id, utf8("one"))
  await ada.messenger.send(id, utf8("two"))
  expect(first.state).toBe("queued")
  expect(events.filter(({ is }) => is === "queued")).toHaveLength(2)
  const bob = await messengers.open(person, { clock })
  // It has a device now, and no key package.
  await ada.messenger.sync()
  expect(await statusOf(ada, id)).toBe("waiting")
  await bob.messenger.sync()
  await syncAll(ada, bob)
  expect(await textsIn(bob, id)).toEqual(["one", "two"])
  expect(await textsIn(ada, id)).toEqual(["one", "two"])
  expect(await ada.messenger.outbox(id)).toEqual([])
  const sent = (await ada.messenger.timeline(id)).find((entry) => entry.is === "message")
  expect(sent).toMatchObject({ outboxId: first.outboxId })
  await bob.messenger.send(id, utf8("three"))
  await ada.messenger.sync()
  expect(await textsIn(ada, id)).toEqual(["one", "two", "three"])
})

test("what waits is sent once after a restart, and by one of two tabs", async () => {
  const ada = await newcomer("ada d")
  const person = await server.person("bob d")
  const { id } = await ada.messenger.createDirectConversation(person.userId)
  await ada.messenger.send(id, utf8("before the restart"))
  const again = await reopened(ada)
  expect(await again.messenger.outbox(id)).toMatchObject([{ plaintext: utf8("before the restart"), state: "queued" }])
  expect((await again.messenger.conversation(id))?.waitsFor).toBe("keyPackages")
  const tab = await messengers.open(again.person, { store: again.store, box: again.box, clock })
  await tab.messenger.send(id, utf8("of the other tab"))
  const bob = await messengers.open(person, { clock })
  await bob.messenger.sync()
  await Promise.all([again.messenger.sync(), tab.messenger.sync()])
  await syncAll(again, tab, bob)
  expect(await textsIn(bob, id)).toEqual(["before the restart", "of the other tab"])
})

test("both ask for each other before either has key packages", async () => {
  const [ann, ben] = [await server.person("ann x"), await server.person("ben x")]
  const [ada, bob] = await Promise.all([messengers.open(ann, { clock }), messengers.open(ben, { clock })])
  const [one, other] = await Promise.all([
    ada.messenger.createDirectConversation(ben.userId),
    bob.messenger.createDirectConversation(ann.userId),
  ])
  expect(one.id).toBe(other.id)
  await Promise.all([ada.messenger.send(one.id, utf8("from ada")), bob.messenger.send(one.id, utf8("from bob"))])
  await syncAll(ada, bob)
  for (const seated of [ada, bob]) {
    expect((await textsIn(seated, one.id)).sort()).toEqual(["from ada", "from bob"])
    expect(await statusOf(seated, one.id)).toBe("active")
  }
})

/** A conversation whose two devices are lost with their stores, and those that came after them. */
async function bothReplaced(name: string): Promise<{ ada: Seated; bob: Seated; id: string; lost: Seated[] }> {
  const [first, second] = [await newcomer(`ada ${name}`), await newcomer(`bob ${name}`)]
  const { id } = await first.messenger.createDirectConversation(second.person.userId)
  await syncAll(second)
  await first.messenger.send(id, utf8("before"))
  await syncAll(second)
  pass()
  return { ada: await replaced(first), bob: await replaced(second), id, lost: [first, second] }
}

test("two people who have both replaced their devices write to each other, and nobody revokes any", async () => {
  const { ada, bob, id, lost } = await bothReplaced("b")
  const { id: same, status } = await ada.messenger.createDirectConversation(bob.person.userId)
  expect({ same, status }).toEqual({ same: id, status: "active" })
  await ada.messenger.send(id, utf8("hello"))
  await syncAll(bob)
  await bob.messenger.send(id, utf8("hello back"))
  await syncAll(ada)
  expect(await textsIn(bob, id)).toEqual(["hello", "hello back"])
  expect(await textsIn(ada, id)).toEqual(["hello", "hello back"])
  // A device that was only away follows: what it read stays, and it is shown the break.
  const [first] = lost
  if (first === undefined) throw new Error("nobody")
  await syncAll(first)
  expect(await kindsIn(first, id)).toEqual(["membership", "message", "reset", "message", "message"])
  expect(await statusOf(first, id)).toBe("active")
  await first.messenger.send(id, utf8("from the old one"))
  await syncAll(ada, bob)
  expect((await textsIn(bob, id)).at(-1)).toBe("from the old one")
})

test("of two resets at once one counts, and all is delivered once", async () => {
  const { ada, bob, id } = await bothReplaced("e")
  await Promise.all([
    ada.messenger.createDirectConversation(bob.person.userId),
    bob.messenger.createDirectConversation(ada.person.userId),
  ])
  await Promise.all([ada.messenger.send(id, utf8("from ada")), bob.messenger.send(id, utf8("from bob"))])
  await syncAll(ada, bob)
  for (const seated of [ada, bob]) {
    expect((await textsIn(seated, id)).sort()).toEqual(["from ada", "from bob"])
    expect(await statusOf(seated, id)).toBe("active")
  }
})

test("a device that a member can add waits for it, and the group stays", async () => {
  const [first, bob] = [await newcomer("ada h"), await newcomer("bob h")]
  const { id } = await first.messenger.createDirectConversation(bob.person.userId)
  await syncAll(bob)
  const ada = await replaced(first)
  const { status, waitsFor } = await ada.messenger.createDirectConversation(bob.person.userId)
  expect({ status, waitsFor }).toEqual({ status: "waiting", waitsFor: "welcome" })
  expect((await ada.messenger.send(id, utf8("hello"))).state).toBe("queued")
  await syncAll(first, ada, bob)
  expect(await textsIn(bob, id)).toEqual(["hello"])
  expect(await kindsIn(bob, id)).not.toContain("reset")
})

test.each([
  ["oneself", (ada: Seated) => ada.person.userId, "INVALID_FIELD"],
  ["a user that does not exist", () => `prn_${"0".repeat(26)}`, "RESOURCE_UNRESOLVED"],
  ["no name at all", () => "bob", "INVALID_FIELD"],
])("a conversation with %s is refused, and nothing is left of it", async (name, peer, reason) => {
  const ada = await newcomer(`ada bad ${name}`)
  const refused = await ada.messenger.createDirectConversation(peer(ada)).catch((error: unknown) => error)
  expect(failureOf(refused)?.reason).toBe(reason)
  expect(await ada.messenger.conversations()).toEqual([])
  const events = eventsOf(ada)
  await ada.messenger.sync()
  expect(events.filter(({ is }) => is === "failed")).toEqual([])
})

test("a message that is too large for any group is refused before it is stored", async () => {
  const ada = await newcomer("ada large")
  const person = await server.person("bob large")
  const { id } = await ada.messenger.createDirectConversation(person.userId)
  await expect(ada.messenger.send(id, new Uint8Array(220 * 1024 + 1))).rejects.toMatchObject({
    reason: "MESSAGE_TOO_LARGE",
  })
  expect(await ada.messenger.outbox(id)).toEqual([])
})
