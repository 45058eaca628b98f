import { ConnectError } from "@connectrpc/connect"
import { hash } from "@signet/canonical/hash"
import { defaultLimits } from "@signet/kernel/limits/policy"
import { createRefusalCache } from "@signet/kernel/limits/refusal-cache"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { LimitExceededSchema, NoKeyPackageSchema } from "@signet/proto/messaging/v1/conflict"
import { ReportForkRequest_Fault } from "@signet/proto/messaging/v1/conversation_service"
import { Conversation_Status, Envelope_Kind } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { newClaimId } from "../../../../test/support/messaging/committing.ts"
import type { TestDevice } from "../../../../test/support/messaging/device.ts"
import { hexOf, randomBytes } from "../../../../test/support/messaging/device-parts.ts"
import { type MessagingWorld, openMessagingWorld } from "../testing/world.ts"
import { conversationIdOf } from "./seen.ts"

let world: MessagingWorld
let alice: TestDevice
let bob: TestDevice
beforeAll(async () => {
  world = await openMessagingWorld()
  alice = await world.newDevice({ packages: 30 })
  bob = await world.newDevice({ packages: 30 })
})
afterAll(async () => {
  expect(world.faults).toEqual([])
  await world.close()
})

async function errorOf(call: Promise<unknown>): Promise<ConnectError> {
  try {
    await call
  } catch (error) {
    return ConnectError.from(error)
  }
  return expect.fail("was taken")
}

const refusal = async (call: Promise<unknown>) => (await errorOf(call)).findDetails(ErrorInfoSchema)[0]?.reason

const audited = async (target: string) => {
  const events = world.store.db.selectFrom("audit_event").select("kind").where("target_id", "=", target)
  return (await events.orderBy("occurred_at").orderBy("id").execute()).map(({ kind }) => kind)
}

test("the limits are the kernel's, and none is missing", async () => {
  const { limits } = await alice.calls.conversations.getLimits({})
  const { $typeName: _, ...numbers } = limits ?? expect.fail("no limits")
  expect(Object.entries(numbers).filter(([, value]) => value === undefined || Number(value) === 0)).toEqual([])
  expect(numbers).toMatchObject({ applicationMessageBytes: 262_144, leavesPerConversation: 512, appendsPerSecond: 20 })
})

test("an operator chooses how many leaves a new conversation may have", async () => {
  const small = await openMessagingWorld(world.store, { leavesPerConversation: 2 })
  const [ann, ben, cem] = [
    await small.newDevice(),
    await small.newDevice({ packages: 1 }),
    await small.newDevice({ packages: 2 }),
  ]
  expect((await ann.calls.conversations.getLimits({})).limits?.leavesPerConversation).toBe(2)
  const group = await ann.createGroup([ben.userId])
  const error = await errorOf(ann.add(group, { userIds: [cem.userId] }))
  expect(error.findDetails(LimitExceededSchema)).toMatchObject([{ limit: "leaves_per_conversation", max: 2n }])
  expect(small.faults).toEqual([])
})

test("a direct conversation is created once for its two users, whichever of them asks", async () => {
  const first = await alice.create({ case: "direct", value: { peerUserId: bob.userId } })
  const second = await bob.create({ case: "direct", value: { peerUserId: alice.userId } })
  const { conversation } = first
  expect(second.conversation?.id).toBe(conversation?.id)
  expect(conversation).toMatchObject({ status: Conversation_Status.ACTIVE, epoch: 0n, headSeq: 0n, members: [] })
  // Both are authorized for the first commit; the server accepts one.
  if (conversation === undefined || first.authorization === undefined || second.authorization === undefined) {
    return expect.fail("not authorized")
  }
  await alice.commit(await alice.stageFirst(conversation, first.authorization))
  expect(await refusal(bob.append(await bob.stageFirst(conversation, second.authorization)))).toBe("COMMIT_CONFLICT")
  await bob.join()
  const third = await bob.create({ case: "direct", value: { peerUserId: alice.userId } })
  expect(third.authorization).toBeUndefined()
  expect(third.conversation).toMatchObject({ id: conversation.id, epoch: 1n, userIds: [alice.userId, bob.userId] })
  expect(await refusal(alice.calls.conversations.leaveConversation({ conversationId: conversation.id }))).toBe(
    "MEMBERSHIP_CHANGE_NOT_ALLOWED",
  )
  const carol = await world.newDevice()
  expect(await refusal(alice.authorizeAdd(alice.room(conversation.id), { userIds: [carol.userId] }))).toBe(
    "MEMBERSHIP_CHANGE_NOT_ALLOWED",
  )
  expect(await audited(conversation.id)).toEqual(
    expect.arrayContaining(["conversation.created", "membership_proof.issued"]),
  )
})

test("a group is created once per idempotency key, and the key works for no other group", async () => {
  const idempotencyKey = randomBytes(16)
  const claimId = newClaimId()
  const group = (userIds: string[]) => ({ case: "group" as const, value: { userIds } })
  const request = { kind: group([bob.userId]), idempotencyKey, claimId }
  const first = await alice.calls.conversations.createConversation(request)
  const again = await alice.calls.conversations.createConversation(request)
  expect(again.conversation?.id).toBe(first.conversation?.id)
  expect(again.authorization?.claim).toEqual(first.authorization?.claim)
  const other = await world.newDevice()
  const changed = { ...request, kind: group([other.userId]) }
  expect(await refusal(alice.calls.conversations.createConversation(changed))).toBe("IDEMPOTENCY_MISMATCH")
})

test("NO_KEY_PACKAGE names the devices, and the conversation stays pending", async () => {
  const poor = await world.newDevice({ packages: 0 })
  const error = await errorOf(alice.create({ case: "group", value: { userIds: [poor.userId] } }))
  expect(error.findDetails(NoKeyPackageSchema)[0]?.deviceIds).toEqual([poor.id])
})

test("a user of another app is not found", async () => {
  const userIds = [`prn_${"0".repeat(26)}`]
  expect(await refusal(alice.create({ case: "group", value: { userIds } }))).toBe("RESOURCE_UNRESOLVED")
})

test("conversations are listed newest first, in pages, without their members", async () => {
  const carol = await world.newDevice()
  const made = []
  for (let count = 0; count < 3; count++) made.push((await carol.createGroup([bob.userId])).id)
  const first = await carol.calls.conversations.listConversations({ pageSize: 2 })
  const { nextPageToken: pageToken } = first
  const second = await carol.calls.conversations.listConversations({ pageSize: 2, pageToken })
  const listed = [...first.conversations, ...second.conversations]
  expect(listed.map(({ id }) => id)).toEqual(made.toReversed())
  expect(listed.flatMap(({ members }) => members)).toEqual([])
  expect(second.nextPageToken).toBe("")
  expect(await refusal(bob.calls.conversations.listConversations({ pageSize: 2, pageToken }))).toBe("INVALID_FIELD")
})

test("a log is read in order from the commit that added the device, and acknowledged", async () => {
  const room = await alice.createGroup([bob.userId])
  await alice.send(room, "before carol")
  await alice.sync(room)
  const carol = await world.newDevice()
  const { seq } = await alice.add(room, { userIds: [carol.userId] })
  await alice.send(room, "with carol")
  await carol.join()
  const { conversations } = carol.calls
  const conversationId = room.id
  const page = await conversations.listMessages({ conversationId })
  expect(page.envelopes.map((one) => [one.seq, one.kind])).toEqual([
    [seq, Envelope_Kind.COMMIT],
    [seq + 1n, Envelope_Kind.APPLICATION],
  ])
  expect(page.headSeq).toBe(seq + 1n)
  // Only the sender sees an envelope's idempotency key.
  expect(page.envelopes.map(({ idempotencyKey }) => idempotencyKey.length)).toEqual([0, 0])
  const { envelopes } = await alice.calls.conversations.listMessages({ conversationId, afterSeq: seq })
  expect(envelopes.map(({ idempotencyKey }) => idempotencyKey.length)).toEqual([16])

  const at = (processedSeq: bigint, processedEpoch = 2n) => ({ conversationId, processedSeq, processedEpoch })
  expect((await conversations.ackMessages(at(seq + 1n))).cursor).toMatchObject({ processedSeq: seq + 1n })
  expect((await conversations.ackMessages(at(seq))).cursor).toMatchObject({ processedSeq: seq + 1n })
  expect(await refusal(conversations.ackMessages(at(seq + 2n)))).toBe("INVALID_FIELD")
  expect(await refusal(conversations.ackMessages(at(seq, 9n)))).toBe("INVALID_FIELD")
  const { conversation } = await conversations.getConversation({ conversationId })
  expect(conversation?.cursor).toMatchObject({ processedSeq: seq + 1n, processedEpoch: 2n })
})

test("a read-ahead does not count as presence of the device", async () => {
  const room = await alice.createGroup([bob.userId])
  await bob.join()
  const awayMs = 600_000
  world.advance(awayMs)
  try {
    const conversationId = room.id
    const sinceMs = world.deps.clock.nowMs() - 60_000
    const online = async () =>
      (await world.deps.store.conversations.online(conversationIdOf(room.id), sinceMs)).map(({ deviceId }) => deviceId)
    const { conversations } = bob.calls
    const ahead = await conversations.listMessages({ conversationId, readAhead: true })
    await conversations.listConversations({})
    expect(await online()).toEqual([])
    expect((await conversations.listMessages({ conversationId })).envelopes).toEqual(ahead.envelopes)
    expect(await online()).toEqual([bob.id])
  } finally {
    world.advance(-awayMs)
  }
})

test("GroupInfo and tree are of the last commit", async () => {
  const room = await alice.createGroup([bob.userId])
  const conversationId = room.id
  const info = await alice.calls.conversations.getGroupInfo({ conversationId })
  expect(info.epoch).toBe(1n)
  const { chunk, size } = await bob.calls.conversations.getTree({ conversationId, treeHash: info.treeHash })
  expect(chunk.length).toBe(size)
  expect(hexOf(hash("tree-blob", chunk))).toBe(info.treeHash)
  const treeHash = "0".repeat(64)
  expect(await refusal(bob.calls.conversations.getTree({ conversationId, treeHash }))).toBe("NOT_FOUND")
  const stranger = (await world.newDevice()).calls.conversations
  expect(await refusal(stranger.getTree({ conversationId, treeHash: info.treeHash }))).toBe("RESOURCE_UNRESOLVED")
  expect(await refusal(stranger.getGroupInfo({ conversationId }))).toBe("RESOURCE_UNRESOLVED")
  const update = await alice.stageUpdate(room)
  await alice.commit(update)
  const next = await alice.calls.conversations.getGroupInfo({ conversationId })
  expect(next.epoch).toBe(2n)
  expect(hexOf(await bob.treeOf({ conversationId, treeHash: next.treeHash }))).toBe(hexOf(update.staged.tree()))
  const { conversation } = await alice.create({ case: "group", value: { userIds: [bob.userId] } })
  const empty = { conversationId: conversation?.id ?? "" }
  expect(await refusal(alice.calls.conversations.getGroupInfo(empty))).toBe("NOT_FOUND")
})

test("the removal of the last member closes the conversation", async () => {
  const carol = await world.newDevice()
  const room = await carol.createGroup([bob.userId])
  const conversationId = room.id
  await bob.join()
  const { directive } = await bob.calls.conversations.leaveConversation({ conversationId })
  await carol.carryOut(room, directive?.id ?? "")
  expect(await audited(directive?.id ?? "")).toEqual(["directive.issued", "directive.done"])
  expect(await carol.calls.conversations.leaveConversation({ conversationId })).toMatchObject({})
  expect(await refusal(carol.send(room, "anybody?"))).toBe("CONVERSATION_CLOSED")
  expect(await refusal(carol.calls.conversations.requestRejoin({ conversationId }))).toBe("CONVERSATION_CLOSED")
  const report = { conversationId, seq: 1n, epoch: 0n, fault: ReportForkRequest_Fault.COMMIT_UNPROCESSABLE }
  expect(await refusal(carol.calls.conversations.reportFork(report))).toBe("CONVERSATION_CLOSED")
  expect(await audited(conversationId)).toContain("conversation.closed")
})

test("a member's rejoins are counted apart from the admissions of a new device", async () => {
  const once = { device: { limit: 1, seconds: 3_600 } }
  const limits = { ...defaultLimits, windows: { ...defaultLimits.windows, messaging_rejoin: once } }
  const { id: conversationId } = await alice.createGroup([bob.userId])
  const next = await world.newDevice({ of: bob.session, packages: 0 })
  Object.assign(world.deps, { limiter: { limits, refused: createRefusalCache() } })
  try {
    const ask = ({ calls }: TestDevice) => calls.conversations.requestRejoin({ conversationId })
    await ask(bob)
    expect(await refusal(ask(bob))).toBe("RATE_LIMITED")
    await ask(next)
    await ask(next)
  } finally {
    Object.assign(world.deps, { limiter: null })
  }
})
