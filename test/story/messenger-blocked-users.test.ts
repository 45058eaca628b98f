// A user blocks another one: the blocked one starts nothing new, and what both still share is marked.
import { afterAll, beforeAll, expect, test } from "vitest"
import { failureOf } from "../../clients/core/errors.ts"
import type { MessengerEvent } from "../../clients/core/messaging/events.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let messengers: Messengers

beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server, { keyPackages: 5 })
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)
const newcomer = (name: string) => messengers.newcomer(name)
const idOf = ({ person }: OpenedMessenger) => person.userId

async function syncAll(...all: readonly OpenedMessenger[]): Promise<void> {
  for (let round = 0; round < 2; round++) for (const { messenger } of all) await messenger.sync()
}

/** The texts of a timeline, and of those the ones that are marked. */
async function shownIn({ messenger }: OpenedMessenger, id: string): Promise<{ all: string[]; marked: string[] }> {
  const messages = (await messenger.timeline(id)).flatMap((entry) => (entry.is === "message" ? [entry] : []))
  const textOf = ({ plaintext }: { plaintext: Uint8Array }) => new TextDecoder().decode(plaintext)
  return { all: messages.map(textOf), marked: messages.filter((one) => one.isFromBlocked).map(textOf) }
}

const refusal = (call: Promise<unknown>): Promise<string | undefined> =>
  call.then(
    () => "none",
    (error: unknown) => failureOf(error)?.reason ?? Object(error).reason,
  )

test.runIf(isLong)("a blocked user's first messages wait unseen, and arrive after the block has ended", async () => {
  const [ada, eve] = [await newcomer("ada first"), await newcomer("eve first")]
  await ada.messenger.block(idOf(eve))
  const made = await eve.messenger.createDirectConversation(idOf(ada))
  expect(made).toMatchObject({ status: "waiting", waitsFor: "keyPackages" })
  expect((await eve.messenger.send(made.id, utf8("hello"))).state).toBe("queued")
  await syncAll(eve, ada)
  expect(await ada.messenger.conversations()).toEqual([])
  expect(await eve.messenger.conversation(made.id)).toMatchObject({ status: "waiting", waitsFor: "keyPackages" })
  await ada.messenger.unblock(idOf(eve))
  await syncAll(eve, ada)
  expect(await textsIn(ada, made.id)).toEqual(["hello"])
})

test.runIf(isLong)(
  "every device of a user follows the list, and marks members and entries in shared conversations",
  async () => {
    const [ada, eve, bob] = [await newcomer("ada shared"), await newcomer("eve shared"), await newcomer("bob shared")]
    const { id } = await bob.messenger.createGroupConversation([idOf(ada), idOf(eve)])
    const direct = await eve.messenger.createDirectConversation(idOf(ada))
    await syncAll(ada, eve, bob)
    const second = await messengers.open(await ada.person.again())
    await syncAll(second, ada, second)
    const heard: MessengerEvent[] = []
    second.messenger.subscribe((event) => heard.push(event))

    await ada.messenger.block(idOf(eve))
    await second.messenger.sync()
    expect(await second.messenger.blockedUsers()).toEqual([idOf(eve)])
    expect(heard).toContainEqual({ is: "blockedUsers", userIds: [idOf(eve)] })
    for (const { messenger } of [ada, second]) {
      expect((await messenger.conversation(id))?.blockedUserIds).toEqual([idOf(eve)])
      expect((await messenger.conversations()).find((one) => one.id === direct.id)?.blockedUserIds).toEqual([idOf(eve)])
    }
    // A conversation without the blocked user shows nobody.
    const { id: other } = await ada.messenger.createDirectConversation(idOf(bob))
    expect((await ada.messenger.conversation(other))?.blockedUserIds).toEqual([])
    expect((await ada.messenger.send(other, utf8("to bob"))).state).toBe("sent")
    // To the blocked user nothing differs.
    expect((await eve.messenger.send(id, utf8("to all"))).state).toBe("sent")
    expect((await eve.messenger.send(direct.id, utf8("to ada"))).state).toBe("sent")
    expect((await eve.messenger.conversation(id))?.blockedUserIds).toEqual([])
    await bob.messenger.send(id, utf8("of bob"))
    await syncAll(second)
    expect(await shownIn(second, id)).toEqual({ all: ["to all", "of bob"], marked: ["to all"] })
    expect(await shownIn(second, direct.id)).toEqual({ all: ["to ada"], marked: ["to ada"] })
    const entries = heard.flatMap((event) =>
      event.is === "entry" && event.entry.is === "message" ? [event.entry] : [],
    )
    expect(entries.filter(({ isFromBlocked }) => isFromBlocked).every(({ from }) => from.userId === idOf(eve))).toBe(
      true,
    )
    expect(entries.filter(({ isFromBlocked }) => isFromBlocked)).toHaveLength(2)

    await second.messenger.unblock(idOf(eve))
    await ada.messenger.sync()
    expect(await shownIn(ada, id)).toEqual({ all: ["to all", "of bob"], marked: [] })
    expect((await ada.messenger.conversation(id))?.blockedUserIds).toEqual([])
  },
)

test.runIf(isLong)("a hint brings the list to a device that runs", async () => {
  const [ada, eve] = [await newcomer("ada hint"), await newcomer("eve hint")]
  const second = await messengers.open(await ada.person.again())
  const stopping = new AbortController()
  const running = second.messenger.run(stopping.signal)
  try {
    await ada.messenger.block(idOf(eve))
    await expect.poll(() => second.messenger.blockedUsers()).toEqual([idOf(eve)])
    await ada.messenger.unblock(idOf(eve))
    await expect.poll(() => second.messenger.blockedUsers()).toEqual([])
  } finally {
    stopping.abort()
    await running
  }
})

test.runIf(isLong)("the user unblocks before writing to the blocked one, also after a restart", async () => {
  const [ada, eve] = [await newcomer("ada writes"), await newcomer("eve writes")]
  const { id } = await ada.messenger.createDirectConversation(idOf(eve))
  await syncAll(eve, ada)
  await ada.messenger.block(idOf(eve))
  const { person, store, box } = ada
  await ada.messenger.close()
  const again = await messengers.open(person, { store, box })
  expect(await again.messenger.blockedUsers()).toEqual([idOf(eve)])
  expect(await refusal(again.messenger.send(id, utf8("no")))).toBe("USER_BLOCKED")
  expect(await refusal(again.messenger.encryptMessage(id, utf8("no")))).toBe("USER_BLOCKED")
  expect(await refusal(again.messenger.createDirectConversation(idOf(eve)))).toBe("USER_BLOCKED")
  expect(await refusal(again.messenger.createGroupConversation([idOf(eve)]))).toBe("USER_BLOCKED")
  expect(await again.messenger.outbox(id)).toEqual([])
  await again.messenger.unblock(idOf(eve))
  expect((await again.messenger.send(id, utf8("yes"))).state).toBe("sent")
})

test.runIf(isLong)("a blocked user cannot add the user to a group, and a third one can", async () => {
  const [ada, eve, bob] = [await newcomer("ada group"), await newcomer("eve group"), await newcomer("bob group")]
  await ada.messenger.block(idOf(eve))
  const { id } = await eve.messenger.createGroupConversation([idOf(bob), idOf(ada)])
  await syncAll(bob, ada)
  expect(await ada.messenger.conversations()).toEqual([])
  expect(await refusal(eve.messenger.addMembers(id, [idOf(ada)]))).toBe("NO_KEY_PACKAGE")
  await bob.messenger.addMembers(id, [idOf(ada)])
  await syncAll(ada)
  expect((await ada.messenger.conversation(id))?.blockedUserIds).toEqual([idOf(eve)])
})

test("the own user and an unknown one cannot be blocked", async () => {
  const ada = await newcomer("ada refused")
  expect(await refusal(ada.messenger.block(idOf(ada)))).toBe("INVALID_FIELD")
  expect(await refusal(ada.messenger.block("prn_1"))).toBe("INVALID_FIELD")
  expect(await refusal(ada.messenger.block(`prn_${"0".repeat(26)}`))).toBe("RESOURCE_UNRESOLVED")
  expect(await ada.messenger.blockedUsers()).toEqual([])
})
