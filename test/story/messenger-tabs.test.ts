// One device in several tabs: one store, a messenger in each, and all orders of their writes.
import { create } from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import {
  type ConversationRecord,
  ConversationRecord_PendingConsumeSchema,
  ConversationRecord_QuarantineSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { ReportForkResponseSchema } from "@signet/proto/messaging/v1/conversation_service"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import { ConsumeWelcomeResponseSchema } from "@signet/proto/messaging/v1/welcome_service"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { Conversation } from "../../clients/core/messaging/context.ts"
import { consume } from "../../clients/core/messaging/joining/welcomes.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { changeRecord, reportQuarantine } from "../../clients/core/messaging/receiving/log.ts"
import type { RecordChanges } from "../../clients/core/messaging/state/stored-conversation.ts"
import { openMemoryStore } from "../../clients/core/messaging/store/memory.ts"
import type { MessagingStore, Space } from "../../clients/core/messaging/store/store.ts"
import { renewCredential } from "../../clients/core/messaging/sync/sync.ts"
import { testBox } from "../../clients/core/messaging/testing/test-box.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { callsOver } from "../support/messaging/calls.ts"
import { type Messengers, messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"
import { together } from "../support/messaging/world.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let messengers: Messengers
let ben: OpenedMessenger
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server)
  ben = await messengers.newcomer("ben")
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)

/** Stores on one memory that notify each other as tabs do. */
function sharedStore(): { tab(change?: Partial<MessagingStore>): MessagingStore } {
  const store = openMemoryStore()
  const listeners: { of: object; listener: (space: Space) => void }[] = []
  return {
    tab(change) {
      const tab: MessagingStore = {
        ...store,
        async transact(space, ...rest) {
          const done = await store.transact(space, ...rest)
          if (done === "ok") for (const { of, listener } of listeners) if (of !== tab) listener(space)
          return done
        },
        watch(listener) {
          listeners.push({ of: tab, listener })
        },
        ...change,
      }
      return tab
    },
  }
}

interface Tab extends OpenedMessenger {
  readonly heard: string[]
}

function hearing(opened: OpenedMessenger): Tab {
  const heard: string[] = []
  opened.messenger.subscribe((event) => {
    if (event.is === "status") heard.push(event.status)
    else if (event.is !== "entry") heard.push(event.is)
    else if (event.entry.is === "message") heard.push(new TextDecoder().decode(event.entry.plaintext))
  })
  return { ...opened, heard }
}

async function tabs(name: string, changes: readonly Partial<MessagingStore>[]): Promise<Tab[]> {
  const shared = sharedStore()
  const [box, person] = [testBox(), together(await server.person(name))]
  const opened = await Promise.all(
    changes.map(async (change) => hearing(await messengers.open(person, { store: shared.tab(change), box }))),
  )
  await opened[0]?.messenger.sync()
  return opened
}

const two = async (name: string): Promise<readonly [Tab, Tab]> => {
  const [here, there] = await tabs(name, [{}, {}])
  if (here === undefined || there === undefined) throw new Error("two were opened")
  return [here, there]
}

test("tabs that are opened at the same time become one device", async () => {
  const [here, there] = await two("ann opens two")
  expect(there.messenger.deviceId).toBe(here.messenger.deviceId)
  expect(await here.messenger.devices()).toHaveLength(1)
})

test.runIf(isLong)(
  "an entry that one tab applies is reported by the other too: once, in order, and without earlier entries",
  async () => {
    const [here, there] = await two("ann hears")
    const { id } = await here.messenger.createDirectConversation(ben.person.userId)
    await expect.poll(() => there.heard).toContain("lagged")
    there.heard.length = 0
    here.heard.length = 0
    await here.messenger.send(id, utf8("mine"))
    await ben.messenger.sync()
    for (const text of ["one", "two", "three"]) await ben.messenger.send(id, utf8(text))
    await Promise.all([here.messenger.sync(), there.messenger.sync()])
    await expect.poll(() => there.heard).toHaveLength(4)
    expect(there.heard).toEqual(["mine", "one", "two", "three"])
    expect(here.heard).toEqual(there.heard)
    await here.messenger.rejoin(id)
    await expect.poll(() => there.heard.at(-1)).toBe("waiting")
  },
)

test.runIf(isLong)(
  "entries applied before a removal are reported by the other tab too: once, also after a rejoin",
  async () => {
    const [here, there] = await two("ann is removed")
    const { userId } = here.person
    const { id } = await ben.messenger.createGroupConversation([userId])
    await here.messenger.sync()
    await expect.poll(() => there.heard).toContain("lagged")
    for (const tab of [here, there]) tab.heard.length = 0
    await ben.messenger.send(id, utf8("one"))
    await ben.messenger.removeMembers(id, [userId])
    await here.messenger.sync()
    await expect.poll(() => there.heard).toEqual(["one", "removed"])
    await ben.messenger.addMembers(id, [userId])
    await here.messenger.sync()
    await ben.messenger.send(id, utf8("two"))
    await here.messenger.sync()
    await expect.poll(() => there.heard).toEqual(["one", "removed", "active", "two"])
    expect(here.heard).toEqual(there.heard)
  },
)

test.runIf(isLong)(
  "an envelope that conflicts with another tab's change is checked again, and not refused",
  async () => {
    const store = sharedStore()
    const plain = store.tab()
    const [box, person] = [testBox(), together(await server.person("ann is overtaken"))]
    let isCut = false
    const transport: Transport = {
      ...messengers.transport,
      async unary(...call) {
        const answer = await messengers.transport.unary(...call)
        if (isCut) throw new ConnectError("the answer is lost", Code.Unavailable)
        return answer
      },
    }
    const here = await messengers.open(person, { store: plain, box, transport })
    let meanwhile: (() => Promise<unknown>) | undefined
    const overtaken = store.tab({
      // Read after the state: an envelope waits here until it is applied.
      async read(space, wanted) {
        const work = meanwhile
        if (wanted[0]?.table === "outbox" && work !== undefined) {
          meanwhile = undefined
          await work()
        }
        return plain.read(space, wanted)
      },
    })
    const there = await messengers.open(person, { store: overtaken, box })
    const { id } = await here.messenger.createDirectConversation(ben.person.userId)
    // The log is read before a process's first message.
    await here.messenger.send(id, utf8("first"))
    isCut = true
    await expect(here.messenger.send(id, utf8("mine"))).rejects.toMatchObject({ reason: "QUEUED" })
    isCut = false
    const envelope = (await logOf(id)).at(-1) ?? fail()
    meanwhile = () => here.messenger.sync()
    const incoming = await there.messenger.processIncoming({ conversationId: id, envelope })
    expect([incoming.is, meanwhile]).toEqual(["processed", undefined])
    expect((await there.messenger.conversation(id))?.status).toBe("active")
  },
)

test.runIf(isLong)("a tab continues with the key that another one renewed", async () => {
  const [here, there] = await two("ann renews")
  const { id } = await there.messenger.createDirectConversation(ben.person.userId)
  const { context } = await openContext(...messengers.optionsFor(here.person, here))
  const before = context.device.credentialHash()
  await renewCredential(context)
  expect(context.device.credentialHash()).not.toEqual(before)
  await there.messenger.refreshKeys(id)
  await there.messenger.send(id, utf8("with the new key"))
  await ben.messenger.sync()
  expect((await ben.messenger.timeline(id)).at(-1)).toMatchObject({ plaintext: utf8("with the new key") })
})

async function logOf(conversationId: string): Promise<Envelope[]> {
  const calls = callsOver(messengers.transport, { token: await ben.person.refresh(), device: undefined })
  return (await calls.conversations.listMessages({ conversationId, afterSeq: 0n, limit: 200 })).envelopes
}

const fail = (): never => {
  throw new Error("not there")
}

/** A conversation of one device in two tabs. `during` is what the second tab writes while the first one waits. */
async function recordOfTwo(name: string, during: (record: ConversationRecord) => RecordChanges) {
  const one = await messengers.newcomer(name)
  const { id } = await one.messenger.createGroupConversation([ben.person.userId])
  const open = async () => {
    const { context } = await openContext(...messengers.optionsFor(one.person, one))
    return context.conversation(id)
  }
  const [here, there] = [await open(), await open()]
  const write = async <T>(answer: T) => {
    await changeRecord(there, during)
    return answer
  }
  const { conversations, welcomes } = here.calls
  const waiting: Conversation = {
    ...here,
    calls: {
      ...here.calls,
      conversations: { ...conversations, reportFork: () => write(create(ReportForkResponseSchema)) },
      welcomes: { ...welcomes, consumeWelcome: () => write(create(ConsumeWelcomeResponseSchema)) },
    },
  }
  return { here: waiting, record: async () => (await (await open()).stored()).record }
}

test("a report of a quarantine that another tab ended meanwhile does not restore it", async () => {
  const { here, record } = await recordOfTwo("amy", () => ({ status: Status.ACTIVE, quarantine: undefined }))
  const quarantine = create(ConversationRecord_QuarantineSchema, { reason: "STATE_TAG_DIFFERS", seq: 2n })
  await changeRecord(here, () => ({ status: Status.QUARANTINED, quarantine }))
  await reportQuarantine(here)
  const { status, quarantine: left } = (await record()) ?? expect.fail("no record")
  expect([status, left]).toEqual([Status.ACTIVE, undefined])
})

test("a welcome that another tab joined by meanwhile stays to be consumed", async () => {
  const pending = (welcomeId: string) => create(ConversationRecord_PendingConsumeSchema, { welcomeId })
  const { here, record } = await recordOfTwo("abe", () => ({ pendingConsume: pending("wel_2") }))
  await changeRecord(here, () => ({ pendingConsume: pending("wel_1") }))
  await consume(here)
  expect(await record()).toMatchObject({ pendingConsume: { welcomeId: "wel_2" } })
})
