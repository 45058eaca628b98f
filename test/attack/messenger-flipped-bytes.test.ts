// A byte of a stored row was changed, as by a failing disk or by somebody with access to it. Every read gets a typed error
// or the unchanged result, for each kind of row, and for the header, which is not sealed.
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { IntentRecordSchema } from "@signet/proto/client/v1/records"
import { expect, test } from "vitest"
import { isSignetError } from "../../clients/core/errors.ts"
import { openAttachment } from "../../clients/core/messaging/attachments/attachments.ts"
import { uploadsIn } from "../../clients/core/messaging/attachments/upload-rows.ts"
import type { Context } from "../../clients/core/messaging/context.ts"
import { isMessagingError } from "../../clients/core/messaging/errors.ts"
import { refillKeyPackages } from "../../clients/core/messaging/joining/key-packages.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { carryOutCreations } from "../../clients/core/messaging/sending/creation.ts"
import { listOutbox } from "../../clients/core/messaging/sending/queue.ts"
import { readTail } from "../../clients/core/messaging/state/tail.ts"
import { readTimeline } from "../../clients/core/messaging/state/timeline.ts"
import type { MessagingStore, Table } from "../../clients/core/messaging/store/store.ts"
import { verification } from "../../clients/core/messaging/verification/verification.ts"
import { importSealingKey, openBytes, sealBytes } from "../../clients/core/sealed.ts"
import { isSecretBoxError, type SecretBox } from "../../clients/core/secret-box.ts"
import { effort, isLong } from "../support/effort.ts"
import { lyingTransport } from "../support/messaging/lying-transport.ts"
import { messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"
import { startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)

/** Seals as the boxes of the platforms do. */
async function sealingBox(): Promise<SecretBox> {
  const pinned = { backend: "keychain", version: 1 }
  const key = await importSealingKey(new Uint8Array(32).fill(7))
  return {
    describe: () => ({ ...pinned, hardware: false, deviceBound: false, persistent: true }),
    createKey: async () => undefined,
    seal: (scope, purpose, plaintext) => sealBytes(pinned, key, { scope, purpose }, plaintext),
    open: (scope, purpose, sealed) =>
      openBytes(pinned, (id) => (id === key.id ? key : undefined), { scope, purpose }, sealed),
    rotate: async () => undefined,
    destroy: async () => undefined,
  }
}

const lost = () => Promise.reject(new ConnectError("offline", Code.Unavailable))
const offline: Transport = { unary: lost, stream: lost }

interface Flip {
  readonly space: string
  readonly table: Table
  readonly key: string
  readonly value: Uint8Array
}

/** The store with one changed row. It is only read. */
function withRow(store: MessagingStore, { space, table, key, value }: Flip): MessagingStore {
  const isIt = (of: string, one: { table: string; key: string }) =>
    of === space && one.table === table && one.key === key
  return {
    ...store,
    async read(of, wanted) {
      const { generation, values } = await store.read(of, wanted)
      return { generation, values: values.map((one, i) => (isIt(of, wanted[i] ?? expect.fail()) ? value : one)) }
    },
    async list(of, name, range) {
      const rows = await store.list(of, name, range)
      return rows.map((row) => (isIt(of, { table: name, key: row.key }) ? { ...row, value } : row))
    },
    transact: () => expect.fail("nothing is written"),
    close: async () => undefined,
  }
}

/** A device with rows of every kind. */
async function furnished() {
  const server = await startMessagingServer({ store: storyStore })
  const messengers = messengersOn(server, { keyPackages: 2 })
  const transport = lyingTransport(messengers.transport)
  const ben = await messengers.newcomer("ben")
  const ann = await messengers.newcomer("ann", { transport, box: await sealingBox() })
  const fail = (method: string) => {
    transport.bend = { method, answer: () => Promise.reject(new ConnectError("lost", Code.Unavailable)) }
  }
  await ben.messenger.createGroupConversation([ann.person.userId])
  await ann.messenger.sync()
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  const { id: other } = await ann.messenger.createDirectConversation(ben.person.userId)
  const { safetyNumber } = await ann.messenger.verification.of(ben.person.userId)
  await ann.messenger.verification.markVerified(ben.person.userId, safetyNumber)
  await ann.messenger.send(id, utf8("read"))
  const { seq } = await ann.messenger.sendAttachment(id, new Blob([utf8("a file")]))
  fail("UploadPart")
  await expect(ann.messenger.sendAttachment(id, new Blob([utf8("cut off")]))).rejects.toMatchObject({
    reason: "ATTACHMENT_INTERRUPTED",
  })
  fail("AppendMessage")
  await expect(ann.messenger.refreshKeys(other)).rejects.toMatchObject({ reason: "QUEUED" })
  transport.bend = undefined
  await ann.messenger.encryptMessage(id, utf8("stored"))
  const nobody = await server.person("a user without a device")
  await ann.messenger.createDirectConversation(nobody.userId)
  const rows = await rowsOf(ann)
  return { ann, ben, id, other, seq, rows, messengers, close: () => server.close() }
}

const tables: readonly Table[] = [
  ...(["header", "device", "keyPackage", "usedKeyPackage", "creation", "peer"] as const),
  ...(["conversation", "state", "tree", "staged", "intent", "outbox", "timeline", "tail", "attachment"] as const),
  "upload",
]

async function rowsOf({ store }: OpenedMessenger): Promise<Flip[]> {
  const rows: Flip[] = []
  for (const space of await store.spaces()) {
    for (const table of tables) rows.push(...(await store.list(space, table)).map((row) => ({ space, table, ...row })))
  }
  return rows
}

test.runIf(isLong)(
  "a flipped byte in a stored row of any kind is a typed error, or changes nothing",
  async () => {
    const { ann, ben, id, other, seq, rows, messengers, close } = await furnished()
    expect(new Set(rows.map(({ table }) => table))).toEqual(new Set(tables))
    const looks: Readonly<Record<string, (context: Context) => Promise<unknown>>> = {
      summaries: async (context) => Promise.all([id, other].map((one) => context.conversation(one).summary())),
      states: async (context) =>
        Promise.all(
          [id, other].map(async (one) => {
            const { record, local, staged } = await context.conversation(one).stored()
            return { record, seq: local?.processedSeq, epoch: local?.group.epoch, staged: staged?.commitHash }
          }),
        ),
      timeline: ({ store, rows }) => readTimeline(store, rows, id),
      tail: (context) => readTail(context, id, { afterSeq: 0n, limit: 100, maxBytes: 1_000_000 }),
      outbox: (context) => listOutbox(context.conversation(id)),
      intents: (context) => context.conversation(other).pending("intent", IntentRecordSchema),
      uploads: (context) => uploadsIn(context, id),
      attachment: (context) => openAttachment(context.conversation(id), seq).then(({ size }) => size),
      verified: (context) => verification(context).status(ben.person.userId),
      code: (context) => verification(context).groupCode(id),
      keyPackages: refillKeyPackages,
      creations: carryOutCreations,
    }

    const isTyped = (error: unknown) =>
      isMessagingError(error) || isSecretBoxError(error) || isSignetError(error) || error instanceof ConnectError

    /** The result of a read, or its typed error. @throws An untyped error. */
    async function seen(work: () => Promise<unknown>): Promise<{ result: string } | { error: string }> {
      try {
        const text = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value)
        return { result: JSON.stringify(await work(), text) ?? "" }
      } catch (error) {
        if (!isTyped(error)) throw error
        return { error: String(error) }
      }
    }

    async function picture(store: MessagingStore): Promise<Record<string, { result: string } | { error: string }>> {
      const setup = { store, box: ann.box, transport: offline }
      let context: Context | undefined
      const open = await seen(async () => {
        ;({ context } = await openContext(...messengers.optionsFor(ann.person, setup)))
      })
      const found: Record<string, { result: string } | { error: string }> = { open }
      for (const [name, look] of Object.entries(looks)) {
        const opened = context
        if (opened !== undefined) found[name] = await seen(() => look(opened))
      }
      return found
    }

    const unflipped = rows[0] ?? expect.fail()
    const before = await picture(withRow(ann.store, unflipped))
    expect(before.open).toEqual({ result: "" })
    let errors = 0
    const apart = effort(211, 17, 1)
    for (const row of rows) {
      const isHeader = row.table === "header"
      for (let at = isHeader ? 0 : rows.indexOf(row) % apart; at < row.value.length; at += isHeader ? 1 : apart) {
        const value = row.value.slice()
        value[at] = (value[at] ?? 0) ^ (1 << (at % 8))
        const after = await picture(withRow(ann.store, { ...row, value })).catch((error: unknown) =>
          expect.fail(`${row.table} ${row.key}, byte ${at}: ${String(error)}`),
        )
        // The issuer's URL ends the header: nothing that works offline needs it.
        if (isHeader && at >= row.value.length - 8) expect(after.open).toHaveProperty("error")
        for (const [name, look] of Object.entries(after)) {
          if ("error" in look) errors++
          else expect(look, `${name} with another byte ${at} of ${row.table} ${row.key}`).toEqual(before[name])
        }
      }
    }
    expect(errors).toBeGreaterThan(100)
    await messengers.close()
    await close()
  },
  3_600_000,
)
