// What a messenger does with state that was put back, is somebody else's or cannot be followed any more, and with
// envelopes that come as they like.
import { create } from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { hash } from "@signet/canonical/hash"
import { ConversationRecordSchema, OutboxRecordSchema } from "@signet/proto/client/v1/records"
import { StateSnapshotV1Schema } from "@signet/proto/client/v1/state_snapshot"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import type { ListMessagesResponse } from "@signet/proto/messaging/v1/conversation_service"
import type { UploadKeyPackagesResponse } from "@signet/proto/messaging/v1/key_package_service"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { createMessengerWith } from "../../clients/core/messaging/create-messenger.ts"
import {
  encodeSecrets,
  epochAuthenticator,
  type GroupState,
  uncheckedEngine,
} from "../../clients/core/messaging/mls.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { snapshotOf } from "../../clients/core/messaging/state/held.ts"
import { sealSnapshot } from "../../clients/core/messaging/state/snapshot.ts"
import { openMemoryStore } from "../../clients/core/messaging/store/memory.ts"
import type { MessagingStore, Row, Table } from "../../clients/core/messaging/store/store.ts"
import { renewCredential } from "../../clients/core/messaging/sync/sync.ts"
import { testBox } from "../../clients/core/messaging/testing/test-box.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { callsOver } from "../support/messaging/calls.ts"
import { lyingTransport } from "../support/messaging/lying-transport.ts"
import { type Messengers, messengersOn, type Seated } from "../support/messaging/messengers.ts"

let server: Deployment
let messengers: Messengers
let ann: Seated
let ben: Seated
beforeAll(async () => {
  server = await startDeployment({ store: "pglite" })
  messengers = messengersOn(server)
  ann = await messengers.newcomer("ann")
  ben = await messengers.newcomer("ben")
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)
const textsIn = async ({ messenger }: Seated, conversationId: string) =>
  (await messenger.timeline(conversationId)).flatMap((entry) =>
    entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : [],
  )
const again = ({ person, store, box }: Seated) => messengers.open(person, { store, box })

async function group(): Promise<string> {
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  await ben.messenger.sync()
  return id
}

/** A copy of a store, as a backup makes it. */
async function copyOf(store: MessagingStore): Promise<MessagingStore> {
  const tables = [
    "header",
    "device",
    "keyPackage",
    "usedKeyPackage",
    "creation",
    "peer",
    "conversation",
    "state",
  ] as const
  const more = ["tree", "staged", "intent", "outbox", "timeline"] as const
  const copy = openMemoryStore()
  for (const space of await store.spaces()) {
    const { generation } = await store.read(space, [])
    for (let at = 0n; at < generation - 1n; at++) await copy.transact(space, at, [])
    const ops = []
    for (const table of [...tables, ...more]) {
      for (const { key, value } of await store.list(space, table)) ops.push({ op: "put", table, key, value } as const)
    }
    await copy.transact(space, generation - 1n, ops)
  }
  return copy
}

test.each([
  ["that it had sent from", async (id: string) => ann.messenger.send(id, utf8("after the backup"))],
  [
    "that it had read beyond",
    async (id: string) => {
      await ben.messenger.send(id, utf8("after the backup"))
      await ann.messenger.sync()
    },
  ],
  ["that it had changed the keys of", async (id: string) => ann.messenger.refreshKeys(id)],
])("a state that was put back, %s, sends nothing, and is let in again", async (_, goOn) => {
  const id = await group()
  await ann.messenger.send(id, utf8("before the backup"))
  await ann.messenger.sync()
  const backup = await copyOf(ann.store)
  await goOn(id)
  const old = await messengers.open(ann.person, { store: backup, box: ann.box })
  const statuses: string[] = []
  old.messenger.subscribe((event) => {
    if (event.is === "status" && event.conversationId === id) statuses.push(event.status)
  })
  await old.messenger.sync()
  expect(statuses).toEqual(["rolledBack", "waiting"])
  await expect(old.messenger.send(id, utf8("twice under one key"))).rejects.toMatchObject({
    reason: "CONVERSATION_NOT_ACTIVE",
  })
  await ben.messenger.sync()
  await old.messenger.sync()
  expect((await old.messenger.conversation(id))?.status).toBe("active")
  await old.messenger.send(id, utf8("with new keys"))
  await ben.messenger.sync()
  expect((await textsIn(ben, id)).at(-1)).toBe("with new keys")
  // The one with the newer state is out of date now, and the same device: it is not used any more.
  ann = await again({ ...ann, store: backup })
})

/** As somebody does who writes to the disk: the conversation's generation does not tell of it. */
async function overwrite({ store }: Pick<Seated, "store">, space: string, table: Table, row: Row | undefined) {
  if (row === undefined) throw new Error("no row")
  const { generation } = await store.read("device", [])
  expect(await store.transact("device", generation, [{ op: "put", space, table, ...row }])).toBe("ok")
}

test.each(["state", "conversation"] as const)(
  "a row of table %s that was put back is noticed, and nothing is changed",
  async (table) => {
    const id = await group()
    const [before] = await ann.store.list(id, table)
    await ann.messenger.send(id, utf8("one more"))
    const [now] = await ann.store.list(id, table)
    await overwrite(ann, id, table, before)
    const { messenger } = await again(ann)
    await expect(messenger.send(id, utf8("from there"))).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
    await expect(messenger.conversation(id)).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
    expect(await ann.store.list(id, table)).toEqual([before])
    await overwrite(ann, id, table, now)
    expect((await messenger.conversation(id))?.status).toBe("active")
  },
)

test("a conversation that was quarantined does not become active by a record from before", async () => {
  const id = await group()
  const [before] = await ann.store.list(id, "conversation")
  const transport = lyingTransport(messengers.transport)
  const lied = await messengers.open(ann.person, { ...ann, transport })
  await ben.messenger.refreshKeys(id)
  transport.bend = {
    method: "ListMessages",
    answer: (truth) => {
      for (const envelope of (truth as ListMessagesResponse).envelopes) envelope.receipt = new Uint8Array()
    },
  }
  await lied.messenger.sync()
  expect((await lied.messenger.conversation(id))?.status).toBe("quarantined")
  await overwrite(ann, id, "conversation", before)
  const { messenger } = await again(ann)
  await expect(messenger.conversation(id)).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
  await expect(messenger.send(id, utf8("as if nothing was"))).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
})

test("a message that was sent is not sent again because its row was put back", async () => {
  const id = await group()
  await ann.messenger.encryptMessage(id, utf8("once"))
  const [row] = await ann.store.list(id, "outbox")
  await ann.messenger.send(id, utf8("after it"))
  // In another epoch it would be encrypted anew: nobody could tell it from a second message.
  await ann.messenger.refreshKeys(id)
  await overwrite(ann, id, "outbox", row)
  const { messenger } = await again(ann)
  await messenger.sync()
  await messenger.send(id, utf8("last"))
  await ben.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["once", "after it", "last"])
})

test("what an earlier version wrote is gone on with, and cannot be put back afterwards", async () => {
  const id = await group()
  const { context } = await openContext(...messengers.optionsFor(ann.person, { store: ann.store, box: ann.box }))
  await ann.messenger.encryptMessage(id, utf8("written before the update"))
  const { record, seat } = await context.door(id).held()
  if (record === undefined || seat === undefined) throw new Error("no state")
  const [waiting] = await context.door(id).due("outbox", OutboxRecordSchema)
  const { generation } = await ann.store.read(id, [])
  // As the first format was written: nothing but the state names the generation.
  const { rows, owner, device } = context
  const place = { ...owner, deviceId: device.id ?? "", conversationId: id }
  const snapshot = snapshotOf(id, generation + 1n, seat, undefined)
  const value = await sealSnapshot(rows, place, create(StateSnapshotV1Schema, { ...snapshot, formatVersion: 1 }))
  const unbound = { ...record, generation: 0n, due: [] }
  const recordPlace = { space: id, table: "conversation", key: "record" } as const
  const outboxPlace = { space: id, table: "outbox", key: waiting?.id ?? "" } as const
  const written = await ann.store.transact(id, generation, [
    { op: "put", table: "state", key: "snapshot", value },
    await rows.put(recordPlace, ConversationRecordSchema, unbound),
    await rows.put(outboxPlace, OutboxRecordSchema, waiting?.record ?? {}),
  ])
  expect(written).toBe("ok")
  const [old] = await ann.store.list(id, "conversation")
  ann = await again(ann)
  await ann.messenger.sync()
  await ben.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["written before the update"])
  await overwrite(ann, id, "conversation", old)
  const { messenger } = await again(ann)
  await expect(messenger.conversation(id)).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
})

test("a store opens for its user and its box, and for no other", async () => {
  const cid = await messengers.newcomer("cid")
  const { store, box } = ann
  await expect(messengers.open(cid.person, { store, box })).rejects.toMatchObject({ reason: "WRONG_USER" })
  const other = { store, box: testBox("another") }
  await expect(messengers.open(ann.person, other)).rejects.toMatchObject({ reason: "SECURE_STORE_CHANGED" })
})

test("envelopes come in any order, twice, and across epochs: they are read in theirs", async () => {
  const id = await group()
  const texts: string[] = []
  for (let epoch = 0; epoch < 5; epoch++) {
    for (const text of [`a${epoch}`, `b${epoch}`]) {
      texts.push(text)
      await ann.messenger.send(id, utf8(text))
    }
    await ann.messenger.refreshKeys(id)
  }
  const log = await logOf(id)
  // A network that is gone: what is missing cannot be fetched.
  const offline = await messengers.open(ben.person, { ...ben, transport: cutOff() })
  const { processedSeq = 0n } = (await offline.messenger.conversation(id)) ?? {}
  const missing = log.filter(({ seq }) => seq > processedSeq)
  const shuffled = [...missing.toReversed(), ...missing]
  const outcomes = new Set<string>()
  for (const envelope of shuffled) {
    outcomes.add((await offline.messenger.processIncoming({ conversationId: id, envelope })).is)
  }
  expect([...outcomes].sort()).toEqual(["processed", "queued", "replay"])
  expect(await textsIn(offline, id)).toEqual(texts)
})

test("an envelope that the log does not have changes nothing", async () => {
  const id = await group()
  await ann.messenger.send(id, utf8("true"))
  const [, envelope] = await logOf(id)
  if (envelope === undefined) throw new Error("no message")
  const offline = await messengers.open(ben.person, { ...ben, transport: cutOff() })
  const before = await offline.messenger.conversation(id)
  const bent = (change: Partial<typeof envelope>) =>
    offline.messenger.processIncoming({ conversationId: id, envelope: { ...envelope, ...change } })
  const message = envelope.message.slice()
  message[message.length - 1] = 255 - (message.at(-1) ?? 0)
  await expect(bent({ message })).rejects.toMatchObject({ reason: "ENVELOPE_INVALID" })
  await expect(bent({ message: new Uint8Array(9) })).rejects.toMatchObject({ reason: "ENVELOPE_INVALID" })
  const contentHash = hash("content", message)
  await expect(bent({ message, contentHash })).rejects.toMatchObject({ reason: "ENVELOPE_INVALID" })
  await expect(bent({ seq: 0n })).rejects.toMatchObject({ reason: "ENVELOPE_INVALID" })
  expect(await offline.messenger.conversation(id)).toEqual(before)
  expect(await bent({})).toMatchObject({ is: "processed" })
})

test("without a network messages wait, in order, and are sent once when it is back", async () => {
  const id = await group()
  const offline = await messengers.open(ann.person, { ...ann, transport: cutOff() })
  for (const text of ["one", "two", "three"]) {
    await expect(offline.messenger.send(id, utf8(text))).rejects.toMatchObject({ reason: "QUEUED" })
  }
  await ben.messenger.refreshKeys(id)
  await ann.messenger.sync()
  await ann.messenger.sync()
  await ben.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["one", "two", "three"])
})

test("what encryptMessage gave is sent with the next message, before it", async () => {
  const id = await group()
  const envelope = await ann.messenger.encryptMessage(id, utf8("first"))
  expect(envelope.message.length).toBeGreaterThan(256)
  await ann.messenger.send(id, utf8("second"))
  await ben.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["first", "second"])
})

test("everything in a store but its header and the names of rows went through the secret box", async () => {
  const sealed: Uint8Array[] = []
  const inner = testBox()
  const box = {
    ...inner,
    async seal(...of: Parameters<typeof inner.seal>) {
      sealed.push(await inner.seal(...of))
      return sealed.at(-1) ?? new Uint8Array()
    },
  }
  const dot = await messengers.newcomer("dot", { box })
  const { id } = await dot.messenger.createDirectConversation(ben.person.userId)
  await dot.messenger.send(id, utf8("a secret"))
  await dot.messenger.encryptMessage(id, utf8("another secret"))
  const known = sealed.map((bytes) => Buffer.from(bytes))
  const isSealed = (value: Uint8Array) =>
    known.some((bytes) => Buffer.from(value).includes(bytes) && value.length - bytes.length < 16)
  for (const [space, table] of [["device", "device"], ["device", "keyPackage"], ...inConversation(id)] as const) {
    const rows = await dot.store.list(space, table)
    expect(rows.length, table).toBeGreaterThan(0)
    for (const { value } of rows) expect(isSealed(value), table).toBe(true)
  }
})

const inConversation = (id: string) =>
  (["conversation", "state", "tree", "outbox", "timeline"] as const).map((table) => [id, table] as const)

test("a sync opens the states of those conversations that have something new, and no others", async () => {
  const gil = await messengers.newcomer("gil")
  const ids: string[] = []
  for (let i = 0; i < 4; i++) {
    ids.push((await ben.messenger.createGroupConversation([gil.person.userId])).id)
  }
  await gil.messenger.sync()
  const [options, primitives] = messengers.optionsFor(gil.person, gil)
  const opened: string[] = []
  const counting = {
    ...primitives,
    async openEngine(given: Parameters<typeof uncheckedEngine>[0]) {
      const engine = uncheckedEngine(given)
      const decodeState: typeof engine.decodeState = (...args) => {
        opened.push("one")
        return engine.decodeState(...args)
      }
      return { ...engine, decodeState }
    },
  }
  const again = await createMessengerWith(options, counting)
  const heard: string[] = []
  again.subscribe((event) => event.is === "entry" && heard.push(event.conversationId))
  await again.sync()
  expect(opened).toHaveLength(0)
  const [first = "", second = ""] = ids
  await ben.messenger.send(second, utf8("news"))
  await again.sync()
  expect([opened.length, heard]).toEqual([1, [second]])
  await again.send(first, utf8("an answer"))
  expect(opened).toHaveLength(2)
  // What another process of the store took in is told here, too, of a state that was never opened here.
  const third = ids[2] ?? ""
  await ben.messenger.send(third, utf8("for the other process"))
  await gil.messenger.sync()
  await again.sync()
  expect([opened.length, heard]).toEqual([2, [second, first, third]])
})

test.each(["close", "destroyLocalState"] as const)(
  "after %s no secret of a conversation or device is in memory",
  async (end) => {
    const secrets: Uint8Array[] = []
    const states: GroupState[] = []
    const [options, primitives] = messengers.optionsFor(await server.person("fay"), {
      store: openMemoryStore(),
      box: testBox(),
    })
    const fay = await createMessengerWith(options, {
      ...primitives,
      async openEngine(given) {
        const engine = uncheckedEngine(given)
        return {
          ...engine,
          async encrypt(...args) {
            const made = await engine.encrypt(...args)
            states.push(made.next)
            return made
          },
        }
      },
      suite: {
        ...primitives.suite,
        sign(key, message) {
          secrets.push(key)
          return primitives.suite.sign(key, message)
        },
      },
    })
    await fay.sync()
    const { id } = await fay.createGroupConversation([ben.person.userId])
    await fay.send(id, utf8("a secret"))
    const isWiped = (bytes: Uint8Array | undefined) => bytes?.every((byte) => byte === 0)
    const group = states.at(-1)
    const key = secrets.at(-1)
    if (group === undefined || key === undefined) throw new Error("nothing was sent")
    const before = [...epochAuthenticator(group)]
    expect(before.every((byte) => byte === 0)).toBe(false)
    expect(isWiped(key)).toBe(false)
    await (end === "close" ? fay.close() : fay.destroyLocalState("destroy everything on this device"))
    expect([isWiped(epochAuthenticator(group)), isWiped(key)]).toEqual([true, true])
    const kept = Buffer.from(encodeSecrets(group)).toString("hex")
    expect(kept).not.toContain(Buffer.from(before).toString("hex"))
    // And what would be sent with them is not.
    await expect(fay.send(id, utf8("with no key"))).rejects.toMatchObject({ reason: "CLOSED" })
  },
)

test("a device that the log has moved on without asks to be let in again", async () => {
  const id = await group()
  await ann.messenger.send(id, utf8("never read"))
  const { transport } = messengers
  let isPruned = true
  const pruned: Transport = {
    ...transport,
    async unary(...call) {
      if (isPruned && call[0].name === "ListMessages") throw refusal("LOG_PRUNED")
      return transport.unary(...call)
    },
  }
  const behind = await messengers.open(ben.person, { ...ben, transport: pruned })
  await behind.messenger.sync()
  expect((await behind.messenger.conversation(id))?.status).toBe("waiting")
  isPruned = false
  await ann.messenger.sync()
  await ann.messenger.send(id, utf8("read again"))
  await behind.messenger.sync()
  expect((await behind.messenger.conversation(id))?.status).toBe("active")
  expect((await behind.messenger.timeline(id)).map(({ is }) => is)).toEqual(["gap", "message"])
})

test("key packages are made when few are left, and the secrets of those that were used are gone", async () => {
  const transport = lyingTransport(messengers.transport)
  const inventories: number[] = []
  transport.bend = {
    method: "UploadKeyPackages",
    answer: (truth) => inventories.push((truth as UploadKeyPackagesResponse).inventory?.available ?? 0),
  }
  const eve = await messengers.newcomer("eve", { transport })
  const made = async () => new Set((await eve.store.list("device", "keyPackage")).map(({ key }) => key))
  const first = await made()
  for (let i = 0; i < 3; i++) await ann.messenger.createGroupConversation([eve.person.userId])
  await eve.messenger.sync()
  await eve.messenger.sync()
  expect(inventories).toEqual([12, 12])
  const used = (await eve.store.list("device", "usedKeyPackage")).map(({ key }) => key)
  const now = await made()
  expect(used).toHaveLength(3)
  expect(used.filter((key) => first.has(key) && !now.has(key))).toEqual(used)
  // Of one use, and the last resort.
  expect(now.size).toBe(13)
})

test("a renewed credential has a new key, and is put to use in every conversation", async () => {
  const id = await group()
  const options = messengers.optionsFor(ann.person, { store: ann.store, box: ann.box })
  const { context } = await openContext(...options)
  const before = context.device.credentialHash()
  await renewCredential(context)
  expect(context.device.credentialHash()).not.toEqual(before)
  const again = await messengers.open(ann.person, ann)
  await again.messenger.refreshKeys(id)
  await again.messenger.send(id, utf8("with the new key"))
  await ben.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["with the new key"])
  expect((await ben.messenger.conversation(id))?.status).toBe("active")
  ann = again
})

test("after signing in anew the device is the one that it was", async () => {
  const id = await group()
  const { store, box, messenger, person } = ann
  const anew = await messengers.open(await person.again(), { store, box })
  await anew.messenger.sync()
  expect(anew.messenger.deviceId).toBe(messenger.deviceId)
  await anew.messenger.send(id, utf8("from another session"))
  await ben.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["from another session"])
})

function refusal(reason: string): ConnectError {
  const value = { reason, domain: "signet" }
  return new ConnectError("refused", Code.FailedPrecondition, undefined, [{ desc: ErrorInfoSchema, value }])
}

/** Everything that was ever appended. */
async function logOf(conversationId: string): Promise<Envelope[]> {
  const calls = callsOver(messengers.transport, { token: await ben.person.refresh(), device: undefined })
  return (await calls.conversations.listMessages({ conversationId, afterSeq: 0n, limit: 200 })).envelopes
}

/** Nothing comes through. */
function cutOff(): Transport {
  return { ...messengers.transport, unary: async () => Promise.reject(new TypeError("fetch failed")) }
}
