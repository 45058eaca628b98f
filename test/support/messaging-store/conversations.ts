// Tests of conversations for every messaging store.
import { type ConversationId, newId } from "@signet/kernel/ids"
import { decideLease, decideRevocation } from "@signet/kernel/messaging/directive"
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import type { Conversation, ForkReport, MessagingDevice } from "@signet/kernel/messaging/records"
import { beforeEach, expect, test } from "vitest"
import {
  creatorOf,
  leavesOf,
  newAudit,
  newCommit,
  newConversation,
  newMessage,
  nowMs,
  place,
  putGroup,
  putUser,
  random,
  signReceipt,
} from "../../../server/store/postgres/messaging/testing/world.ts"
import { freshId } from "../../../server/store/postgres/testing/people.ts"

/** @param prune Deletes expired data of that conversation at that time. */
export function conversationSuite(
  messaging: () => MessagingStore,
  prune: (id: ConversationId, nowMs: number, limit: number) => Promise<unknown>,
): void {
  let one: MessagingDevice
  let other: MessagingDevice
  beforeEach(async () => {
    one = (await putUser(messaging())).devices[0] ?? expect.fail()
    other = (await putUser(messaging())).devices[0] ?? expect.fail()
  })
  const store = () => messaging().conversations
  const create = (conversation: Conversation, by = creatorOf(one.id)) => store().create(conversation, by, newAudit())
  const append = async (of: Parameters<ReturnType<typeof store>["append"]>[0], atMs = nowMs) => {
    const outcome = await store().append(of, signReceipt, atMs, [])
    return outcome.is === "appended" ? outcome.conversation : expect.fail(outcome.is)
  }
  const list = async (device: MessagingDevice, size = 10, before: Conversation | null = null) =>
    (await store().list({ deviceId: device.id, userId: device.userId, place }, { size, before })).map(
      ({ conversation }) => conversation,
    )

  test("a group is created once for each idempotency key, which no other group can use", async () => {
    const by = creatorOf(one.id)
    const conversation = newConversation([one.userId, other.userId])
    expect(await create(conversation, by)).toEqual({ is: "created", conversation })
    expect(await store().find(conversation.id)).toEqual(conversation)
    const again = newConversation([one.userId, other.userId])
    expect(await create(again, by)).toEqual({ is: "there", conversation })
    expect(await create(again, { ...by, requestHash: random() })).toEqual({ is: "mismatch" })
    expect(await create(again, { ...by, deviceId: other.id })).toEqual({ is: "created", conversation: again })
    expect(await store().find(newId("cnv", nowMs, random(10)))).toBeUndefined()
  })

  test("two users have at most one open direct conversation in a place", async () => {
    const direct = (users: readonly MessagingDevice[], change: Partial<Conversation> = {}) =>
      newConversation(
        users.map(({ userId }) => userId),
        { kind: "DIRECT", ...change },
      )
    const conversation = direct([one, other])
    expect((await create(conversation)).is).toBe("created")
    expect(await create(direct([other, one]), creatorOf(other.id))).toEqual({ is: "there", conversation })
    expect((await create(direct([one, other], { tenantId: freshId("ten") }))).is).toBe("created")
    await store().decideDirective(
      conversation.id,
      () => ({ is: "close" }),
      () => newAudit("conversation.closed"),
    )
    expect(await store().find(conversation.id)).toMatchObject({ status: "CLOSED" })
    expect((await create(direct([one, other]))).is).toBe("created")
  })

  test("are listed for the invited users until the first commit, then for devices with a leaf, newest first, in pages", async () => {
    const second = newConversation([one.userId, other.userId], { createdAtMs: nowMs + 2 })
    const first = newConversation([one.userId, other.userId], { createdAtMs: nowMs + 1 })
    for (const conversation of [first, second]) await create(conversation)
    await create(newConversation([one.userId], { tenantId: freshId("ten") }))
    expect(await list(other)).toEqual([second, first])
    expect(await list(one, 1)).toEqual([second])
    expect(await list(one, 1, second)).toEqual([first])
    expect(await list(one, 1, first)).toEqual([])
    const begun = await append(newCommit(first, one, leavesOf([one])))
    expect(await list(other)).toEqual([second])
    expect(await list(one)).toEqual([second, { ...begun, roster: [] }])
  })

  test("a device is in conversations with its leaf until the leaf is removed or the conversation is closed", async () => {
    const [left, closed] = [await putGroup(messaging(), [one, other]), await putGroup(messaging(), [one, other])]
    const kept = await putGroup(messaging(), [one, other])
    await putGroup(messaging(), [one])
    await create(newConversation([other.userId]), creatorOf(other.id))
    const ids = () => expect.poll(() => store().withDevice(other.id))
    await ids().toEqual([left, closed, kept].map(({ id }) => id).toSorted())
    const removal = { op: "REMOVE", isDirected: false, proof: random(), proofHash: random() } as const
    await append(newCommit(left, one, leavesOf([one]), { membership: removal }))
    await ids().toEqual([closed, kept].map(({ id }) => id).toSorted())
    const event = () => newAudit("conversation.closed")
    await store().decideDirective(closed.id, () => ({ is: "close" }), event)
    await ids().toEqual([kept.id])
  })

  test("a cursor only increases, and not beyond the log", async () => {
    const group = await putGroup(messaging(), [one, other])
    await append(newMessage(group, one))
    const ack = (processedSeq: bigint, processedEpoch = 1n) =>
      store().ack(group.id, other.id, { processedSeq, processedEpoch })
    expect(await ack(2n)).toEqual({ processedSeq: 2n, processedEpoch: 1n })
    expect(await ack(1n, 0n)).toEqual({ processedSeq: 2n, processedEpoch: 1n })
    expect(await ack(3n)).toBe("beyond")
    expect(await ack(2n, 2n)).toBe("beyond")
    expect((await store().findSeen(group.id, other.id))?.cursor).toEqual({ processedSeq: 2n, processedEpoch: 1n })
    expect((await store().findSeen(group.id, one.id))?.cursor).toEqual({ processedSeq: 0n, processedEpoch: 0n })
    expect(await store().findSeen(newId("cnv", nowMs, random(10)), one.id)).toBeUndefined()
  })

  test("only members that call are online, and calls write at most once in 10 seconds", async () => {
    const group = await putGroup(messaging(), [one, other])
    const stranger = (await putUser(messaging())).devices[0] ?? expect.fail()
    await store().touch(group.id, stranger.id, nowMs)
    await store().touch(group.id, other.id, nowMs)
    await store().touch(group.id, other.id, nowMs + 9_000)
    await store().touch(group.id, one.id, nowMs + 20_000)
    expect(await store().online(group.id, nowMs + 20_001)).toEqual([])
    expect(await store().online(group.id, nowMs + 1)).toEqual([{ deviceId: one.id, userId: one.userId }])
    expect(await store().online(group.id, nowMs)).toHaveLength(2)
    expect((await store().findSeen(group.id, other.id))?.cursor.processedSeq).toBe(0n)
    const removal = { op: "REMOVE", isDirected: false, proof: random(), proofHash: random() } as const
    await append(newCommit(group, one, leavesOf([one]), { membership: removal }))
    expect(await store().online(group.id, nowMs)).toEqual([{ deviceId: one.id, userId: one.userId }])
  })

  test("a directive is issued once, is leased to one device, and is done by the commit that removes its device", async () => {
    const group = await putGroup(messaging(), [one, other])
    const asked = { id: newId("dir", nowMs, random(10)), userId: other.userId, deviceId: other.id, nowMs }
    const audit = newAudit("directive.issued")
    const issue = () =>
      store().decideDirective(
        group.id,
        (found) => decideRevocation(found, asked),
        () => audit,
      )
    const issued = await issue()
    if (issued?.decision.is !== "issue") throw new Error("not issued")
    const { directive } = issued.decision
    expect((await issue())?.decision).toEqual({ is: "there", directive })
    const lease = (deviceId: MessagingDevice["id"]) =>
      store().leaseDirective(group.id, (found) => decideLease(found, directive.id, deviceId, nowMs))
    const leased = await lease(one.id)
    expect(leased?.conversation).toEqual(await store().find(group.id))
    expect(leased?.conversation.directives[0]?.lease?.deviceId).toBe(one.id)
    expect((await lease(other.id))?.decision).toMatchObject({ is: "refuse" })
    const refused = await store().append(newMessage(group, other), signReceipt, nowMs, [])
    expect(refused).toMatchObject({ is: "refused", decision: { is: "refuse", reason: "DEVICE_REVOKED" } })
    const outcome = await store().append(newCommit(group, one, leavesOf([one])), signReceipt, nowMs, [])
    expect(outcome).toMatchObject({ is: "appended", directives: [{ id: directive.id, status: "DONE" }] })
    expect(await store().find(group.id)).toMatchObject({ directives: [] })
    expect(await issue()).toMatchObject({ decision: { is: "there", directive: null } })
  })

  test("enough fork reports quarantine a conversation until the reporters have rejoined", async () => {
    const group = await putGroup(messaging(), [one, other])
    const report: ForkReport = {
      deviceId: other.id,
      userId: other.userId,
      epoch: 1n,
      seq: 1n,
      fault: "STATE_TAG_MISMATCH",
      stateTag: random(),
      reportedAtMs: nowMs,
    }
    const audits = [newAudit("conversation.fork_reported"), newAudit("conversation.quarantined")]
    const put = (isFork: boolean, at = 0) =>
      store().reportFork(
        group.id,
        report,
        () => isFork,
        (is) => (is === isFork ? audits.slice(at, at + 1) : []),
      )
    expect(await put(false)).toMatchObject({ status: "ACTIVE", forkReports: [report] })
    // A repeated report changes and appends nothing.
    expect(await put(false)).toMatchObject({ status: "ACTIVE", forkReports: [report] })
    expect(await put(true, 1)).toEqual(await store().find(group.id))
    expect(await store().find(group.id)).toMatchObject({ status: "QUARANTINED", forkReports: [report] })
    const out = newCommit(group, one, leavesOf([one]), {
      membership: { op: "REJOIN", isDirected: true, proof: random(), proofHash: random() },
    })
    expect(await append(out)).toMatchObject({ status: "ACTIVE", forkReports: [] })
  })

  test("envelopes behind every cursor are deleted after 90 days, except the newest commit", async () => {
    const group = await putGroup(messaging(), [one, other])
    for (let i = 0; i < 4; i++) await append(newMessage(group, one))
    const later = await append(newCommit(group, one, group.roster), nowMs + 1_000)
    await append(newMessage(later, one), nowMs + 2_000)
    const end = nowMs + 90 * 86_400_000
    // Another group is not pruned: its member has read nothing.
    const beside = await putGroup(messaging(), [one, other])
    for (let i = 0; i < 3; i++) await append(newMessage(beside, one))
    const ack = (device: MessagingDevice, processedSeq: bigint) =>
      store().ack(group.id, device.id, { processedSeq, processedEpoch: 1n })
    const kept = async () => {
      const { envelopes, firstSeq } = await store().messages(group.id, 0n, { limit: 50, maxBytes: 1e6 })
      expect(firstSeq).toBe(envelopes[0]?.seq)
      return envelopes.map(({ seq }) => Number(seq))
    }
    await ack(one, 7n)
    await prune(group.id, end - 1, 100)
    expect(await kept()).toEqual([1, 2, 3, 4, 5, 6, 7])
    await prune(group.id, end, 100)
    expect(await kept()).toEqual([2, 3, 4, 5, 6, 7])
    await ack(other, 3n)
    await prune(group.id, end + 86_400_000, 1)
    await prune(group.id, end + 86_400_000, 1)
    expect(await kept()).toEqual([4, 5, 6, 7])
    await ack(other, 7n)
    await prune(group.id, end + 3 * 86_400_000, 100)
    expect(await kept()).toEqual([6, 7])
    expect((await store().find(group.id))?.firstSeq).toBe(6n)
    const left = await store().messages(beside.id, 1n, { limit: 50, maxBytes: 1e6 })
    expect(left.envelopes.map(({ seq }) => seq)).toEqual([2n, 3n, 4n])
    expect(await append(newMessage(later, one))).toMatchObject({ headSeq: 8n })
  })

  test("a key package counts as used only in the conversation that it joined", async () => {
    const group = await putGroup(messaging(), [one])
    const beside = await putGroup(messaging(), [one])
    const commit = newCommit(group, one, leavesOf([one, other]))
    await append(commit)
    const ref = commit.commit?.welcomes[0]?.keyPackageRef ?? expect.fail("no welcome")
    const { welcomes } = messaging()
    expect(await welcomes.wereUsed(group.id, [random(), ref])).toBe(true)
    expect(await welcomes.wereUsed(group.id, [random()])).toBe(false)
    expect(await welcomes.wereUsed(beside.id, [ref])).toBe(false)
  })
}
