// Two people with new devices write to each other: messages wait for key packages, and are sent once, in order. If no
// member can follow any more, the direct conversation continues in a new group.

import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { afterAll, beforeAll, expect, test } from "vitest"
import { failureOf } from "../../clients/core/errors.ts"
import { createMessengerWith } from "../../clients/core/messaging/create-messenger.ts"
import type { MessengerEvent } from "../../clients/core/messaging/events.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { effort, isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let messengers: Messengers

beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server, { keyPackages: 3 })
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)
const newcomer = (name: string) => messengers.newcomer(name)

/** Another device of the same person, who has lost the first one with its store. */
async function replaced({ person }: Pick<OpenedMessenger, "person">): Promise<OpenedMessenger> {
  const opened = await messengers.open(await person.again())
  await opened.messenger.sync()
  return opened
}

/** The same device in another process. */
async function reopened({ person, store, box, messenger }: OpenedMessenger): Promise<OpenedMessenger> {
  await messenger.close()
  return messengers.open(person, { store, box })
}

async function syncAll(...all: readonly OpenedMessenger[]): Promise<void> {
  for (let round = 0; round < 3; round++) for (const { messenger } of all) await messenger.sync()
}

const kindsIn = async ({ messenger }: OpenedMessenger, id: string) => (await messenger.timeline(id)).map(({ is }) => is)
const statusOf = async ({ messenger }: OpenedMessenger, id: string) => (await messenger.conversation(id))?.status

function eventsOf({ messenger }: OpenedMessenger): MessengerEvent[] {
  const events: MessengerEvent[] = []
  messenger.subscribe((event) => events.push(event))
  return events
}

test.runIf(isLong)("messages to a person without a device wait, and arrive in order once there is one", async () => {
  const ada = await newcomer("ada a")
  const person = await server.person("bob a")
  const { id, status, waitsFor } = await ada.messenger.createDirectConversation(person.userId)
  expect({ status, waitsFor }).toEqual({ status: "waiting", waitsFor: "keyPackages" })
  const events = eventsOf(ada)
  const first = await ada.messenger.send(id, utf8("one"))
  await ada.messenger.send(id, utf8("two"))
  expect(first.state).toBe("queued")
  expect(events.filter(({ is }) => is === "queued")).toHaveLength(2)
  const bob = await messengers.open(person)
  // Bob has a device now, but no key package.
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

test.runIf(isLong)("a waiting message is sent once after a restart, and by one of two tabs", async () => {
  const ada = await newcomer("ada d")
  const person = await server.person("bob d")
  const { id } = await ada.messenger.createDirectConversation(person.userId)
  await ada.messenger.send(id, utf8("before the restart"))
  const again = await reopened(ada)
  expect(await again.messenger.outbox(id)).toMatchObject([{ plaintext: utf8("before the restart"), state: "queued" }])
  expect((await again.messenger.conversation(id))?.waitsFor).toBe("keyPackages")
  const tab = await messengers.open(again.person, { store: again.store, box: again.box })
  await tab.messenger.send(id, utf8("of the other tab"))
  const bob = await messengers.open(person)
  await bob.messenger.sync()
  await Promise.all([again.messenger.sync(), tab.messenger.sync()])
  await syncAll(again, tab, bob)
  expect(await textsIn(bob, id)).toEqual(["before the restart", "of the other tab"])
})

test.runIf(isLong)(
  "two users who request the conversation before either has key packages get the same one",
  async () => {
    const [ann, ben] = [await server.person("ann x"), await server.person("ben x")]
    const [ada, bob] = await Promise.all([messengers.open(ann), messengers.open(ben)])
    const [one, other] = await Promise.all([
      ada.messenger.createDirectConversation(ben.userId),
      bob.messenger.createDirectConversation(ann.userId),
    ])
    expect(one.id).toBe(other.id)
    await Promise.all([ada.messenger.send(one.id, utf8("from ada")), bob.messenger.send(one.id, utf8("from bob"))])
    await syncAll(ada, bob)
    for (const opened of [ada, bob]) {
      expect((await textsIn(opened, one.id)).sort()).toEqual(["from ada", "from bob"])
      expect(await statusOf(opened, one.id)).toBe("active")
    }
  },
)

test.runIf(isLong)("a device that a member can add waits for that member, and does not reset the group", async () => {
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

test.runIf(isLong)("a deleted peer is reported, and messages that waited for them are not sent", async () => {
  const ada = await newcomer("ada p")
  const person = await server.person("bob p")
  const { id } = await ada.messenger.createDirectConversation(person.userId)
  const { outboxId } = await ada.messenger.send(id, utf8("never read"))
  const gone = withoutUsers(messengers.transport)
  const again = await messengers.open(ada.person, { store: ada.store, box: ada.box, transport: gone })
  const events = eventsOf(again)
  await again.messenger.sync()
  expect(events).toContainEqual(expect.objectContaining({ is: "unsent", conversationId: id, outboxId }))
  expect(await statusOf(again, id)).toBe("removed")
  expect(await again.messenger.outbox(id)).toEqual([])
  await expect(again.messenger.send(id, utf8("more"))).rejects.toMatchObject({ reason: "CONVERSATION_NOT_ACTIVE" })
})

/** Answers as the service does for a deleted user. */
const withoutUsers = (transport: Transport): Transport => refusingAuthorizations(transport, "RESOURCE_UNRESOLVED")

function refusingAuthorizations({ unary, stream }: Transport, reason: string): Transport {
  return {
    stream,
    async unary(method, ...call) {
      if (method.name !== "AuthorizeMembership") return unary(method, ...call)
      throw new ConnectError("refused", Code.PermissionDenied, undefined, [
        { desc: ErrorInfoSchema, value: { domain: "signet", reason } },
      ])
    },
  }
}

/** A conversation that both have left by a REJOIN, which no member can carry out. */
async function stranded(name: string): Promise<{ ada: OpenedMessenger; bob: OpenedMessenger; id: string }> {
  const [ada, bob] = [await newcomer(`ada ${name}`), await newcomer(`bob ${name}`)]
  const { id } = await ada.messenger.createDirectConversation(bob.person.userId)
  await syncAll(bob)
  await ada.messenger.send(id, utf8("before"))
  await syncAll(bob)
  await ada.messenger.rejoin(id)
  await bob.messenger.rejoin(id)
  return { ada, bob, id }
}

test.runIf(isLong)("a direct conversation that no member can follow is reset, and its timeline is kept", async () => {
  const { ada, bob, id } = await stranded("s")
  expect(await statusOf(bob, id)).toBe("stranded")
  expect((await bob.messenger.send(id, utf8("are you there?"))).state).toBe("queued")
  await syncAll(bob, ada)
  await ada.messenger.send(id, utf8("I am"))
  await syncAll(bob)
  for (const opened of [ada, bob]) {
    expect(await textsIn(opened, id)).toEqual(["before", "are you there?", "I am"])
    expect((await kindsIn(opened, id)).filter((is) => is === "reset")).toEqual(["reset"])
    expect(await statusOf(opened, id)).toBe("active")
  }
  const codes = await Promise.all([ada, bob].map(({ messenger }) => messenger.verification.groupCode(id)))
  expect(codes[0]).toBe(codes[1])
})

test.runIf(isLong)("the app's request resets a stranded conversation at once", async () => {
  const { ada, bob, id } = await stranded("at once")
  expect(await statusOf(bob, id)).toBe("stranded")
  expect(await bob.messenger.createDirectConversation(ada.person.userId)).toMatchObject({ id, status: "active" })
})

test.runIf(isLong)("of two concurrent resets one group is used", async () => {
  const { ada, bob, id } = await stranded("r")
  await Promise.all([ada.messenger.send(id, utf8("from ada")), bob.messenger.send(id, utf8("from bob"))])
  await Promise.all([ada.messenger.sync(), bob.messenger.sync()])
  await syncAll(ada, bob)
  for (const opened of [ada, bob]) {
    expect((await textsIn(opened, id)).toSorted()).toEqual(["before", "from ada", "from bob"])
    expect(await statusOf(opened, id)).toBe("active")
  }
})

test.runIf(isLong)(
  "a reset requires a new verification of a verified person, and with the strict setting nothing is sent before",
  async () => {
    const { ada, bob, id } = await stranded("v")
    const numberOf = async (userId: string) => (await ada.messenger.verification.of(userId)).safetyNumber
    const { userId } = bob.person
    await ada.messenger.verification.markVerified(userId, await numberOf(userId))
    await syncAll(bob, ada)
    expect(await ada.messenger.conversation(id)).toMatchObject({ status: "active", asksConfirmation: true })
    expect(await bob.messenger.conversation(id)).toMatchObject({ status: "active", asksConfirmation: false })
    const [options, primitives] = messengers.optionsFor(ada.person, ada)
    const strict = await createMessengerWith({ ...options, whenKeysChange: "refuse" }, primitives)
    const other = (await newcomer("somebody else v")).person.userId
    await strict.verification.markVerified(other, await numberOf(other))
    expect(await strict.conversation(id)).toMatchObject({ asksConfirmation: true })
    await expect(strict.send(id, utf8("too early"))).rejects.toMatchObject({ reason: "KEYS_CHANGED" })
    await strict.verification.markVerified(userId, await numberOf(userId))
    expect(await strict.conversation(id)).toMatchObject({ asksConfirmation: false })
    expect((await strict.send(id, utf8("compared"))).state).toBe("sent")
    await strict.close()
  },
)

test.runIf(isLong)(
  "a device that resets a conversation with a verified person requires a new verification",
  async () => {
    const { ada, bob, id } = await stranded("own")
    const { safetyNumber } = await ada.messenger.verification.of(bob.person.userId)
    await ada.messenger.verification.markVerified(bob.person.userId, safetyNumber)
    await ada.messenger.sync()
    expect(await ada.messenger.conversation(id)).toMatchObject({ status: "active", asksConfirmation: true })
    expect(await kindsIn(ada, id)).toContain("reset")
  },
)

test.runIf(isLong)(
  "messages to a person without a device still wait after a refusal that does not concern the person",
  async () => {
    const reason = "RATE_LIMITED"
    const ada = await newcomer(`ada ${reason}`)
    const person = await server.person(`bob ${reason}`)
    const { id } = await ada.messenger.createDirectConversation(person.userId)
    await ada.messenger.send(id, utf8("hello"))
    const refusing = refusingAuthorizations(messengers.transport, reason)
    const again = await messengers.open(ada.person, { store: ada.store, box: ada.box, transport: refusing })
    await again.messenger.sync()
    expect(await again.messenger.conversation(id)).toMatchObject({ status: "waiting", waitsFor: "keyPackages" })
    expect(await again.messenger.outbox(id)).toHaveLength(1)
  },
)

test.runIf(isLong)("a device waits for the welcome of another device that has made the first commit", async () => {
  const phone = await newcomer("ada two")
  const tablet = await messengers.open(await phone.person.again())
  await tablet.messenger.sync()
  const person = await server.person("bob two")
  const { id } = await phone.messenger.createDirectConversation(person.userId)
  expect((await tablet.messenger.createDirectConversation(person.userId)).id).toBe(id)
  await phone.messenger.send(id, utf8("from the phone"))
  const bob = await messengers.open(person)
  await bob.messenger.sync()
  await tablet.messenger.sync()
  expect(await statusOf(tablet, id)).toBe("active")
  // Sending tries again to create the conversation.
  await phone.messenger.send(id, utf8("and more"))
  const waitsFor = async () => (await phone.messenger.conversation(id))?.waitsFor
  await expect.poll(waitsFor).toBe("welcome")
  await syncAll(phone, bob)
  expect(await textsIn(bob, id)).toEqual(["from the phone", "and more"])
})

test.each([
  ["oneself", (ada: OpenedMessenger) => ada.person.userId, "INVALID_FIELD"],
  ["a user that does not exist", () => `prn_${"0".repeat(26)}`, "RESOURCE_UNRESOLVED"],
  ["a malformed id", () => "bob", "INVALID_FIELD"],
])("a conversation with %s is refused, and nothing of it remains", async (name, peer, reason) => {
  const ada = await newcomer(`ada bad ${name}`)
  const refused = await ada.messenger.createDirectConversation(peer(ada)).catch((error: unknown) => error)
  expect(failureOf(refused)?.reason).toBe(reason)
  expect(await ada.messenger.conversations()).toEqual([])
  const events = eventsOf(ada)
  await ada.messenger.sync()
  expect(events.filter(({ is }) => is === "failed")).toEqual([])
})

test.runIf(isLong)("a group waits for its members' devices", async () => {
  const ada = await newcomer("ada g")
  const person = await server.person("bob g")
  const { id, waitsFor } = await ada.messenger.createGroupConversation([person.userId])
  expect(waitsFor).toBe("keyPackages")
  expect((await ada.messenger.send(id, utf8("welcome"))).state).toBe("queued")
  const bob = await messengers.open(person)
  await bob.messenger.sync()
  await syncAll(ada, bob)
  expect(await textsIn(bob, id)).toEqual(["welcome"])
})

test.skipIf(effort(true, false, false))("two people who only follow the service's hints reach each other", async () => {
  const [ann, ben] = [await server.person("ann l"), await server.person("ben l")]
  const ada = await messengers.open(ann)
  const ending = new AbortController()
  const running = [ada.messenger.run(ending.signal)]
  const { id } = await ada.messenger.createDirectConversation(ben.userId)
  expect((await ada.messenger.send(id, utf8("hello"))).state).toBe("queued")
  const bob = await messengers.open(ben)
  running.push(bob.messenger.run(ending.signal))
  await expect.poll(() => textsIn(bob, id), { timeout: 40_000 }).toEqual(["hello"])
  expect((await bob.messenger.send(id, utf8("hello back"))).state).toBe("sent")
  await expect.poll(() => textsIn(ada, id)).toEqual(["hello", "hello back"])
  ending.abort()
  await Promise.all(running)
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
