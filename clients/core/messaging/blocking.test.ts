import { create } from "@bufbuild/protobuf"
import { ConversationRecordSchema } from "@signet/proto/client/v1/records"
import { BlockListSchema } from "@signet/proto/messaging/v1/block_service"
import { expect, test } from "vitest"
import { ensureUnblocked, openBlocks } from "./blocking.ts"
import type { MessengerEvent } from "./events.ts"
import { openMemoryStore } from "./store/memory.ts"
import { sealedRows } from "./store/sealed-rows.ts"
import { deviceSpace, type MessagingStore } from "./store/store.ts"
import { testBox } from "./testing/test-box.ts"

const listOf = (version: bigint, ...userIds: string[]) => create(BlockListSchema, { version, userIds })

/** A store, and a function that opens its list in another tab or process. */
async function shared() {
  const [box, scope, store] = [testBox(), { app: "app", user: "user" }, openMemoryStore()]
  await box.createKey(scope)
  const events: MessengerEvent[] = []
  const open = (over: MessagingStore = store) =>
    openBlocks({ store: over, rows: sealedRows(box, scope), emit: (event) => events.push(event) })
  return { store, open, events }
}

test("an older list, an equal one and none change nothing, also after a restart", async () => {
  const { open, events } = await shared()
  const blocks = await open()
  await blocks.keep(listOf(2n, "prn_b", "prn_c"))
  for (const list of [listOf(1n), listOf(2n, "prn_d"), undefined]) {
    await blocks.keep(list)
    for (const one of [blocks, await open()]) {
      expect([one.version, one.userIds]).toEqual([2n, ["prn_b", "prn_c"]])
    }
  }
  expect(events).toEqual([{ is: "blockedUsers", userIds: ["prn_b", "prn_c"] }])
})

test("a list is stored after another tab's write, and never over a newer one", async () => {
  const { store, open } = await shared()
  let meanwhile: (() => Promise<void>) | undefined
  const overtaken: MessagingStore = {
    ...store,
    async transact(...given) {
      const first = meanwhile
      meanwhile = undefined
      await first?.()
      return store.transact(...given)
    },
  }
  const [here, there] = [await open(overtaken), await open()]
  meanwhile = async () => {
    await store.transact(deviceSpace, (await store.read(deviceSpace, [])).generation, [])
  }
  await here.keep(listOf(1n, "prn_b"))
  expect((await open()).userIds).toEqual(["prn_b"])
  meanwhile = () => there.keep(listOf(3n, "prn_c"))
  await here.keep(listOf(2n))
  for (const one of [here, await open()]) expect([one.version, one.userIds]).toEqual([3n, ["prn_c"]])
})

test("only a direct conversation with a blocked user is closed to messages", async () => {
  const blocks = await (await shared()).open()
  await blocks.keep(listOf(1n, "prn_b"))
  const sendingTo = (...directUserIds: string[]) =>
    ensureUnblocked({ blocks, record: async () => create(ConversationRecordSchema, { directUserIds }) })
  await expect(sendingTo("prn_a", "prn_b")).rejects.toMatchObject({ reason: "USER_BLOCKED" })
  await sendingTo("prn_a", "prn_c")
  await sendingTo()
  await ensureUnblocked({ blocks, record: async () => undefined })
})
