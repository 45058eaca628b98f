// The suites of the PostgreSQL store over objects in the real runtime, and tests of the objects themselves.
import { newId } from "@signet/kernel/ids"
import { decideLease, decideRejoin } from "@signet/kernel/messaging/directive"
import { maxBytes, maxCount } from "@signet/kernel/messaging/limits"
import type { AppendOutcome, MessagingStore } from "@signet/kernel/messaging/ports"
import type { Conversation, MessagingDevice } from "@signet/kernel/messaging/records"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { effort, isLong } from "../../../test/support/effort.ts"
import { appendSuite } from "../../../test/support/messaging-store/append.ts"
import { attachmentSuite, newAttachment } from "../../../test/support/messaging-store/attachments.ts"
import { conversationSuite } from "../../../test/support/messaging-store/conversations.ts"
import { listeningSuite } from "../../../test/support/messaging-store/listening.ts"
import { memberUsersOf } from "../../rpc/messaging/conversation/subscribe/interest.ts"
import {
  changeOf,
  creatorOf,
  leavesOf,
  newAudit,
  newCommit,
  newConversation,
  newDevice,
  newList,
  newMessage,
  nowMs,
  place,
  putGroup,
  putUser,
  random,
  signReceipt,
} from "../postgres/messaging/testing/world.ts"
import { freshId } from "../postgres/testing/people.ts"
import { pairName, placeName, userName } from "./names.ts"
import { createDurableStore } from "./store.ts"
import { type StartedObjects, startObjects } from "./testing/start.ts"

let objects: StartedObjects
let store: MessagingStore
let one: MessagingDevice
let other: MessagingDevice
beforeAll(async () => {
  objects = await startObjects()
  store = createDurableStore(objects.env)
})
afterAll(() => objects?.close())

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const device = async () => (await putUser(store)).devices[0] ?? expect.fail()
const object = ({ id }: Pick<Conversation, "id">) => objects.env.CONVERSATIONS.getByName(id)
const append = (
  of: Parameters<MessagingStore["conversations"]["append"]>[0],
  audit = [] as ReturnType<typeof newAudit>[],
) => store.conversations.append(of, signReceipt, nowMs, audit)
const appended = async (of: Parameters<typeof append>[0]) => {
  const outcome = await append(of)
  return outcome.is === "appended" ? outcome : expect.fail(outcome.is)
}
const listed = async ({ id: deviceId, userId }: MessagingDevice) =>
  (await store.conversations.list({ deviceId, userId, place }, { size: 50, before: null })).map(
    ({ conversation }) => conversation.id,
  )
const pending = ({ id }: MessagingDevice, conversation: Pick<Conversation, "id">) =>
  store.welcomes.findPending(id, conversation.id)

// Slow, because objects take time to create. The conformance suite covers most of this from outside.
const isShort = effort(true, false, false)
describe.skipIf(isShort)("appending", () => appendSuite(() => store))
describe.skipIf(isShort)("conversations", () =>
  conversationSuite(
    () => store,
    (id, atMs, limit) => object({ id }).sweep(atMs, limit),
  ),
)
describe.skipIf(isShort)("what a stream listens to", () => listeningSuite(() => store))
describe.skipIf(isShort)("attachments", () => attachmentSuite(() => store))

describe("a conversation's object", () => {
  beforeAll(async () => {
    ;[one, other] = await Promise.all([device(), device()])
  })

  test("accepts one of 50 concurrent commits, and answers repeated ones as before", async () => {
    const group = await putGroup(store, [one, other])
    const commits = times(50, (i) => newCommit(group, i % 2 === 0 ? one : other, group.roster))
    const messages = times(10, () => newMessage({ ...group, epoch: 2n }, one))
    const outcomes = await Promise.all(commits.map((commit) => append(commit)))
    const [winner, ...more] = outcomes.filter(({ is }) => is === "appended")
    expect(more).toEqual([])
    expect(outcomes.filter((of) => of.is === "refused" && of.decision.is === "conflict")).toHaveLength(49)
    const twice = await Promise.all([...messages, ...messages].map((message) => append(message)))
    const kinds = (all: readonly AppendOutcome[]) => all.map(({ is }) => is).toSorted()
    expect(kinds(twice)).toEqual(times(20, (i) => (i < 10 ? "appended" : "replayed")))
    const { envelopes, headSeq } = await store.conversations.messages(group.id, 0n, { limit: 100, maxBytes: 1e9 })
    expect(envelopes.map(({ seq }) => seq)).toEqual(times(12, (i) => BigInt(i + 1)))
    expect(headSeq).toBe(12n)
    const again = await append(commits[outcomes.findIndex(({ is }) => is === "appended")] ?? expect.fail())
    expect(again).toEqual({ is: "replayed", answer: winner?.is === "appended" ? winner.answer : null })
  })

  test("is never shown with the roster of an epoch that its restored data does not have", async () => {
    const restored = await putGroup(store, [one, other])
    const lost = await putGroup(store, [one])
    let id = lost.id
    const CONVERSATIONS = { getByName: () => object({ id }) }
    const { conversations } = createDurableStore({ ...objects.env, CONVERSATIONS })
    expect((await conversations.find(lost.id))?.roster).toEqual(lost.roster)
    id = restored.id
    expect(restored.epoch).toBe(lost.epoch)
    for (let again = 0; again < 2; again++) {
      expect((await conversations.find(lost.id))?.roster).toEqual(restored.roster)
    }
    expect((await object({ id }).find(restored.state?.receiptHash))?.roster).toEqual([])
  })

  test("answers the same after it lost its memory", async () => {
    const group = await putGroup(store, [one, other])
    const message = newMessage(group, one)
    const first = await appended(message)
    const before = await store.conversations.find(group.id)
    await object(group)
      .crash()
      .catch(() => undefined)
    expect(await createDurableStore(objects.env).conversations.find(group.id)).toEqual(before)
    expect(await append(message)).toEqual({ is: "replayed", answer: first.answer })
    expect((await appended(newMessage(group, other))).answer.seq).toBe(3n)
  })

  test("discards its cache after a rollback", async () => {
    const group = await putGroup(store, [one])
    const whole = newCommit(group, one, [...group.roster, ...leavesOf([other], 2n, 1)])
    const { commit } = whole
    if (commit === null) throw new Error("no commit")
    // The failure occurs at the end, when head and leaves are written.
    const broken = { ...whole, commit: { ...commit, membership: null } }
    await expect(append(broken)).rejects.toThrow("newcomers need")
    expect(await createDurableStore(objects.env).conversations.find(group.id)).toEqual(group)
    expect(await append(newMessage({ ...group, epoch: 2n }, one))).toMatchObject({ is: "refused" })
    expect((await append(whole)).is).toBe("appended")
  })

  test("appends a message with one statement, and opens with two", async () => {
    const group = await putGroup(store, [one, other])
    expect(await object(group).counted("append", newMessage(group, one), nowMs, [])).toBe(1)
    expect(await object(group).counted("open", one.id, random(16), -1n)).toBe(2)
  })

  test("notifies devices at least once: a missed notice is delivered later, with the welcome once", async () => {
    const made = newConversation([one.userId, other.userId])
    await store.conversations.create(made, creatorOf(one.id), newAudit())
    await objects.world({ deaf: 2 })
    const commit = newCommit(made, one, leavesOf([one, other]))
    // The append is committed, whether or not the notices are delivered.
    const audit = newAudit("conversation.recovered")
    expect((await append(commit, [audit])).is).toBe("appended")
    expect(await listed(other)).not.toContain(made.id)
    expect(await pending(other, made)).toBeUndefined()
    await objects.world({ passedMs: 10_000 })
    await object(made).wake()
    await object(made).wake()
    await objects.world({ passedMs: 0 })
    expect(await listed(other)).toContain(made.id)
    const welcome = commit.commit?.welcomes[0] ?? expect.fail()
    expect(await pending(other, made)).toMatchObject({
      id: welcome.id,
      welcome: welcome.welcome,
      commitSeq: 1n,
      epoch: 1n,
    })
    expect(await object(made).rowsOf("select * from outbox")).toEqual([])
    expect((await objects.world()).audit.filter(({ id }) => id === audit.id)).toHaveLength(1)
  })

  test("issues the removal of a device that was revoked before it learned of its membership", async () => {
    const { userId, devices } = await putUser(store, 2)
    const [phone, laptop] = [devices[0] ?? expect.fail(), devices[1] ?? expect.fail()]
    const made = newConversation([one.userId, userId])
    await store.conversations.create(made, creatorOf(one.id), newAudit())
    await objects.world({ deaf: 3 })
    await append(newCommit(made, one, leavesOf([one, phone, laptop])))
    const gone: MessagingDevice = { ...phone, status: "REVOKED", revokedAtMs: nowMs }
    const revocation = changeOf(gone, { userId, list: newList(3n), revoked: [phone.id] })
    expect(await store.devices.change(revocation)).toBe("done")
    expect(await store.conversations.withDevice(phone.id)).toEqual([])
    await objects.world({ passedMs: 10_000 })
    await object(made).wake()
    await objects.world({ passedMs: 0 })
    expect(await store.conversations.find(made.id)).toMatchObject({
      directives: [{ kind: "REVOCATION", status: "OPEN", deviceId: phone.id }],
    })
    expect(await store.conversations.withDevice(laptop.id)).toEqual([made.id])
  })

  test("keeps a tree while a welcome or the epoch names it", async () => {
    const group = await putGroup(store, [one])
    const added = newCommit(group, one, [...group.roster, ...leavesOf([other], 2n, 1)])
    const next = await appended(added)
    await appended(newCommit(next.conversation, one, next.conversation.roster))
    const hash = added.commit?.tree?.hash ?? expect.fail()
    const tree = () => store.conversations.tree(group.id, hash, 0)
    const first = () => store.conversations.tree(group.id, group.state?.treeHash ?? expect.fail(), 0)
    // For the duration of a call that has read the earlier epoch.
    await object(group).sweep(nowMs + 59_999)
    expect(await first()).toMatchObject({ size: 1_000 })
    await object(group).sweep(nowMs + 60_000)
    expect(await tree()).toMatchObject({ size: 1_000 })
    expect(await first()).toBeUndefined()
    expect(await store.welcomes.wereUsed(group.id, [added.commit?.welcomes[0]?.keyPackageRef ?? random()])).toBe(true)
    const welcome = await pending(other, group)
    const by = { deviceId: other.id, key: random(16) }
    await store.welcomes.consume(welcome?.id ?? expect.fail(), by, nowMs, newAudit("welcome.consumed"))
    await objects.env.DEVICES.getByName(other.id).wake()
    await object(group).sweep(nowMs + 600_000)
    expect(await tree()).toBeUndefined()
  })

  test("accepts concurrent decisions: each one sees the previous one's change", async () => {
    const { devices } = await putUser(store, 6)
    const group = await putGroup(store, devices)
    const rejoin = ({ id: deviceId, userId }: MessagingDevice) =>
      store.conversations.decideDirective(
        group.id,
        (found) => decideRejoin(found, { id: newId("dir", nowMs, random(10)), userId, deviceId, nowMs }),
        () => newAudit("directive.issued"),
      )
    const stuck = devices.slice(0, 4)
    const issued = await Promise.all([...stuck, ...stuck].map(rejoin))
    expect(issued.filter((done) => done?.decision.is === "issue")).toHaveLength(4)
    const { directives } = (await store.conversations.find(group.id)) ?? expect.fail()
    expect(directives.map(({ deviceId }) => deviceId).toSorted()).toEqual(stuck.map(({ id }) => id).toSorted())
    const [first] = directives
    const lease = ({ id }: MessagingDevice) =>
      store.conversations.leaseDirective(group.id, (found) => decideLease(found, first?.id ?? expect.fail(), id, nowMs))
    const leases = await Promise.all(devices.slice(4).map(lease))
    expect(leases.map((done) => done?.decision.is).toSorted()).toEqual(["lease", "refuse"])
  })

  test.skipIf(isShort)("accepts a commit of the largest size, and notifies each added device", async () => {
    const group = await putGroup(store, [one])
    const newcomers = times(maxCount.subjectsPerCommit, () => newDevice(freshId("prn")))
    const tree = { bytes: random(maxBytes.tree), hash: random() }
    const commit = newCommit(group, one, [...group.roster, ...leavesOf(newcomers, 2n, 1)], { tree })
    const welcomes = (commit.commit?.welcomes ?? []).map((welcome) => ({ ...welcome, welcome: random(20_000) }))
    const large = {
      ...commit,
      message: random(maxBytes.commit),
      commit: commit.commit && { ...commit.commit, welcomes },
    }
    const { conversation } = await appended(large)
    expect(conversation.roster).toHaveLength(257)
    const told = await Promise.all(newcomers.map((device) => pending(device, group)))
    expect(told.map((welcome) => welcome?.id)).toEqual(welcomes.map(({ id }) => id))
    // Compared in one step: the runtime closes connections of a busy test.
    const others = welcomes.filter(({ welcome }, i) => Buffer.compare(welcome, told[i]?.welcome ?? random()) !== 0)
    expect(others).toEqual([])
    expect((await store.conversations.messages(group.id, 1n, { limit: 1, maxBytes: 1 })).envelopes).toHaveLength(1)
    const last = await store.conversations.tree(group.id, tree.hash, 3 * maxBytes.treeChunk)
    expect(Buffer.compare(last?.chunk ?? random(), tree.bytes.subarray(3 * maxBytes.treeChunk))).toBe(0)
    expect(await object(group).rowsOf("select * from outbox")).toEqual([])
  })

  test("survives a restart of the runtime", async () => {
    const group = await putGroup(store, [one, other])
    const message = newMessage(group, one)
    const { answer } = await appended(message)
    const before = await store.conversations.find(group.id)
    await objects.restart()
    store = createDurableStore(objects.env)
    expect(await store.conversations.find(group.id)).toEqual(before)
    expect(await append(message)).toEqual({ is: "replayed", answer })
    expect(await listed(other)).toContain(group.id)
  })
})

/** A store, and the number of object calls that it has made. */
function countedStore() {
  let calls = 0
  const counted = <Called>({ getByName }: { getByName(name: string): Called }) => ({
    getByName(name: string) {
      calls++
      return getByName(name)
    },
  })
  const { CONVERSATIONS, DEVICES, USERS, ...rest } = objects.env
  const env = { ...rest, CONVERSATIONS: counted(CONVERSATIONS), DEVICES: counted(DEVICES), USERS: counted(USERS) }
  return { store: createDurableStore(env), calls: () => calls }
}

describe("creation over several objects", () => {
  beforeEach(async () => {
    ;[one, other] = await Promise.all([device(), device()])
  })
  const direct = () => newConversation([one.userId, other.userId], { kind: "DIRECT" })
  const create = (of: Conversation, by = creatorOf(one.id)) => store.conversations.create(of, by, newAudit())

  test("makes one direct conversation for two users, however many calls there are", async () => {
    const outcomes = await Promise.all(times(8, (i) => create(direct(), creatorOf(i % 2 === 0 ? one.id : other.id))))
    const made = outcomes.map((outcome) => ("conversation" in outcome ? outcome.conversation : expect.fail(outcome.is)))
    expect(new Set(made.map(({ id }) => id)).size).toBe(1)
    expect(outcomes.filter(({ is }) => is === "created")).toHaveLength(1)
    expect(await listed(other)).toEqual([made[0]?.id])
    const there = await objects.env.PLACES.getByName(placeName(place)).conversations({ after: null, size: 1_000 })
    expect(there).toContain(made[0]?.id)
  })

  test("is completed by the next call after an interruption", async () => {
    const [left, key] = [direct(), creatorOf(one.id)]
    const pair = objects.env.NAMES.getByName(pairName(left, left.userIds))
    await pair.take({ owner: left.id, at: "" })
    expect(await create(direct())).toMatchObject({ is: "created", conversation: { id: left.id } })
    const group = newConversation([one.userId])
    await objects.env.DEVICES.getByName(one.id).takeGroupKey(key.idempotencyKey, key.requestHash, group.id)
    expect(await create(newConversation([one.userId]), key)).toMatchObject({
      is: "created",
      conversation: { id: group.id },
    })
    const [record, again] = times(2, () => newAttachment({ ownerDeviceId: one.id, idempotencyKey: random(16) }))
    if (record === undefined || again === undefined) throw new Error("no records")
    await objects.env.DEVICES.getByName(one.id).takeAttachmentKey(again.idempotencyKey, record.id)
    expect((await store.attachments.create(again)).id).toBe(record.id)
  })

  test("is limited per user", async () => {
    const user = objects.env.USERS.getByName(userName(one.userId, place))
    const many = `with recursive n (value) as (select 1 union all select value + 1 from n where value < ?)
      insert into conversation (id, created_at, revision, is_member, is_asked) select 'many' || value, 1, 1, 0, 1 from n`
    await user.rowsOf(many, maxCount.conversationsPerUser - 1)
    expect((await create(newConversation([one.userId]))).is).toBe("created")
    expect(await create(newConversation([one.userId]))).toEqual({ is: "full" })
    // Only the creator's limit counts, not that of the other users.
    expect((await create(newConversation([other.userId, one.userId]), creatorOf(other.id))).is).toBe("created")
  })

  test.runIf(isLong)("costs a listing few calls, however many conversations there are", async () => {
    const many = effort(70, 300, 300)
    const made: string[] = []
    const next = times(many, () => newConversation([one.userId])).values()
    const work = async () => {
      for (const conversation of next) {
        await store.conversations.create(conversation, creatorOf(one.id), newAudit())
        made.push(conversation.id)
      }
    }
    await Promise.all(times(10, work))
    const counted = countedStore()
    const of = { deviceId: one.id, userId: one.userId, place }
    const memberUsers = await memberUsersOf(counted, one, null)
    expect([...memberUsers.keys()].toSorted()).toEqual(made.toSorted())
    for (const { progress } of memberUsers.values()) expect(progress).toMatchObject({ headSeq: 0n, processedSeq: 0n })
    expect(counted.calls()).toBeLessThanOrEqual(40)
    const before = counted.calls()
    expect(await counted.store.conversations.list(of, { size: 100, before: null })).toHaveLength(Math.min(100, many))
    expect(counted.calls() - before).toBeLessThanOrEqual(10)
  })

  test("is erased by its own alarm: the blobs first, then the attachment, and its key is free", async () => {
    const record = newAttachment({ ownerDeviceId: one.id, size: 2_000, partSize: 1_000 })
    await store.attachments.create(record)
    const attachment = objects.env.ATTACHMENTS.getByName(record.id)
    await attachment.wake()
    expect(await store.attachments.find(record.id)).toEqual(record)
    await objects.world({ faults: 1 })
    await store.attachments.delete(record.id, newAudit("attachment.deleted"))
    await attachment.wake()
    expect((await store.attachments.find(record.id))?.status).toBe("DELETED")
    await objects.world({ passedMs: 125_000 })
    await attachment.wake()
    await attachment.wake()
    await objects.world({ passedMs: 0, faults: 0 })
    expect(await store.attachments.find(record.id)).toBeUndefined()
    const { erased } = await objects.world()
    expect(erased.filter((key) => String(key).includes(record.id))).toEqual([0, 1].map((i) => `att/${record.id}/${i}`))
    await attachment.wake()
    const again = newAttachment({ ownerDeviceId: one.id, idempotencyKey: record.idempotencyKey })
    expect((await store.attachments.create(again)).id).toBe(again.id)
  })
})
