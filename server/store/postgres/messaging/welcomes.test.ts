import type { Conversation, MessagingDevice } from "@signet/kernel/messaging/records"
import type { VerifiedCommit } from "@signet/kernel/messaging/verified"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { run } from "../sql.ts"
import { sweepMessaging } from "./sweep.ts"
import {
  creatorOf,
  leavesOf,
  newAudit,
  newCommit,
  newConversation,
  nowMs,
  putUser,
  random,
  signReceipt,
} from "./testing/world.ts"
import { sharedTail } from "./write-welcomes.ts"

describeOnEachStore("welcomes", (kind) => {
  let opened: TestStore
  let devices: readonly MessagingDevice[]
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  beforeEach(async () => {
    devices = (await putUser(opened.messaging, 3)).devices
  })
  afterAll(() => opened.close())
  const store = () => opened.messaging.welcomes
  const [creator, first, second] = [0, 1, 2].map((i) => () => devices[i] ?? expect.fail())
  const pending = (device: MessagingDevice, change = {}) =>
    store().listPending(device.id, nowMs, { size: 10, maxBytes: 1_000_000, after: null, ...change })

  /** A group whose creator adds these devices with its first commit. */
  async function welcomed(newcomers: readonly MessagingDevice[], atMs = nowMs) {
    const by = creator?.() ?? expect.fail()
    const conversation = newConversation([by.userId])
    await opened.messaging.conversations.create(conversation, creatorOf(by.id), newAudit())
    const append = newCommit(conversation, by, leavesOf([by, ...newcomers]))
    const outcome = await opened.messaging.conversations.append(append, signReceipt, atMs, [])
    if (outcome.is !== "appended" || append.commit === null) throw new Error(outcome.is)
    return { conversation: outcome.conversation, commit: append.commit, receipt: outcome.answer.receipt, by }
  }
  const consume = (id: Parameters<ReturnType<typeof store>["consume"]>[0], device: MessagingDevice, key = random(16)) =>
    store().consume(id, { deviceId: device.id, key }, nowMs, newAudit("welcome.consumed"))
  const tails = (conversation: Conversation) =>
    run<{ tail: Uint8Array }>(opened.db, "select tail from welcome_commit where conversation_id = $1", [
      conversation.id,
    ])
  const idOfFirst = ({ welcomes }: VerifiedCommit) => welcomes[0]?.id ?? expect.fail()

  test("are listed in order with their commit's data, and listing consumes nothing", async () => {
    const [one, other] = [first?.() ?? expect.fail(), second?.() ?? expect.fail()]
    const { conversation, commit, receipt, by } = await welcomed([one, other])
    const [split] = commit.welcomes
    const expected = {
      id: split?.id,
      deviceId: one.id,
      conversationId: conversation.id,
      mlsGroupId: conversation.mlsGroupId,
      conversationKind: "GROUP",
      epoch: 1n,
      commitSeq: 1n,
      keyPackageRef: split?.keyPackageRef,
      welcome: split?.welcome,
      treeHash: commit.tree?.hash,
      receipt,
      proof: commit.membership?.proof,
      adderDeviceId: by.id,
      status: "PENDING",
      consumedWithKey: null,
      createdAtMs: nowMs,
      expiresAtMs: split?.expiresAtMs,
    }
    expect(await pending(one)).toEqual([expected])
    expect(await pending(one)).toEqual([expected])
    expect(await store().findPending(one.id, conversation.id)).toEqual(expected)
    expect(await store().findPending(by.id, conversation.id)).toBeUndefined()
    expect((await pending(other))[0]?.welcome).toEqual(commit.welcomes[1]?.welcome)
    expect(await store().listPending(one.id, split?.expiresAtMs ?? 0, { size: 1, maxBytes: 1, after: null })).toEqual(
      [],
    )
  })

  test("come in pages, by number and by bytes", async () => {
    const one = first?.() ?? expect.fail()
    for (let i = 0; i < 3; i++) await welcomed([one], nowMs + i)
    const all = await pending(one)
    expect(all).toHaveLength(3)
    expect(await pending(one, { size: 2 })).toEqual(all.slice(0, 2))
    expect(await pending(one, { maxBytes: 1 })).toEqual(all.slice(0, 1))
    expect(await pending(one, { after: all[1] })).toEqual(all.slice(2))
  })

  test("are consumed once per key, and unknown for other devices", async () => {
    const [one, other] = [first?.() ?? expect.fail(), second?.() ?? expect.fail()]
    const { conversation, commit } = await welcomed([one, other])
    const [id, key, audit] = [idOfFirst(commit), random(16), newAudit("welcome.consumed")]
    expect(await consume(id, other)).toBe("NOT_FOUND")
    const by = { deviceId: one.id, key }
    const consumed = await store().consume(id, by, nowMs, audit)
    expect(consumed).toMatchObject({ id, status: "CONSUMED", consumedWithKey: key, welcome: new Uint8Array() })
    expect(await store().consume(id, by, nowMs, audit)).toEqual(consumed)
    expect(await consume(id, one)).toBe("WELCOME_ALREADY_CONSUMED")
    expect(await pending(one)).toEqual([])
    // The shared bytes are erased with the last welcome.
    expect((await tails(conversation))[0]?.tail.length).toBeGreaterThan(0)
    await store().voidAll(other.id)
    await store().voidAll(other.id)
    expect((await tails(conversation))[0]?.tail).toHaveLength(0)
    expect(await consume(commit.welcomes[1]?.id ?? id, other)).toBe("NOT_FOUND")
  })

  test("of a device that a commit removes are void, and the data that only they needed is erased", async () => {
    const [one, other] = [first?.() ?? expect.fail(), second?.() ?? expect.fail()]
    const { conversation, commit, by } = await welcomed([one, other])
    const remove = async (before: Conversation, removed: MessagingDevice) => {
      const left = before.roster.filter(({ deviceId }) => deviceId !== removed.id)
      const outcome = await opened.messaging.conversations.append(newCommit(before, by, left), signReceipt, nowMs, [])
      return outcome.is === "appended" ? outcome.conversation : expect.fail(outcome.is)
    }
    const without = await remove(conversation, one)
    expect(await pending(one)).toEqual([])
    expect(await consume(idOfFirst(commit), one)).toBe("NOT_FOUND")
    expect(await pending(other)).toHaveLength(1)
    expect((await tails(conversation))[0]?.tail.length).toBeGreaterThan(0)
    await remove(without, other)
    expect((await tails(conversation))[0]?.tail).toHaveLength(0)
  })

  test("keep their tree until they expire", async () => {
    const one = first?.() ?? expect.fail()
    const { conversation, commit, by } = await welcomed([one])
    const hash = commit.tree?.hash ?? expect.fail()
    const next = newCommit(conversation, by, conversation.roster)
    await opened.messaging.conversations.append(next, signReceipt, nowMs, [])
    const tree = () => opened.messaging.conversations.tree(conversation.id, hash, 0)
    await sweepMessaging(opened.db, nowMs + 1)
    expect(await tree()).toMatchObject({ size: 1_000 })
    const swept = await sweepMessaging(opened.db, nowMs + 2_000_000)
    expect(swept.welcomes).toBeGreaterThan(0)
    expect(await tails(conversation)).toEqual([])
    await sweepMessaging(opened.db, nowMs + 8_000_000)
    expect(await tree()).toBeUndefined()
    const current = next.commit?.tree?.hash ?? expect.fail()
    expect(await opened.messaging.conversations.tree(conversation.id, current, 0)).toMatchObject({ size: 1_000 })
  })
})

test.each<[string, string[], number]>([
  ["nothing without a welcome", [], 0],
  ["nothing of a single welcome, which may be encrypted for its device", ["abc"], 0],
  ["the common end of all", ["abc-tail", "xyz-tail", "_-tail"], 5],
  ["at most the length of the shortest", ["abc", "bc", "abc"], 2],
  ["nothing if one differs", ["abc", "abd"], 0],
])("common ends are %s", (_, texts, expected) => {
  expect(sharedTail(texts.map((text) => new TextEncoder().encode(text)))).toBe(expected)
})
