// A notification shows a message before the app has processed it, and changes nothing.

import { create } from "@bufbuild/protobuf"
import type { Transport } from "@connectrpc/connect"
import { ListMessagesResponseSchema } from "@signet/proto/messaging/v1/conversation_service"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type GroupState, uncheckedEngine } from "../../clients/core/messaging/mls.ts"
import type { Primitives } from "../../clients/core/messaging/open.ts"
import { type Peeked, type PeekLimits, peekLimits, peekWith } from "../../clients/core/messaging/peek/peek.ts"
import { readingTransport, readOnlyBox, readOnlyStore } from "../../clients/core/messaging/peek/read-only.ts"
import type { MessagingStore, Table } from "../../clients/core/messaging/store/store.ts"
import { isZero, secretsIn } from "../../clients/core/messaging/testing/secrets.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import {
  type Messengers,
  messengersOn,
  type OpenedMessenger,
  systemClock,
  textsIn,
} from "../support/messaging/messengers.ts"
import { callSample, methods } from "../support/messaging/samples.ts"
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

/** Two users in a conversation that both have read. */
async function pair(name: string) {
  const ann = await messengers.newcomer(`ann ${name}`)
  const ben = await messengers.newcomer(`ben ${name}`)
  const { id } = await ann.messenger.createDirectConversation(ben.person.userId)
  await ben.messenger.sync()
  return { ann, ben, id }
}

const tables: readonly Table[] = [
  ...(["header", "device", "keyPackage", "usedKeyPackage", "creation", "peer", "conversation", "state"] as const),
  ...(["tree", "staged", "intent", "outbox", "timeline", "tail", "attachment", "upload"] as const),
]

/** Every row of a store with its bytes, and every generation. */
async function imageOf(store: MessagingStore): Promise<string[]> {
  const image: string[] = []
  for (const space of await store.spaces()) {
    image.push(`${space} ${(await store.read(space, [])).generation}`)
    for (const table of tables) {
      for (const { key, value } of await store.list(space, table)) {
        image.push(`${space} ${table} ${key} ${Buffer.from(value).toString("base64")}`)
      }
    }
  }
  return image
}

interface Setup {
  readonly store?: MessagingStore
  readonly transport?: Transport
  readonly clock?: typeof systemClock
  readonly limits?: Partial<PeekLimits>
  /** Receives each group state that the peek's engine returns. */
  readonly groups?: GroupState[]
}

function peekOf({ person, store, box }: OpenedMessenger, setup: Setup = {}): Promise<Peeked> {
  const [options, primitives] = messengers.optionsFor(person, { store, box, ...setup })
  const { groups = [] } = setup
  const openEngine: Primitives["openEngine"] = async (of) => {
    const engine = uncheckedEngine(of)
    return {
      ...engine,
      async decodeState(...given) {
        const group = await engine.decodeState(...given)
        groups.push(group)
        return group
      },
      async process(...given) {
        const processed = await engine.process(...given)
        if (processed.kind === "next") groups.push(processed.next)
        return processed
      },
      async decrypt(...given) {
        const decrypted = await engine.decrypt(...given)
        groups.push(decrypted.next)
        return decrypted
      },
    }
  }
  return peekWith(options, { ...primitives, openEngine }, { ...peekLimits, ...setup.limits })
}

const shownIn = (peeked: Peeked): string[] | "newMessages" =>
  peeked.is === "newMessages"
    ? "newMessages"
    : peeked.previews.flatMap(({ entry }) =>
        entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : [],
      )

test("a peek shows the unread messages, and the app then receives each once", async () => {
  const { ann, ben, id } = await pair("first")
  for (const text of ["one", "two"]) await ann.messenger.send(id, utf8(text))
  const before = await imageOf(ben.store)
  const called: string[] = []
  const transport: Transport = {
    unary(method, ...call) {
      called.push(method.name)
      // Not as presence of the device.
      if (method.name === "ListMessages") expect(call[3]).toMatchObject({ readAhead: true })
      return messengers.transport.unary(method, ...call)
    },
    stream: (...call) => messengers.transport.stream(...call),
  }
  // A second peek shows the same: the first one has moved nothing.
  for (let round = 0; round < 2; round++) expect(shownIn(await peekOf(ben, { transport }))).toEqual(["one", "two"])
  expect(await imageOf(ben.store)).toEqual(before)
  expect([...new Set(called)].sort()).toEqual(["ListConversations", "ListMessages"])
  await ben.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["one", "two"])
  expect(shownIn(await peekOf(ben))).toEqual([])
  await ben.messenger.send(id, utf8("three"))
  await ann.messenger.sync()
  expect(await textsIn(ann, id)).toEqual(["one", "two", "three"])
})

test.runIf(isLong)("a peek follows a commit, and shows neither own messages nor those of blocked users", async () => {
  const { ann, ben, id } = await pair("commit")
  const cid = await messengers.newcomer("cid commit")
  const group = await ann.messenger.createGroupConversation([ben.person.userId, cid.person.userId])
  for (const { messenger } of [ben, cid]) await messenger.sync()
  await ann.messenger.removeMembers(group.id, [cid.person.userId])
  await ann.messenger.send(group.id, utf8("without cid"))
  await ben.messenger.send(id, utf8("own"))
  expect(shownIn(await peekOf(ben))).toEqual(["without cid"])
  await ben.messenger.block(ann.person.userId)
  expect(shownIn(await peekOf(ben))).toEqual([])
})

test.runIf(isLong)("the app may write at each read of a peek, and no message is lost or duplicated", async () => {
  const { ann, ben, id } = await pair("races")
  const sent: string[] = []
  // Without the app: the number of reads of a whole peek.
  await ann.messenger.send(id, utf8("first"))
  let reads = 0
  const counting: MessagingStore = {
    ...ben.store,
    read(space, wanted) {
      reads++
      return ben.store.read(space, wanted)
    },
  }
  expect(shownIn(await peekOf(ben, { store: counting }))).toEqual(["first"])
  await ben.messenger.sync()
  for (let at = 0; at < reads; at++) {
    const text = `message ${at}`
    await ann.messenger.send(id, utf8(text))
    sent.push(text)
    let count = 0
    const store: MessagingStore = {
      ...ben.store,
      async read(space, wanted) {
        if (count++ === at) {
          await ben.messenger.sync()
          await ben.messenger.send(id, utf8(`answer ${at}`))
        }
        return ben.store.read(space, wanted)
      },
    }
    const shown = shownIn(await peekOf(ben, { store }))
    // What the app has read meanwhile may be missing from the preview. Nothing older or foreign is in it.
    if (shown !== "newMessages") expect(shown.filter((one) => one !== text)).toEqual([])
    if (count <= at) await ben.messenger.send(id, utf8(`answer ${at}`))
  }
  expect(reads).toBeGreaterThan(4)
  for (const { messenger } of [ben, ann]) await messenger.sync()
  for (const one of [ann, ben]) {
    const texts = await textsIn(one, id)
    expect(texts.filter((text) => text.startsWith("message"))).toEqual(sent)
    expect(texts.filter((text) => text.startsWith("answer"))).toEqual(sent.map((_, at) => `answer ${at}`))
  }
})

test.runIf(isLong)("a message that fails its checks, and a new key, end a peek without a preview", async () => {
  const { ann, ben, id } = await pair("verdict")
  await ann.messenger.send(id, utf8("good"))
  const flipping: Transport = {
    async unary(method, ...call) {
      const answer = await messengers.transport.unary(method, ...call)
      if (answer.method.name !== "ListMessages") return answer
      const page = create(ListMessagesResponseSchema, answer.message as never)
      for (const { message } of page.envelopes) message[message.length - 1] = (message.at(-1) ?? 0) ^ 1
      return { ...answer, message: page as never }
    },
    stream: (...call) => messengers.transport.stream(...call),
  }
  const before = await imageOf(ben.store)
  expect(await peekOf(ben, { transport: flipping })).toEqual({ is: "newMessages" })
  expect(await imageOf(ben.store)).toEqual(before)
  expect(shownIn(await peekOf(ben))).toEqual(["good"])

  const second = await messengers.open(await ann.person.again())
  for (let round = 0; round < 2; round++) for (const { messenger } of [ann, second]) await messenger.sync()
  await second.messenger.send(id, utf8("of a new device"))
  const unread = await imageOf(ben.store)
  expect(await peekOf(ben)).toEqual({ is: "newMessages" })
  expect(await imageOf(ben.store)).toEqual(unread)
  await ben.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["good", "of a new device"])
})

test.runIf(isLong)("a peek wipes its copies of the state, also if it ends without a preview", async () => {
  const { ann, ben, id } = await pair("wipes")
  const unwiped = (groups: readonly GroupState[]) =>
    groups.map((group) => [...secretsIn(group)].filter((secret) => !isZero(secret)).length)
  const shown: GroupState[] = []
  await ann.messenger.send(id, utf8("shown"))
  expect(shownIn(await peekOf(ben, { groups: shown }))).toEqual(["shown"])
  expect(unwiped(shown)).toEqual([0, 0])

  await ben.messenger.sync()
  const second = await messengers.open(await ann.person.again())
  for (const { messenger } of [second, ann]) await messenger.sync()
  const refused: GroupState[] = []
  expect(await peekOf(ben, { groups: refused })).toEqual({ is: "newMessages" })
  expect(refused.length).toBeGreaterThan(1)
  expect(unwiped(refused)).toEqual(refused.map(() => 0))
})

test.runIf(isLong)("a peek ends at its limits, and shows what it has read", async () => {
  const { ann, ben, id } = await pair("counts")
  const cid = await messengers.newcomer("cid counts")
  for (const text of ["1", "2", "3"]) await ann.messenger.send(id, utf8(text))
  const previews = async (limits: Partial<PeekLimits>) => {
    const peeked = await peekOf(ben, { limits })
    return [shownIn(peeked), peeked.is === "previews" && peeked.hasMore]
  }
  expect(await previews({ envelopes: 2 })).toEqual([["1", "2"], true])
  expect(await previews({ envelopeBytes: 1 })).toEqual([["1"], true])
  expect(await previews({ page: 1 })).toEqual([["1", "2", "3"], false])
  expect(await previews({ stateBytes: 100 })).toEqual(["newMessages", false])
  const group = await ann.messenger.createGroupConversation([ben.person.userId, cid.person.userId])
  for (const { messenger } of [ben, cid]) await messenger.sync()
  await ann.messenger.removeMembers(group.id, [cid.person.userId])
  await ann.messenger.send(group.id, utf8("after the commit"))
  expect(await previews({ commits: 1 })).toEqual([[], true])
  expect(await previews({})).toEqual([["after the commit"], false])
})

test.runIf(isLong)("a peek ends at its time limit, with a service that fails, and with an empty store", async () => {
  const { ben } = await pair("limits")
  const silent: Transport = { unary: () => new Promise(() => {}), stream: () => new Promise(() => {}) }
  const clock = { nowMs: () => Date.now(), after: (_: number, run: () => void) => systemClock.after(0, run) }
  expect(await peekOf(ben, { transport: silent, clock })).toEqual({ is: "newMessages" })
  const failing: Transport = {
    unary: () => Promise.reject(new Error("offline")),
    stream: () => Promise.reject(new Error()),
  }
  expect(await peekOf(ben, { transport: failing })).toEqual({ is: "newMessages" })
  const { openMemoryStore } = await import("../../clients/core/messaging/store/memory.ts")
  const empty = openMemoryStore()
  expect(await peekOf(ben, { store: empty })).toEqual({ is: "newMessages" })
  expect(await empty.spaces()).toEqual([])
})

test.runIf(isLong)("the ports of a peek refuse writes, other calls and new seals", async () => {
  const { ben } = await pair("ports")
  const store = readOnlyStore(ben.store)
  await expect(store.transact("device", 0n, [])).rejects.toThrow("must not write")
  await expect(store.close()).rejects.toThrow("must not close")
  const box = readOnlyBox(ben.box)
  const scope = { app: server.app.id }
  for (const call of [box.seal(scope, "a", utf8("a")), box.rotate(scope), box.destroy(scope)]) {
    await expect(call).rejects.toThrow("must not")
  }
  const transport = readingTransport(messengers.transport)
  for (const method of methods) {
    if (["ListConversations", "ListMessages"].includes(method.name)) continue
    await expect(callSample(transport, method)).rejects.toThrow(`must not call ${method.name}`)
  }
})
