// Direct conversations whose members are online, and cannot continue: the members replace the group by themselves.
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { commitBadly } from "../support/messaging/bad-commit.ts"
import { copyOf } from "../support/messaging/copied-store.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { loseNewest } from "../support/messaging/lost-end.ts"
import { type Messengers, messengersOn, type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import { movedClock } from "../support/messaging/moved-clock.ts"
import type { Room } from "../support/messaging/room.ts"
import { storyStore } from "../support/postgres.ts"

// Four messengers and two other devices, with three key packages each.
vi.setConfig({ testTimeout: 180_000 })

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

async function syncAll(...all: readonly OpenedMessenger[]): Promise<void> {
  for (let round = 0; round < 3; round++) for (const { messenger } of all) await messenger.sync()
}

const statusOf = async ({ messenger }: OpenedMessenger, id: string) => (await messenger.conversation(id))?.status

/** Both write, and each reads the other's message after the entry of the reset. */
async function expectContinued(id: string, ...all: readonly OpenedMessenger[]) {
  for (const { messenger, person } of all) await messenger.send(id, utf8(`after, by ${person.userId}`))
  await syncAll(...all)
  for (const one of all) {
    expect(await statusOf(one, id)).toBe("active")
    const entries = await one.messenger.timeline(id)
    const at = entries.findLastIndex(({ is }) => is === "reset")
    expect(at).toBeGreaterThanOrEqual(0)
    const texts = entries.slice(at).flatMap((entry) => (entry.is === "message" ? [Buffer.from(entry.plaintext)] : []))
    expect(texts.map(String).sort()).toEqual(all.map(({ person }) => `after, by ${person.userId}`).sort())
  }
}

/** Another device of a user. It follows the protocol until its state is broken. */
async function badDeviceOf(of: OpenedMessenger, id: string, peer: OpenedMessenger): Promise<[TestDevice, Room]> {
  const bad = await newDevice(server.transport, await of.person.again())
  await bad.register()
  await bad.upload(3)
  await syncAll(of, peer)
  const room = (await bad.join()).find((one) => one.id === id)
  return [bad, room ?? expect.fail("not added")]
}

/** Two users whose devices cannot process the last commit of `bad`, a device of the second one. */
async function brokenBy(name: string) {
  const [ada, bob] = [await newcomer(`ada ${name}`), await newcomer(`bob ${name}`)]
  const { id } = await ada.messenger.createDirectConversation(bob.person.userId)
  const [bad, room] = await badDeviceOf(bob, id, ada)
  await ada.messenger.send(id, utf8("before"))
  await syncAll(bob, ada)
  await bad.sync(room)
  await commitBadly(bad, room)
  /** It reads the log, and adds nobody. */
  const stayOnline = () => bad.calls.conversations.listMessages({ conversationId: id })
  return { ada, bob, id, stayOnline }
}

test.runIf(isLong)(
  "after a commit that no device can process, and a device that adds none, the others continue without user action",
  async () => {
    const [synced, asked] = [await brokenBy("syncs"), await brokenBy("asks")]
    await syncAll(synced.ada, synced.bob)
    for (const one of [synced.ada, synced.bob]) expect(await statusOf(one, synced.id)).toBe("waiting")

    // A request of the app, or of the user, is no error either.
    const { ada, bob } = asked
    const sent = await ada.messenger.send(asked.id, utf8("queued")).catch(({ reason }) => reason)
    expect(sent).toBe("QUEUED")
    const { id, status } = await ada.messenger.createDirectConversation(bob.person.userId)
    expect([id, status]).toEqual([asked.id, "waiting"])
    expect((await ada.messenger.send(id, utf8("queued, too"))).state).toBe("queued")

    await pass()
    for (const { stayOnline } of [synced, asked]) await stayOnline()
    expect((await ada.messenger.createDirectConversation(bob.person.userId)).status).toBe("active")
    await syncAll(bob)
    expect(await textsIn(bob, id)).toEqual(["before", "queued", "queued, too"])
    // Bob wants nothing, and did not create the conversation: the commit that he cannot process is reason enough.
    await syncAll(synced.bob)
    expect(await statusOf(synced.bob, synced.id)).toBe("active")
    await syncAll(synced.ada, synced.bob)
    await expectContinued(synced.id, synced.ada, synced.bob)
    expect((await textsIn(synced.ada, synced.id)).at(0)).toBe("before")
  },
)

test.runIf(isLong)("a conversation continues after both users have restored an older copy of a device", async () => {
  const [first, second] = [await newcomer("ada old"), await newcomer("bob old")]
  const { id } = await first.messenger.createDirectConversation(second.person.userId)
  await syncAll(second, first)
  const copies = await Promise.all([first, second].map(({ store }) => copyOf(store)))
  await first.messenger.send(id, utf8("one"))
  await syncAll(second)
  await second.messenger.send(id, utf8("two"))
  await syncAll(first)
  await first.messenger.close()
  await second.messenger.close()
  const [ada, bob] = await Promise.all(
    [first, second].map(({ person, box }, i) =>
      messengers.open(person, { clock, box, store: copies[i] ?? expect.fail() }),
    ),
  )
  if (ada === undefined || bob === undefined) throw new Error("nobody")
  await syncAll(ada, bob)
  await expectContinued(id, ada, bob)
})

/** Removes the stored envelopes, as if they were too old: the device cannot return them to the service. */
async function forget({ store }: OpenedMessenger, id: string): Promise<void> {
  const rows = await store.list(id, "tail")
  const { generation } = await store.read("device", [])
  const ops = rows.map(({ key }) => ({ op: "remove", space: id, table: "tail", key }) as const)
  expect(await store.transact("device", generation, ops)).toBe("ok")
}

test.runIf(isLong)(
  "a conversation continues after the service has lost two messages that no device can resubmit",
  async () => {
    const [ada, bob] = [await newcomer("ada lost"), await newcomer("bob lost")]
    const { id } = await ada.messenger.createDirectConversation(bob.person.userId)
    await syncAll(bob, ada)
    for (const text of ["one", "two", "three"]) await ada.messenger.send(id, utf8(text))
    await syncAll(bob, ada)
    await loseNewest(server, id, 2)
    for (const one of [ada, bob]) await forget(one, id)
    await syncAll(ada, bob)
    await expectContinued(id, ada, bob)
    for (const one of [ada, bob]) expect((await textsIn(one, id)).slice(0, 3)).toEqual(["one", "two", "three"])
  },
)

test.runIf(isLong)(
  "members of a group whose apps have requested rejoins add each other while the third member is offline",
  async () => {
    const all = [await newcomer("gus in a group"), await newcomer("hal in a group"), await newcomer("ida in a group")]
    const [gus, hal, ida] = all
    if (gus === undefined || hal === undefined || ida === undefined) throw new Error("three messengers")
    const { id } = await gus.messenger.createGroupConversation([hal.person.userId, ida.person.userId])
    await syncAll(hal, ida)
    await gus.messenger.rejoin(id)
    await hal.messenger.rejoin(id)
    expect([await statusOf(gus, id), await statusOf(hal, id)]).toEqual(["waiting", "waiting"])
    // A device that waits does not follow its app's changes, and queues messages.
    await expect(gus.messenger.removeMembers(id, [ida.person.userId])).rejects.toMatchObject({
      reason: "CONVERSATION_NOT_ACTIVE",
    })
    expect((await gus.messenger.send(id, utf8("while waiting"))).state).toBe("queued")
    await syncAll(gus, hal)
    expect([await statusOf(gus, id), await statusOf(hal, id)]).toEqual(["active", "active"])
    await hal.messenger.send(id, utf8("and after"))
    await syncAll(...all)
    for (const one of all) expect(await textsIn(one, id)).toEqual(["while waiting", "and after"])
  },
)
