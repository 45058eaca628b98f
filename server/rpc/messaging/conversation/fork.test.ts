import { ReportForkRequest_Fault } from "@signet/proto/messaging/v1/conversation_service"
import { Conversation_Status, DirectiveKind } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { isLong } from "../../../../test/support/effort.ts"
import type { TestDevice } from "../../../../test/support/messaging/device.ts"
import { type Room, tagOf } from "../../../../test/support/messaging/room.ts"
import { openTestStore, storyStore, type TestStore } from "../../../../test/support/postgres.ts"
import { type MessagingWorld, openMessagingWorld } from "../testing/world.ts"
import { conversationIdOf } from "./seen.ts"

let store: TestStore
let world: MessagingWorld
beforeAll(async () => {
  store = await openTestStore(storyStore)
})
beforeEach(async () => {
  world = await openMessagingWorld(store)
})
afterAll(() => store.close())

const report = (device: TestDevice, { id: conversationId }: Room, seq: bigint) =>
  device.calls.conversations.reportFork({
    conversationId,
    seq,
    epoch: 1n,
    fault: ReportForkRequest_Fault.COMMIT_UNPROCESSABLE,
  })

/** Bob reports a fork while no other device is online. */
async function quarantined() {
  const alice = await world.newDevice()
  const bob = await world.newDevice()
  const carol = await world.newDevice()
  const room = await alice.createGroup([bob.userId, carol.userId])
  const { seq } = await alice.update(room)
  expect((await report(bob, room, seq)).status).toBe(Conversation_Status.QUARANTINED)
  const { directives } = await alice.calls.conversations.listDirectives({ conversationId: room.id })
  const statusNow = async () =>
    (await alice.calls.conversations.getConversation({ conversationId: room.id })).conversation?.status
  return { alice, bob, carol, room, directives, statusNow }
}

test.runIf(isLong)("the other members rejoin a device that reported a fork and did nothing more", async () => {
  const { alice, bob, room, directives, statusNow } = await quarantined()
  expect(directives.map(({ kind, deviceId }) => [kind, deviceId])).toEqual([[DirectiveKind.REJOIN, bob.id]])
  const id = directives[0]?.id ?? ""
  await alice.carryOut(room, id)
  expect(await statusNow()).toBe(Conversation_Status.ACTIVE)
  await alice.carryOut(room, id)
  await bob.join()
  expect(tagOf(bob.room(room.id))).toBe(tagOf(room))
})

test.runIf(isLong)("a report beside one of a revoked device is stored, and its own device rejoins", async () => {
  const [alice, bob] = [await world.newDevice(), await world.newDevice()]
  const [carol, dave] = [await world.newDevice(), await world.newDevice()]
  const room = await alice.createGroup([bob.userId, carol.userId, dave.userId])
  const { seq } = await alice.update(room)
  for (const { calls } of [alice, carol, dave]) {
    await calls.conversations.ackMessages({ conversationId: room.id, processedSeq: 1n, processedEpoch: 1n })
  }
  expect((await report(bob, room, seq)).status).toBe(Conversation_Status.ACTIVE)
  await bob.calls.devices.revokeDevice({ deviceId: bob.id })
  expect((await report(carol, room, seq)).status).toBe(Conversation_Status.QUARANTINED)
  const { directives } = await alice.calls.conversations.listDirectives({ conversationId: room.id })
  expect(directives.map(({ kind, deviceId }) => [kind, deviceId])).toEqual([
    [DirectiveKind.REVOCATION, bob.id],
    [DirectiveKind.REJOIN, carol.id],
  ])
})

test("a report is stored with its fault", async () => {
  const [alice, bob] = [await world.newDevice(), await world.newDevice()]
  const { id: conversationId } = await alice.createGroup([bob.userId])
  const fault = ReportForkRequest_Fault.RECEIPT_INVALID
  await bob.calls.conversations.reportFork({ conversationId, seq: 1n, epoch: 0n, fault })
  const found = await world.deps.store.conversations.find(conversationIdOf(conversationId))
  expect(found?.forkReports).toMatchObject([{ fault: "RECEIPT_INVALID", deviceId: bob.id }])
})

test.runIf(isLong)("a device that was revoked after its report is removed, and the quarantine with it", async () => {
  const { alice, bob, room, statusNow } = await quarantined()
  await bob.calls.devices.revokeDevice({ deviceId: bob.id })
  const { directives } = await alice.calls.conversations.listDirectives({ conversationId: room.id })
  const revocation = directives.find(({ kind }) => kind === DirectiveKind.REVOCATION)
  await alice.carryOut(room, revocation?.id ?? "")
  expect(await statusNow()).toBe(Conversation_Status.ACTIVE)
  await alice.send(room, "going on")
})

test.runIf(isLong)("a report without a quarantine issues no directive", async () => {
  const [alice, ...others] = await Promise.all(Array.from({ length: 4 }, () => world.newDevice()))
  const [bob] = others
  if (alice === undefined || bob === undefined) return expect.fail("nobody")
  const room = await alice.createGroup(others.map(({ userId }) => userId))
  const { seq } = await alice.update(room)
  const conversationId = room.id
  for (const { calls } of [alice, ...others]) {
    await calls.conversations.ackMessages({ conversationId, processedSeq: 1n, processedEpoch: 1n })
  }
  expect((await report(bob, room, seq)).status).toBe(Conversation_Status.ACTIVE)
  expect((await alice.calls.conversations.listDirectives({ conversationId })).directives).toEqual([])
})
