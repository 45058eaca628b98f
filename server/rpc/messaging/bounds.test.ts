// The messaging services at their limits: a pruned log, a claim for more devices than a commit adds, a user with the
// most conversations, and a stream whose session has ended.
import { ConnectError } from "@connectrpc/connect"
import { type ConversationId, idOf, newId, parseId } from "@signet/kernel/ids"
import { maxBytes, maxCount } from "@signet/kernel/messaging/limits"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { LimitExceededSchema } from "@signet/proto/messaging/v1/conflict"
import { afterAll, beforeAll, expect, test } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import { newClaimId } from "../../../test/support/messaging/committing.ts"
import type { TestDevice } from "../../../test/support/messaging/device.ts"
import { randomBytes } from "../../../test/support/messaging/device-parts.ts"
import { claimsOf } from "../../../test/support/people.ts"
import { changeOf, newDevice } from "../../store/postgres/messaging/testing/world.ts"
import { run } from "../../store/postgres/sql.ts"
import { putPerson } from "../../store/postgres/testing/people.ts"
import { endingOf } from "./conversation/subscribe/alive.ts"
import { eventOf } from "./conversation/subscribe/events.ts"
import { memberUsersOf } from "./conversation/subscribe/interest.ts"
import { carryOutRevocations } from "./device/revocation-effects.ts"
import { type MessagingWorld, openMessagingWorld } from "./testing/world.ts"

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

const reasonOf = (error: ConnectError) => error.findDetails(ErrorInfoSchema)[0]?.reason
const limitOf = (error: ConnectError) => error.findDetails(LimitExceededSchema)[0]
const there = <T>(value: T | undefined): T => value ?? expect.fail("nothing is there")

test("a log is read from its first stored message, and a read of pruned messages is refused", async () => {
  const room = await alice.createGroup([bob.userId])
  await bob.join()
  for (const text of ["one", "two"]) await alice.send(room, text)
  await alice.update(room)
  await alice.send(room, "three")
  for (const { calls } of [alice, bob]) {
    await calls.conversations.ackMessages({ conversationId: room.id, processedSeq: 5n, processedEpoch: 2n })
  }
  const { conversations } = world.deps.store
  await conversations.prune(world.deps.clock.nowMs() + 91 * 86_400_000, 1_000)
  const listed = (afterSeq: bigint) => bob.calls.conversations.listMessages({ conversationId: room.id, afterSeq })
  expect((await listed(3n)).envelopes.map(({ seq }) => seq)).toEqual([4n, 5n])
  for (const afterSeq of [0n, 2n]) expect(reasonOf(await errorOf(listed(afterSeq)))).toBe("LOG_PRUNED")

  // A stream that is that far behind reports only the head; listMessages reports the pruning.
  const conversationId = there(parseId("cnv", room.id))
  const deviceId = there(parseId("dev", bob.id))
  const told = (afterSeq: bigint) => {
    const listener = { deviceId, includeEnvelopes: true, sentSeqs: new Map([[conversationId, afterSeq]]) }
    const readTail = world.deps.shared?.readTail ?? expect.fail("streams share nothing")
    return eventOf({ ...world.deps, readTail }, listener, { is: "envelopes", conversationId, headSeq: 5n })
  }
  expect(await told(0n)).toMatchObject({ value: { headSeq: 5n, envelopes: [] } })
  expect(await told(4n)).toMatchObject({ value: { headSeq: 5n, envelopes: [{ seq: 5n }] } })
  // Larger than the envelopes that a hint may contain.
  await alice.send(room, "x".repeat(maxBytes.inlineEnvelope))
  expect(await told(5n)).toMatchObject({ value: { headSeq: 5n, envelopes: [] } })
})

test("a claim is for no more devices than a commit adds, whatever they have", async () => {
  const room = await alice.createGroup([bob.userId])
  const own = there(await world.deps.store.devices.find(there(parseId("dev", alice.id))))
  const place = { appId: own.appId, tenantId: own.tenantId }
  const crowd = await Promise.all(
    Array.from({ length: maxCount.subjectsPerCommit / maxCount.devicesPerUser }, async () => {
      const { principal } = await putPerson(world.store.store)
      const devices = Array.from({ length: maxCount.devicesPerUser }, () => newDevice(principal.id, place))
      const [first] = devices
      await world.deps.store.devices.change(changeOf(there(first), { devices }))
      return principal.id
    }),
  )
  const claim = (userIds: string[], deviceIds: string[] = []) =>
    errorOf(
      alice.calls.keyPackages.claimKeyPackages({
        ...{ conversationId: room.id, claimId: newClaimId(), userIds, deviceIds },
      }),
    )
  expect(reasonOf(await claim(crowd))).toBe("NO_KEY_PACKAGE")
  const refused = await claim(crowd, [bob.id])
  expect([reasonOf(refused), limitOf(refused)?.limit, limitOf(refused)?.max]).toEqual([
    ...["LIMIT_EXCEEDED", "subjects_per_commit", BigInt(maxCount.subjectsPerCommit)],
  ])
})

/** Copies of the conversation with its members, and without its log. */
async function copiesOf(conversationId: string, count: number): Promise<ConversationId[]> {
  const ids = Array.from({ length: count }, () => idOf("cnv", randomBytes(16)))
  const copy = (table: string, column: string, change: string) =>
    run(
      world.store.db,
      `insert into ${table} select (jsonb_populate_record(null::${table}, to_jsonb(one) || ${change})).*
       from ${table} one, unnest($2::text[]) as copy (id) where one.${column} = $1`,
      [conversationId, ids],
    )
  const digest = "'\\x' || encode(sha256(convert_to(copy.id, 'utf8')), 'hex')"
  const key = "'\\x' || md5(copy.id)"
  const own = `jsonb_build_object('id', copy.id, 'mls_group_id', ${digest}, 'creator_key', ${key})`
  await copy("conversation", "id", own)
  await copy("conversation_leaf", "conversation_id", "jsonb_build_object('conversation_id', copy.id)")
  return ids
}

test.runIf(isLong)(
  "a device with very many conversations gets hints of each, and is removed from each after its revocation",
  async () => {
    const erin = await world.newDevice()
    const room = await alice.createGroup([erin.userId])
    const ids = await copiesOf(room.id, 201)
    const device = there(await world.deps.store.devices.find(there(parseId("dev", erin.id))))
    const heard = await memberUsersOf(world.deps, device, null)
    expect([...heard.keys()].toSorted()).toEqual([room.id, ...ids].toSorted())

    await erin.calls.devices.revokeDevice({ deviceId: erin.id })
    const due = async () => (await world.deps.store.devices.dueEffects(100)).map(({ deviceId }) => deviceId)
    // The call itself issues the first directives only.
    expect(await due()).toContain(device.id)
    await carryOutRevocations(world.deps)
    expect(await due()).not.toContain(device.id)
    const removed = "select id from conversation where jsonb_array_length(directives) = 1 and id = any($1)"
    expect(await run(world.store.db, removed, [ids])).toHaveLength(ids.length)
  },
)

test("a user blocks no more than the limit of others", async () => {
  const dave = await world.newDevice({ packages: 0 })
  const block = (userId: string) => dave.calls.blocks.blockUser({ userId })
  await block(bob.userId)
  const many = `update block_list set blocked_user_ids = blocked_user_ids || array(
      select 'prn_' || lpad(i::text, 26, '0') from generate_series(1, $2::integer - 2) i)
    where user_id = $1`
  await run(world.store.db, many, [dave.userId, maxCount.blocksPerUser])
  await block((await world.newDevice({ packages: 0 })).userId)
  const refused = await errorOf(block(alice.userId))
  expect([reasonOf(refused), limitOf(refused)?.limit, limitOf(refused)?.max]).toEqual([
    ...["LIMIT_EXCEEDED", "blocks_per_user", BigInt(maxCount.blocksPerUser)],
  ])
})

test.runIf(isLong)("a user cannot exceed the limit of conversations", async () => {
  const carol = await world.newDevice({ packages: 1 })
  const create = () =>
    carol.calls.conversations.createConversation({
      kind: { case: "group", value: { userIds: [bob.userId] } },
      ...{ idempotencyKey: randomBytes(16), claimId: newClaimId() },
    })
  const { conversation } = await create()
  const many = `insert into conversation (id, app_id, tenant_id, mls_group_id, kind, status, creator_user_id, user_ids,
      creator_device_id, creator_key, request_hash, epoch, head_seq, first_seq, head_at, directives, fork_reports,
      max_leaves, created_at)
    select 'crowd' || i, app_id, tenant_id, decode(lpad(to_hex(i), 64, '0'), 'hex'), kind, status, creator_user_id,
      user_ids, creator_device_id, decode(lpad(to_hex(i), 32, '0'), 'hex'), request_hash, 0, 0, 1, head_at, '[]', '[]',
      max_leaves, created_at
    from conversation, generate_series(1, $2::integer - 2) i where id = $1`
  await run(world.store.db, many, [conversation?.id, maxCount.conversationsPerUser])
  const asked = "insert into conversation_asked select id, $1 from conversation where id like 'crowd%'"
  await run(world.store.db, asked, [carol.userId])
  await create()
  const refused = await errorOf(create())
  expect([reasonOf(refused), limitOf(refused)?.limit, limitOf(refused)?.max]).toEqual([
    ...["LIMIT_EXCEEDED", "conversations_per_user", BigInt(maxCount.conversationsPerUser)],
  ])
})

test("a stream lives as long as its device and session, and its error names which one ended", async () => {
  const device = await world.newDevice({ packages: 0 })
  const deviceId = there(parseId("dev", device.id))
  const sessionId = there(parseId("ses", String(claimsOf(device.session.accessToken).sid)))
  const reason = async (of: Parameters<typeof endingOf>[1]) => (await endingOf(world.deps, of))?.reason
  expect(await reason({ deviceId, sessionId })).toBeUndefined()
  // A service's token has no session.
  expect(await reason({ deviceId, sessionId: null })).toBeUndefined()
  const none = newId("ses", world.deps.clock.nowMs(), randomBytes(10))
  expect(await reason({ deviceId, sessionId: none })).toBe("SESSION_REVOKED")
  world.advance(2 * 86_400_000)
  expect(await reason({ deviceId, sessionId })).toBe("SESSION_EXPIRED")
})
