import { parseId } from "@signet/kernel/ids"
import { afterAll, beforeAll, expect, test } from "vitest"
import { openTestStore, storyStore, type TestStore } from "../../../../../test/support/postgres.ts"
import { createFindSpans } from "../../../../store/postgres/messaging/members.ts"
import { type MessagingWorld, openMessagingWorld } from "../../testing/world.ts"
import { createTails, separateTails } from "./tails.ts"

let store: TestStore
let world: MessagingWorld
beforeAll(async () => {
  store = await openTestStore(storyStore)
  world = await openMessagingWorld(store)
})
afterAll(async () => {
  await world.close()
  await store.close()
})

const conversation = (id: string) => parseId("cnv", id) ?? expect.fail("no conversation")
const device = (id: string) => parseId("dev", id) ?? expect.fail("no device")

test("streams that ask at once get what each may read, with one statement for each page", async () => {
  const [alice, bob, carol, dave] = [
    await world.newDevice(),
    await world.newDevice(),
    await world.newDevice(),
    await world.newDevice(),
  ]
  const room = await alice.createGroup([bob.userId, carol.userId])
  await bob.join()
  await alice.send(room, "one")
  await alice.remove(room, { userIds: [carol.userId] })
  await alice.send(room, "two")
  const other = await alice.createGroup([bob.userId])
  await alice.send(other, "elsewhere")

  const pages: string[] = []
  const asked: number[] = []
  const findSpans = createFindSpans(store.db)
  const conversations: typeof store.messaging.conversations = {
    ...store.messaging.conversations,
    messages: (id, afterSeq, page) => {
      pages.push(`${id} ${afterSeq}`)
      return store.messaging.conversations.messages(id, afterSeq, page)
    },
  }
  const readTail = createTails({ conversations }, (id, of) => {
    asked.push(of.length)
    return findSpans(id, of)
  })
  const separate = separateTails(world.deps)
  const cases = [room.id, other.id].flatMap((id) =>
    [alice, bob, carol, dave].flatMap(({ id: deviceId }) =>
      [0n, 1n, 2n, 3n, 4n, 9n].map((afterSeq) => [conversation(id), device(deviceId), afterSeq] as const),
    ),
  )
  const together = await Promise.all(cases.map((of) => readTail(...of)))
  expect(asked).toEqual([24, 24])
  expect(new Set(pages).size).toBe(pages.length)

  for (const [i, of] of cases.entries()) expect([of, together[i]]).toEqual([of, await separate(...of)])
  const seqsOf = async (id: string, deviceId: string) =>
    (await readTail(conversation(id), device(deviceId), 0n)).map(({ seq }) => seq)
  expect(await seqsOf(room.id, bob.id)).toEqual([1n, 2n, 3n, 4n])
  // Up to the removal, which is the last envelope that a removed device may read.
  expect(await seqsOf(room.id, carol.id)).toEqual([1n, 2n, 3n])
  expect(await seqsOf(room.id, dave.id)).toEqual([])
})

test("a stream that is behind the pruned part is refused, and the others are not", async () => {
  const [alice, bob] = [await world.newDevice(), await world.newDevice()]
  const room = await alice.createGroup([bob.userId])
  await bob.join()
  for (const text of ["one", "two"]) await alice.send(room, text)
  for (const { calls } of [alice, bob]) {
    await calls.conversations.ackMessages({ conversationId: room.id, processedSeq: 3n, processedEpoch: 1n })
  }
  await alice.update(room)
  await store.messaging.conversations.prune(world.deps.clock.nowMs() + 91 * 86_400_000, 1_000)
  const readTail = createTails(store.messaging, createFindSpans(store.db))
  const [behind, current] = await Promise.allSettled(
    [0n, 3n].map((afterSeq) => readTail(conversation(room.id), device(bob.id), afterSeq)),
  )
  expect(behind).toMatchObject({ status: "rejected", reason: { reason: "LOG_PRUNED" } })
  expect(current).toMatchObject({ status: "fulfilled", value: [{ seq: 4n }] })
})

test("a failed statement fails the streams that asked with it, and none that asks later", async () => {
  const [alice, bob] = [await world.newDevice(), await world.newDevice()]
  const room = await alice.createGroup([bob.userId])
  const findSpans = createFindSpans(store.db)
  let isBroken = true
  const readTail = createTails(store.messaging, async (id, of) => {
    if (isBroken) throw new Error("the database has gone")
    return findSpans(id, of)
  })
  const ask = () => readTail(conversation(room.id), device(alice.id), 0n)
  expect((await Promise.allSettled([ask(), ask()])).map(({ status }) => status)).toEqual(["rejected", "rejected"])
  isBroken = false
  expect(await ask()).toHaveLength(1)
})
