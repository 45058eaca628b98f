// A read that another process overtakes, in a process whose store fails next.
import { create, toBinary } from "@bufbuild/protobuf"
import { ConversationRecordSchema, OutboxRecordSchema } from "@signet/proto/client/v1/records"
import { expect, test } from "vitest"
import { utf8 } from "../crypto/bytes.ts"
import type { Owner } from "../session.ts"
import { type ConversationState, openConversationState } from "../state/conversation-state.ts"
import { openMemoryStore } from "../store/memory.ts"
import { sealedRows } from "../store/sealed-rows.ts"
import type { MessagingStore } from "../store/store.ts"
import { signedEngine as engine } from "../testing/signed-group.ts"
import { testBox } from "../testing/test-box.ts"
import type { LoadNeeds } from "./load.ts"

const space = "cnv_a"
const scope = { app: "app", user: "user" }
const owner = { appId: "app", tenantId: undefined, userId: "prn_user" } as Owner
const outboxRecord = (text: string) =>
  toBinary(OutboxRecordSchema, create(OutboxRecordSchema, { plaintext: utf8(text) }))

/** Two processes over one store. The first one runs `overtaken` before its next read of a pending row. */
async function openProcesses() {
  const store = openMemoryStore()
  const box = testBox()
  await box.createKey(scope)
  let overtaken: (() => Promise<void>) | undefined
  let failure: Error | undefined
  const watched: MessagingStore = {
    ...store,
    async read(of, wanted) {
      if (failure !== undefined) throw failure
      if (wanted.some(({ table }) => table === "outbox")) {
        await overtaken?.()
        overtaken = undefined
      }
      return store.read(of, wanted)
    },
  }
  const open = (over: MessagingStore): ConversationState => {
    const device = { id: "dev_a", marks: { bindsRecords: true } } as LoadNeeds["device"]
    const needs = { store: over, rows: sealedRows(box, scope), owner, engine, device, emit: () => undefined }
    return openConversationState(needs, space)
  }
  const [here, there] = [open(watched), open(store)]
  const write = (text: string) =>
    there.change(async ({ record = create(ConversationRecordSchema), ...rest }) => ({
      next: { ...rest, record },
      due: [{ table: "outbox" as const, key: "1", bytes: outboxRecord(text) }],
      result: undefined,
    }))
  await write("first")
  return {
    here,
    write,
    overtakeWith(work: () => Promise<void>) {
      overtaken = work
    },
    fail(error: Error) {
      failure = error
    },
  }
}
const texts = async (state: ConversationState) =>
  (await state.pending("outbox", OutboxRecordSchema)).map(({ record }) => new TextDecoder().decode(record.plaintext))

test("a read that another process overtakes is repeated", async () => {
  const { here, write, overtakeWith } = await openProcesses()
  overtakeWith(() => write("second"))
  expect(await texts(here)).toEqual(["second"])
})

test("a store failure after an overtaken read is reported as such, and not as tampering", async () => {
  const { here, write, overtakeWith, fail } = await openProcesses()
  overtakeWith(async () => {
    await write("second")
    queueMicrotask(() => fail(new Error("the store is closed")))
  })
  await expect(texts(here)).rejects.toThrow("the store is closed")
})

test("a change that fails while the store fails reports the store: its state may be outdated", async () => {
  const { here, fail } = await openProcesses()
  const work = async () => {
    fail(new Error("the store is closed"))
    throw new Error("a verdict on a state that may be outdated")
  }
  await expect(here.change(work)).rejects.toThrow("the store is closed")
})
