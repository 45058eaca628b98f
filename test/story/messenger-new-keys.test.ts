// A device with a new key is announced before its first message, whether or not anybody verified keys. The warning
// stays in the timeline.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { create } from "@bufbuild/protobuf"
import { openFolderStore, openSqliteStore } from "@signet/client-node/messaging"
import { ConversationRecordSchema } from "@signet/proto/client/v1/records"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import type { MessengerEvent, NewKey, TimelineEntry } from "../../clients/core/messaging/events.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { openMemoryStore } from "../../clients/core/messaging/store/memory.ts"
import type { MessagingStore } from "../../clients/core/messaging/store/store.ts"
import { renewCredential } from "../../clients/core/messaging/sync/sync.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let messengers: Messengers
let folder: string
let ann: OpenedMessenger
let ben: OpenedMessenger
let id: string
let told: MessengerEvent[]
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "new-keys-"))
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server)
})
let count = 0
async function meet(store: MessagingStore = openMemoryStore()): Promise<void> {
  ann = await messengers.newcomer(`ann ${count}`, { store })
  ben = await messengers.newcomer(`ben ${count++}`)
  id = (await ann.messenger.createDirectConversation(ben.person.userId)).id
  await ben.messenger.sync()
  await ann.messenger.sync()
  told = []
  ann.messenger.subscribe((event) => told.push(event))
}
beforeEach(() => meet())
afterAll(async () => {
  await messengers?.close()
  await server?.close()
  await rm(folder, { recursive: true, force: true })
})

const utf8 = (text: string) => new TextEncoder().encode(text)
/** The timeline in order: who has which new key, and the texts. */
const shown = (entries: readonly TimelineEntry[]) =>
  entries.flatMap((entry) => {
    if (entry.is === "message") return [new TextDecoder().decode(entry.plaintext)]
    return entry.is === "newKeys" ? entry.devices.map(({ deviceId, what }) => `${what} ${deviceId}`) : []
  })
const toldEntries = (of = id) =>
  told.flatMap((event) => (event.is === "entry" && event.conversationId === of ? [event.entry] : []))
const warned = (): readonly NewKey[] => toldEntries().flatMap((entry) => (entry.is === "newKeys" ? entry.devices : []))
const timeline = async ({ messenger }: OpenedMessenger, of = id) => shown(await messenger.timeline(of))
const contextOf = async (opened: OpenedMessenger) =>
  (await openContext(...messengers.optionsFor(opened.person, opened))).context

async function otherDevice(of: OpenedMessenger): Promise<OpenedMessenger> {
  const second = await messengers.open(await of.person.again())
  await second.messenger.sync()
  await of.messenger.sync()
  await second.messenger.sync()
  return second
}

/** Renews the credential and so the key; the next sync commits it. */
async function changeKey(opened: OpenedMessenger): Promise<void> {
  await renewCredential(await contextOf(opened))
  await opened.messenger.sync()
}

const stores: [string, (name: string) => MessagingStore | Promise<MessagingStore>][] = [
  ["memory", () => openMemoryStore()],
  ["SQLite", (name) => openSqliteStore(join(folder, name))],
  ["a folder", (name) => openFolderStore(join(folder, name))],
]
test.runIf(isLong).each(stores)(
  "a new device and two new keys are shown before their messages, and stay, in %s",
  async (name, open) => {
    await meet(await open(name))
    const second = await otherDevice(ben)
    await second.messenger.send(id, utf8("from the second"))
    await ann.messenger.sync()
    const { deviceId } = ben.messenger
    for (const text of ["with another key", "with a third key"]) {
      await changeKey(ben)
      await ben.messenger.send(id, utf8(text))
      await ann.messenger.sync()
    }
    const expected = [
      `newDevice ${second.messenger.deviceId}`,
      "from the second",
      ...[`changedKey ${deviceId}`, "with another key"],
      ...[`changedKey ${deviceId}`, "with a third key"],
    ]
    expect(shown(toldEntries())).toEqual(expected)
    expect(warned().map(({ wasVerified }) => wasVerified)).toEqual([false, false, false])
    expect(told.filter(({ is }) => is === "keysChanged")).toEqual([])
    // A second sync and a restart report nothing twice, and the warnings keep their places.
    await ann.messenger.sync()
    expect(shown(toldEntries())).toEqual(expected)
    if (name !== "memory") await ann.messenger.close()
    const store = name === "memory" ? ann.store : await open(name)
    const again = await messengers.open(ann.person, { ...ann, store })
    again.messenger.subscribe((event) => told.push(event))
    await again.messenger.sync()
    expect(await timeline(again)).toEqual(expected)
    expect(shown(toldEntries())).toEqual(expected)
  },
)

test.runIf(isLong)("messages that a device missed offline are shown after the warning", async () => {
  const second = await otherDevice(ben)
  await second.messenger.send(id, utf8("one"))
  await changeKey(ben)
  for (let n = 0; n < 60; n++) await ben.messenger.send(id, utf8(`${n}`))
  await ann.messenger.sync()
  const all = await timeline(ann)
  expect(all.slice(0, 4)).toEqual([
    ...[`newDevice ${second.messenger.deviceId}`, "one"],
    ...[`changedKey ${ben.messenger.deviceId}`, "0"],
  ])
  expect(shown(toldEntries())).toEqual(all)
})

test.runIf(isLong)("the first keys of a user are not announced", async () => {
  await otherDevice(ben)
  const cid = await messengers.newcomer(`cid ${count++}`)
  told.length = 0
  cid.messenger.subscribe((event) => told.push(event))
  const { id: other } = await ben.messenger.createGroupConversation([cid.person.userId])
  await cid.messenger.sync()
  await ben.messenger.send(other, utf8("hello"))
  await cid.messenger.sync()
  expect(shown(toldEntries(other))).toEqual(["hello"])
})

test.runIf(isLong)(
  "a welcome into a group with a known user's new device announces the device before its messages",
  async () => {
    const cid = await messengers.newcomer(`cid ${count++}`)
    const second = await messengers.open(await ben.person.again())
    await second.messenger.sync()
    const { id: other } = await cid.messenger.createGroupConversation([ben.person.userId])
    await second.messenger.sync()
    await cid.messenger.addMembers(other, [ann.person.userId])
    await second.messenger.sync()
    await second.messenger.send(other, utf8("it is me"))
    await ann.messenger.sync()
    const expected = [`newDevice ${second.messenger.deviceId}`, "it is me"]
    expect(shown(toldEntries(other))).toEqual(expected)
    expect(await timeline(ann, other)).toEqual(expected)
  },
)

test.runIf(isLong)("a new device of the same user is announced", async () => {
  const second = await otherDevice(ann)
  await second.messenger.send(id, utf8("from myself"))
  await ann.messenger.sync()
  expect(await timeline(ann)).toEqual([`newDevice ${second.messenger.deviceId}`, "from myself"])
  expect(warned()).toMatchObject([{ userId: ann.person.userId }])
  // On the new device itself the earlier ones are not announced.
  expect(await timeline(second)).toEqual(["from myself"])
})

test.runIf(isLong)("a device that leaves and returns is announced if it has another key", async () => {
  const second = await otherDevice(ben)
  await ann.messenger.sync()
  const { deviceId } = second.messenger
  expect(await timeline(ann)).toEqual([`newDevice ${deviceId}`])
  const rejoin = async () => {
    await second.messenger.rejoin(id)
    for (let round = 0; round < 3; round++) for (const one of [ben, second, ann]) await one.messenger.sync()
    await second.messenger.send(id, utf8("back"))
    await ann.messenger.sync()
  }
  await rejoin()
  expect(await timeline(ann)).toEqual([`newDevice ${deviceId}`, "back"])
  await second.messenger.rejoin(id)
  await ben.messenger.sync()
  await renewCredential(await contextOf(second))
  await rejoin()
  expect(await timeline(ann)).toEqual([`newDevice ${deviceId}`, "back", `changedKey ${deviceId}`, "back"])
})

test.runIf(isLong)("an envelope that is processed twice warns once", async () => {
  const second = await otherDevice(ben)
  const { calls } = await contextOf(ben)
  const { envelopes } = await calls.conversations.listMessages({ conversationId: id, afterSeq: 0n, limit: 50 })
  for (const envelope of [...envelopes, ...envelopes]) {
    await ann.messenger.processIncoming({ conversationId: id, envelope })
  }
  await ann.messenger.sync()
  expect(await timeline(ann)).toEqual([`newDevice ${second.messenger.deviceId}`])
  expect(warned()).toHaveLength(1)
})

test.runIf(isLong)("a page never ends between a warning and the entry with its sequence number", async () => {
  await otherDevice(ben)
  await ann.messenger.sync()
  await ben.messenger.send(id, utf8("after"))
  await ann.messenger.sync()
  const all = await ann.messenger.timeline(id)
  const read: TimelineEntry[] = []
  for (;;) {
    const last = read.at(-1)
    const page = await ann.messenger.timeline(id, { limit: 1, ...(last && { afterSeq: last.seq }) })
    if (page.length === 0) break
    read.push(...page)
  }
  expect(read).toEqual(all)
  expect(read.map(({ is }) => is)).toContain("newKeys")
})

test.runIf(isLong)("a verified user's new key is a separate, stronger event, and its entry says so", async () => {
  const { safetyNumber } = await ann.messenger.verification.of(ben.person.userId)
  await ann.messenger.verification.markVerified(ben.person.userId, safetyNumber)
  await changeKey(ben)
  await ben.messenger.send(id, utf8("hello"))
  await ann.messenger.sync()
  expect(told.map((event) => (event.is === "entry" ? event.entry.is : event.is))).toEqual([
    ...["keysChanged", "newKeys", "message"],
  ])
  expect(warned()).toEqual([
    { userId: ben.person.userId, deviceId: ben.messenger.deviceId, what: "changedKey", wasVerified: true },
  ])
})

test.runIf(isLong).each<[string, (row: Uint8Array) => Promise<Uint8Array | undefined>]>([
  ["removed", async () => undefined],
  ["rolled back", async (row) => row],
])("a list of seen keys that is %s is noticed", async (_, change) => {
  const seen = { table: "peer", key: "seen" } as const
  const before = (await ann.store.read(id, [seen])).values[0]
  if (before === undefined) throw new Error("no keys were seen")
  const second = await otherDevice(ben)
  await ann.messenger.sync()
  const value = await change(before)
  await ann.store.transact("device", (await ann.store.read("device", [])).generation, [
    value === undefined ? { ...seen, space: id, op: "remove" } : { ...seen, space: id, op: "put", value },
  ])
  const again = await messengers.open(ann.person, ann)
  const failures: unknown[] = []
  again.messenger.subscribe((event) => event.is === "failed" && failures.push(event.error))
  await changeKey(second)
  await second.messenger.send(id, utf8("unseen"))
  await again.messenger.sync()
  expect(failures).toContainEqual(expect.objectContaining({ reason: "STATE_TAMPERED" }))
  expect(await timeline(again)).not.toContain("unseen")
})

test.runIf(isLong)("a store of an earlier version contains the keys of its groups", async () => {
  const context = await contextOf(ann)
  await context.conversation(id).change(async (held) => {
    if (held.record === undefined) throw new Error("no conversation")
    const record = create(ConversationRecordSchema, { ...held.record, seenKeysHash: new Uint8Array() })
    return { next: { ...held, record }, ops: [{ op: "remove", table: "peer", key: "seen" }], result: undefined }
  })
  await changeKey(ben)
  await ben.messenger.send(id, utf8("hello"))
  await ann.messenger.sync()
  expect(await timeline(ann)).toEqual([`changedKey ${ben.messenger.deviceId}`, "hello"])
})
