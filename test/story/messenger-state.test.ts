// A messenger with rolled back state, with another user's state, and with state of an earlier version; and the
// plaintext in a store.
import { create } from "@bufbuild/protobuf"
import { utf8 } from "@signet/canonical/bytes"
import {
  ConversationRecord_Status,
  ConversationRecordSchema,
  OutboxRecordSchema,
} from "@signet/proto/client/v1/records"
import { StateSnapshotV1Schema } from "@signet/proto/client/v1/state_snapshot"
import type { ListMessagesResponse } from "@signet/proto/messaging/v1/conversation_service"
import { afterAll, beforeAll, expect, test } from "vitest"
import { createMessengerWith } from "../../clients/core/messaging/create-messenger.ts"
import {
  encodeSecrets,
  epochAuthenticator,
  type GroupState,
  uncheckedEngine,
} from "../../clients/core/messaging/mls.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { sealSnapshot } from "../../clients/core/messaging/state/snapshot.ts"
import { snapshotOf } from "../../clients/core/messaging/state/stored-conversation.ts"
import { openMemoryStore } from "../../clients/core/messaging/store/memory.ts"
import type { Row, Table } from "../../clients/core/messaging/store/store.ts"
import { testBox } from "../../clients/core/messaging/testing/test-box.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong, sample } from "../support/effort.ts"
import { copyOf } from "../support/messaging/copied-store.ts"
import { lyingTransport } from "../support/messaging/lying-transport.ts"
import { type Messengers, messengersOn, type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let messengers: Messengers
let ann: OpenedMessenger
let ben: OpenedMessenger
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server)
  ann = await messengers.newcomer("ann")
  ben = await messengers.newcomer("ben")
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const again = ({ person, store, box }: OpenedMessenger) => messengers.open(person, { store, box })

async function group(): Promise<string> {
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  await ben.messenger.sync()
  return id
}

test.each(
  sample(1, [
    ["that it had sent from", async (id: string) => ann.messenger.send(id, utf8("after the backup"))],
    [
      "that it had read beyond",
      async (id: string) => {
        await ben.messenger.send(id, utf8("after the backup"))
        await ann.messenger.sync()
      },
    ],
    ["that it had changed the keys of", async (id: string) => ann.messenger.refreshKeys(id)],
  ]),
)("a state that was put back, %s, sends nothing, and is let in again", async (_, goOn) => {
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
  // Stored now, and encrypted once there are new keys.
  expect((await old.messenger.send(id, utf8("never under an old key"))).state).toBe("queued")
  await ben.messenger.sync()
  await old.messenger.sync()
  expect((await old.messenger.conversation(id))?.status).toBe("active")
  // The group is the same one, so no reset is shown.
  expect((await old.messenger.timeline(id)).map(({ is }) => is)).not.toContain("reset")
  await old.messenger.send(id, utf8("with new keys"))
  await ben.messenger.sync()
  expect((await textsIn(ben, id)).slice(-2)).toEqual(["never under an old key", "with new keys"])
  // The device with the newer state is out of date now and is not used any more, because it is the same device.
  ann = await again({ ...ann, store: backup })
})

/** Writes as with disk access: the conversation's generation does not change. */
async function overwrite({ store }: Pick<OpenedMessenger, "store">, space: string, table: Table, row: Row | undefined) {
  if (row === undefined) throw new Error("no row")
  const { generation } = await store.read("device", [])
  expect(await store.transact("device", generation, [{ op: "put", space, table, ...row }])).toBe("ok")
}

test.each(["state", "conversation"] as const)(
  "a rolled back row of table %s is detected, and nothing is changed",
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

test.runIf(isLong)("a rolled back list of members is detected when conversations are listed", async () => {
  const id = await group()
  const members = async () => (await ann.store.list(id, "tree")).find(({ key }) => key === "members")
  const before = await members()
  await ann.messenger.removeMembers(id, [ben.person.userId])
  const now = await members()
  await overwrite(ann, id, "tree", before)
  const { messenger } = await again(ann)
  await expect(messenger.conversations()).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
  await overwrite(ann, id, "tree", now)
  const listed = (await messenger.conversations()).find((one) => one.id === id)
  expect(listed?.memberUserIds).toEqual([ann.person.userId])
})

test("a quarantined conversation does not become active with an earlier record", async () => {
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

test.runIf(isLong)("a sent message is not sent again after a rollback of its row", async () => {
  const id = await group()
  await ann.messenger.encryptMessage(id, utf8("once"))
  const [row] = await ann.store.list(id, "outbox")
  await ann.messenger.send(id, utf8("after it"))
  // In another epoch it would be encrypted anew, and nobody could distinguish it from a second message.
  await ann.messenger.refreshKeys(id)
  await overwrite(ann, id, "outbox", row)
  const { messenger } = await again(ann)
  await messenger.sync()
  await messenger.send(id, utf8("last"))
  await ben.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["once", "after it", "last"])
})

test.runIf(isLong)("state of an earlier version is used, and cannot be rolled back to afterwards", async () => {
  const id = await group()
  const { context } = await openContext(...messengers.optionsFor(ann.person, { store: ann.store, box: ann.box }))
  await ann.messenger.encryptMessage(id, utf8("written before the update"))
  const { record, local } = await context.conversation(id).stored()
  if (record === undefined || local === undefined) throw new Error("no state")
  const [waiting] = await context.conversation(id).pending("outbox", OutboxRecordSchema)
  const { generation } = await ann.store.read(id, [])
  // As in the first format: only the state contains the generation.
  const { rows, owner, device } = context
  const place = { ...owner, deviceId: device.id ?? "", conversationId: id }
  const snapshot = snapshotOf(id, generation + 1n, local, undefined)
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
  await device.mark({ bindsRecords: false })
  const [old] = await ann.store.list(id, "conversation")
  ann = await again(ann)
  await ann.messenger.sync()
  await ben.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["written before the update"])
  await overwrite(ann, id, "conversation", old)
  const { messenger } = await again(ann)
  await expect(messenger.conversation(id)).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
})

test.runIf(isLong)(
  "a conversation that waited under an earlier version still waits, and cannot be rolled back to it afterwards",
  async () => {
    const id = await group()
    const { context } = await openContext(...messengers.optionsFor(ann.person, { store: ann.store, box: ann.box }))
    const { record } = await context.conversation(id).stored()
    if (record === undefined) throw new Error("no record")
    const { generation } = await ann.store.read(id, [])
    const place = { space: id, table: "conversation", key: "record" } as const
    // Without a state nothing contains the generation.
    const waiting = { ...record, status: ConversationRecord_Status.WAITING, generation: 0n, due: [] }
    const written = await ann.store.transact(id, generation, [
      { op: "remove", table: "state", key: "snapshot" },
      { op: "remove", table: "tree", key: "current" },
      await context.rows.put(place, ConversationRecordSchema, waiting),
    ])
    expect(written).toBe("ok")
    await context.device.mark({ bindsRecords: false })
    const [old] = await ann.store.list(id, "conversation")
    // If the store fails meanwhile, the record is not taken for a restored one afterwards.
    const failure = new Error("the disk is gone")
    const failing: typeof ann.store = {
      ...ann.store,
      read: (space, wanted) => (space === id ? Promise.reject(failure) : ann.store.read(space, wanted)),
    }
    await expect(again({ ...ann, store: failing })).rejects.toBe(failure)
    ann = await again(ann)
    expect((await ann.messenger.conversation(id))?.status).toBe("waiting")
    const [now] = await ann.store.list(id, "conversation")
    await overwrite(ann, id, "conversation", old)
    const { messenger } = await again(ann)
    await expect(messenger.conversation(id)).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
    await expect(messenger.conversations()).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
    await overwrite(ann, id, "conversation", now)
    expect((await messenger.conversation(id))?.status).toBe("waiting")
  },
)

test.runIf(isLong)("a store opens for its user and its box, and for no other", async () => {
  const cid = await messengers.newcomer("cid")
  const { store, box } = ann
  await expect(messengers.open(cid.person, { store, box })).rejects.toMatchObject({ reason: "WRONG_USER" })
  const other = { store, box: testBox("another") }
  await expect(messengers.open(ann.person, other)).rejects.toMatchObject({ reason: "SECURE_STORE_CHANGED" })
})

test("the secret box encrypts everything in a store except its header and the names of rows", async () => {
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

test.runIf(isLong).each(["close", "destroyLocalState"] as const)(
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
    // A message that would be sent with them is refused.
    await expect(fay.send(id, utf8("with no key"))).rejects.toMatchObject({ reason: "CLOSED" })
  },
)

test.runIf(isLong)("after a new sign-in the device is the same", async () => {
  const id = await group()
  const { store, box, messenger, person } = ann
  const anew = await messengers.open(await person.again(), { store, box })
  await anew.messenger.sync()
  expect(anew.messenger.deviceId).toBe(messenger.deviceId)
  await anew.messenger.send(id, utf8("from another session"))
  await ben.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["from another session"])
})
