// A client that stops, whose store fails, or that loses a call or an answer, at any operation: nothing is lost, nothing
// arrives twice, and it continues.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import type { Messenger } from "../../clients/core/messaging/messenger.ts"
import { openMemoryStore } from "../../clients/core/messaging/store/memory.ts"
import { type Fault, faultyStore } from "../../clients/core/messaging/testing/faulty-store.ts"
import { testBox } from "../../clients/core/messaging/testing/test-box.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { effort, isLong } from "../support/effort.ts"
import { faultyTransport, type LostCall } from "../support/messaging/faulty-transport.ts"
import { type Messengers, messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"
import { numbers, seed } from "../support/random.ts"

let server: Deployment
let messengers: Messengers
let ann: OpenedMessenger
let ben: OpenedMessenger
let cid: OpenedMessenger
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server)
})
// New people for each flow, because their conversations grow with each run.
async function meet(flow: string) {
  ann = await messengers.newcomer(`ann ${flow}`)
  ben = await messengers.newcomer(`ben ${flow}`)
  cid = await messengers.newcomer(`cid ${flow}`)
}
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)
const textsIn = async (messenger: Messenger, conversationId: string) =>
  (await messenger.timeline(conversationId, { limit: 10_000 })).flatMap((entry) =>
    entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : [],
  )

interface Flow {
  /** The device whose store fails. */
  readonly who: () => Pick<OpenedMessenger, "person" | "store" | "box">
  /** Prepares on a working store. @returns The conversation's id, if there is one. */
  readonly prepare: (text: string) => Promise<string>
  readonly act: (messenger: Messenger, id: string, text: string) => Promise<unknown>
  /** @param done True if the act succeeded. */
  readonly check: (messenger: Messenger, id: string, text: string, done: boolean) => Promise<void>
}

const group = async () => (await ann.messenger.createGroupConversation([ben.person.userId])).id
const membersOf = async (messenger: Messenger, id: string) =>
  [...((await messenger.conversation(id))?.memberUserIds ?? [])].sort()
const people = (...opened: OpenedMessenger[]) => opened.map(({ person }) => person.userId).sort()

/** Checks that both sides have the text once; if the act failed, neither may have it. */
async function expectSame(messenger: Messenger, id: string, text: string, done: boolean): Promise<void> {
  await ben.messenger.sync()
  await ann.messenger.sync()
  await messenger.sync()
  const count = async (of: Messenger) => (await textsIn(of, id)).filter((one) => one === text).length
  const counts = [await count(messenger), await count(ben.messenger)]
  expect(counts[0]).toBe(counts[1])
  if (done) expect(counts[0]).toBe(1)
  else expect(counts[0]).toBeLessThanOrEqual(1)
}

let fresh = 0
/** The newcomer's device, not yet created. */
let newcomer: Pick<OpenedMessenger, "person" | "store" | "box">

const flows: Record<string, Flow> = {
  "registering a device": {
    who: () => newcomer,
    async prepare() {
      newcomer = { person: await server.person(`newcomer ${fresh++}`), store: openMemoryStore(), box: testBox() }
      return ""
    },
    act: (messenger) => messenger.sync(),
    async check(messenger, _, text) {
      expect((await messenger.devices()).filter(({ isRevoked }) => !isRevoked)).toHaveLength(1)
      const { id } = await ann.messenger.createDirectConversation(newcomer.person.userId)
      await messenger.sync()
      await messenger.send(id, utf8(text))
      await ann.messenger.sync()
      expect(await textsIn(ann.messenger, id)).toEqual([text])
    },
  },
  "sending a message": {
    who: () => ann,
    prepare: group,
    act: (messenger, id, text) => messenger.send(id, utf8(text)),
    check: expectSame,
  },
  "reading messages and a commit": {
    who: () => ben,
    async prepare(text) {
      const id = await group()
      await ben.messenger.sync()
      await ann.messenger.send(id, utf8("before"))
      await ann.messenger.refreshKeys(id)
      await ann.messenger.send(id, utf8(text))
      return id
    },
    act: (messenger) => messenger.sync(),
    async check(messenger, id, text) {
      await messenger.sync()
      expect(await textsIn(messenger, id)).toEqual(["before", text])
    },
  },
  "adding somebody": {
    who: () => ann,
    prepare: group,
    act: (messenger, id) => messenger.addMembers(id, [cid.person.userId]),
    async check(messenger, id, text, done) {
      await messenger.sync()
      if (!done) await messenger.addMembers(id, [cid.person.userId])
      await cid.messenger.sync()
      await ben.messenger.sync()
      for (const reader of [messenger, ben.messenger, cid.messenger]) {
        expect(await membersOf(reader, id)).toEqual(people(ann, ben, cid))
      }
      await cid.messenger.send(id, utf8(text))
      await messenger.sync()
      expect(await textsIn(messenger, id)).toEqual([text])
    },
  },
  "removing somebody": {
    who: () => ann,
    prepare: async () => {
      const { id } = await ann.messenger.createGroupConversation(people(ben, cid))
      await ben.messenger.sync()
      await cid.messenger.sync()
      return id
    },
    act: (messenger, id) => messenger.removeMembers(id, [cid.person.userId]),
    async check(messenger, id, _, done) {
      await messenger.sync()
      if (!done) await messenger.removeMembers(id, [cid.person.userId])
      await ben.messenger.sync()
      await cid.messenger.sync()
      expect(await membersOf(messenger, id)).toEqual(people(ann, ben))
      expect(await membersOf(ben.messenger, id)).toEqual(people(ann, ben))
      expect((await cid.messenger.conversation(id))?.status).toBe("removed")
    },
  },
  "creating a conversation": {
    who: () => ann,
    prepare: async () => "",
    act: async (messenger) => messenger.createGroupConversation([ben.person.userId]),
    async check(messenger, _, text) {
      await messenger.sync()
      for (const { id, status } of await messenger.conversations()) {
        expect(status).toBe("active")
        if ((await messenger.timeline(id)).length > 1) continue
        await messenger.send(id, utf8(text))
        await ben.messenger.sync()
        expect(await textsIn(ben.messenger, id)).toEqual([text])
      }
    },
  },
  joining: {
    who: () => ben,
    prepare: group,
    act: (messenger) => messenger.sync(),
    async check(messenger, id, text) {
      await messenger.sync()
      expect((await messenger.conversation(id))?.status).toBe("active")
      await ann.messenger.send(id, utf8(text))
      await messenger.sync()
      expect(await textsIn(messenger, id)).toEqual([text])
    },
  },
}

const storeFaults: Pick<Fault, "when" | "ends">[] = [
  { when: "before", ends: true },
  { when: "after", ends: true },
  { when: "before", ends: false },
  { when: "after", ends: false },
]
const lostCalls: Pick<LostCall, "when">[] = [{ when: "before" }, { when: "after" }]

/** One operation of the store, or one call, that fails. */
type Trouble = { readonly store: Fault } | { readonly call: LostCall } | undefined

vi.setConfig({ testTimeout: effort(60_000, 600_000, 7_200_000) })

/** These flows meet each kind of trouble. */
const shortFlows = ["sending a message", "joining"]
const chosen = Object.entries(flows).filter(([name]) => isLong || shortFlows.includes(name))

describe.each(chosen)("%s", (name, { who, prepare, act, check }) => {
  async function runOnce(trouble: Trouble, text: string) {
    const id = await prepare(text)
    const { person, store, box } = who()
    const failing = faultyStore(store, trouble && "store" in trouble ? trouble.store : undefined)
    const transport = faultyTransport(messengers.transport, trouble && "call" in trouble ? trouble.call : undefined)
    let done = false
    let messenger: Messenger | undefined
    try {
      messenger = (await messengers.open(person, { store: failing, box, transport })).messenger
      await act(messenger, id, text)
      done = true
    } catch (error) {
      // Other tests cover how the client reports the trouble. Without trouble nothing fails.
      if (!(failing.hasFailed || transport.hasFailed)) throw error
    }
    const counts = { store: failing.count, calls: transport.count }
    failing.calm()
    const goesOn = messenger !== undefined && !failing.isDead
    const again = goesOn && messenger ? messenger : (await messengers.open(person, { store, box })).messenger
    await again.sync()
    await check(again, id, text, done)
    return counts
  }

  test("is consistent wherever its store fails, its process ends or a call is lost", async () => {
    await meet(name)
    const counts = await runOnce(undefined, "no trouble")
    const places = (count: number) => Array.from({ length: count }, (_, at) => at)
    const all: Trouble[] = [
      ...places(counts.calls).flatMap((at) => lostCalls.map((kind) => ({ call: { at, ...kind } }))),
      ...places(counts.store).flatMap((at) => storeFaults.map((kind) => ({ store: { at, ...kind } }))),
    ]
    // A share of all, selected by the seed; the long form runs all of them.
    const step = effort(all.length, Math.ceil(all.length / 12), 1)
    for (let i = numbers(seed)(step); i < all.length; i += step) {
      await runOnce(all[i], `trouble ${i}`).catch((cause: unknown) => {
        throw new Error(`with ${JSON.stringify(all[i])} of ${JSON.stringify(counts)}`, { cause })
      })
    }
  })
})
