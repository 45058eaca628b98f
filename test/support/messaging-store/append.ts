// Tests of append for every messaging store.
import type { AppendOutcome, MessagingStore } from "@signet/kernel/messaging/ports"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import { beforeEach, expect, test } from "vitest"
import {
  creatorOf,
  leavesOf,
  newAudit,
  newCommit,
  newConversation,
  newMessage,
  nowMs,
  putGroup,
  putUser,
  random,
  signReceipt,
} from "../../../server/store/postgres/messaging/testing/world.ts"

export function appendSuite(messaging: () => MessagingStore): void {
  let [one, other]: MessagingDevice[] = []
  const store = () => messaging().conversations
  const append = (...[of, at = nowMs]: [Parameters<typeof newAppended>[0], number?]) => newAppended(of, at)
  const newAppended = (of: Parameters<ReturnType<typeof store>["append"]>[0], at: number) =>
    store().append(of, signReceipt, at, [])
  const devices = () => {
    if (one === undefined || other === undefined) throw new Error("no devices")
    return [one, other] as const
  }
  beforeEach(async () => {
    ;[one, other] = (await putUser(messaging(), 2)).devices
  })

  test("the first commit stores the group's roster, state, GroupInfo, tree and receipt", async () => {
    const [creator, second] = devices()
    const conversation = newConversation([creator.userId])
    await store().create(conversation, creatorOf(creator.id), newAudit())
    const commit = newCommit(conversation, creator, leavesOf([creator, second]))
    const outcome = await append(commit)
    if (outcome.is !== "appended" || commit.commit === null) throw new Error(outcome.is)
    expect(outcome.answer).toMatchObject({ seq: 1n, epoch: 1n, acceptedAtMs: nowMs })
    const found = await store().find(conversation.id)
    expect(found).toEqual(outcome.conversation)
    expect(found).toMatchObject({ epoch: 1n, headSeq: 1n, roster: commit.commit.roster })
    expect(found?.state).toMatchObject(commit.commit.state)
    expect(await store().groupInfo(conversation.id)).toEqual({
      bytes: commit.commit.groupInfo?.bytes,
      epoch: 1n,
      treeHash: commit.commit.tree?.hash,
    })
    expect(await store().commitOf(conversation.id, 0n)).toMatchObject({ seq: 1n, message: commit.message })
    expect(await store().membershipSpan(conversation.id, second.id, 0n)).toEqual({ fromSeq: 1n, toSeq: null })
  })

  test("a resubmitted commit keeps its receipt and time, and leaves no GroupInfo", async () => {
    const [creator, second] = devices()
    const group = await putGroup(messaging(), [creator, second])
    const lost = newCommit(group, creator, group.roster, { groupInfo: null })
    const receipt = { bytes: random(200), hash: random() }
    const third = { ...lost, resubmitted: { seq: 3n, receipt } }
    expect(await append(third)).toMatchObject({ is: "refused", decision: { reason: "LOG_INCOMPLETE" } })
    expect(await append({ ...lost, resubmitted: { seq: 2n, receipt } }, nowMs + 5)).toMatchObject({
      is: "appended",
      answer: { seq: 2n, epoch: 2n, acceptedAtMs: nowMs + 5, receipt: receipt.bytes },
    })
    expect((await store().find(group.id))?.state?.receiptHash).toEqual(receipt.hash)
    expect((await store().commitOf(group.id, 1n))?.receipt).toEqual(receipt.bytes)
    // A device with a pending welcome is checked against it.
    expect(await store().groupInfo(group.id)).toMatchObject({ epoch: 1n, treeHash: null })
  })

  test("messages are in order without gaps, and are read as they were written", async () => {
    const [creator, second] = devices()
    const group = await putGroup(messaging(), [creator, second])
    const sent = Array.from({ length: 5 }, (_, i) => newMessage(group, i % 2 === 0 ? creator : second))
    for (const message of sent) expect((await append(message)).is).toBe("appended")
    const page = await store().messages(group.id, 1n, { limit: 100, maxBytes: 1_000_000 })
    expect(page).toMatchObject({ headSeq: 6n, firstSeq: 1n })
    expect(page.envelopes.map(({ seq }) => seq)).toEqual([2n, 3n, 4n, 5n, 6n])
    expect(page.envelopes.map(({ message }) => message)).toEqual(sent.map(({ message }) => message))
    expect(page.envelopes[0]).toEqual({
      seq: 2n,
      epoch: 1n,
      kind: "APPLICATION",
      message: sent[0]?.message,
      contentHash: sent[0]?.contentHash,
      senderDeviceId: creator.id,
      acceptedAtMs: nowMs,
      receipt: null,
      idempotencyKey: sent[0]?.idempotencyKey,
    })
  })

  test("an idempotency key belongs to its device: another device may use the same key", async () => {
    const [creator, second] = devices()
    const group = await putGroup(messaging(), [creator, second])
    const idempotencyKey = random(16)
    const first = newMessage(group, creator, { idempotencyKey })
    const other = newMessage(group, second, { idempotencyKey })
    expect((await append(first)).is).toBe("appended")
    expect((await append(other)).is).toBe("appended")
    expect((await append(first)).is).toBe("replayed")
    expect((await append({ ...other, message: random(), contentHash: random() })).is).toBe("mismatch")
    expect((await append(newMessage(group, creator))).is).toBe("appended")
  })

  test("a page ends before its byte limit, and has at least one envelope", async () => {
    const [creator] = devices()
    const group = await putGroup(messaging(), [creator])
    for (let i = 0; i < 4; i++) await append(newMessage(group, creator, { message: random(1_000) }))
    const seqs = async (maxBytes: number, after = 1n) =>
      (await store().messages(group.id, after, { limit: 3, maxBytes })).envelopes.map(({ seq }) => Number(seq))
    expect(await seqs(10_000)).toEqual([2, 3, 4])
    expect(await seqs(2_000)).toEqual([2, 3])
    expect(await seqs(1_999)).toEqual([2])
    expect(await seqs(1)).toEqual([2])
    expect(await seqs(1, 5n)).toEqual([])
    expect(await store().messages(group.id, 9n, { limit: 1, maxBytes: 1 })).toMatchObject({ headSeq: 5n })
  })

  test("a repeated key with equal content gets the same answer; with other content it is refused", async () => {
    const [creator, second] = devices()
    const group = await putGroup(messaging(), [creator, second])
    const audit = newAudit()
    const message = newMessage(group, creator)
    const first = await store().append(message, signReceipt, nowMs, [audit])
    // Its audit event has a unique key, too: appending it twice would fail.
    const again = await store().append(message, signReceipt, nowMs + 5_000, [audit])
    if (first.is !== "appended") throw new Error(first.is)
    expect(again).toEqual({ is: "replayed", answer: first.answer })
    expect(await append({ ...message, idempotencyKey: random(16) })).toEqual({ is: "replayed", answer: first.answer })
    expect(await append({ ...message, contentHash: random() })).toEqual({ is: "mismatch" })
    // Idempotency keys are separate for each device.
    expect((await append(newMessage(group, second, { idempotencyKey: message.idempotencyKey }))).is).toBe("appended")
    const { answered } = (await store().findSeen(group.id, creator.id, message.idempotencyKey)) ?? {}
    expect(answered).toEqual({ contentHash: message.contentHash, answer: first.answer })
    expect(await store().find(group.id)).toMatchObject({ headSeq: 3n })
  })

  test("a repeated commit gets the same answer, also in later epochs, and no conflict", async () => {
    const [creator] = devices()
    const group = await putGroup(messaging(), [creator])
    const commit = newCommit(group, creator, group.roster)
    const first = await append(commit)
    if (first.is !== "appended") throw new Error(first.is)
    await append(newCommit(first.conversation, creator, group.roster))
    expect(await append(commit)).toEqual({ is: "replayed", answer: first.answer })
    expect(await append({ ...commit, contentHash: random() })).toEqual({ is: "mismatch" })
  })

  test("a commit for a used epoch is a conflict, a message is stale, and neither writes anything", async () => {
    const [creator, second] = devices()
    const group = await putGroup(messaging(), [creator, second])
    await append(newCommit(group, creator, group.roster))
    const refusals: [Parameters<typeof append>[0], object][] = [
      [newCommit(group, second, group.roster), { is: "conflict" }],
      [newMessage(group, second), { is: "stale" }],
      [newMessage({ ...group, epoch: 3n }, second), { is: "refuse", reason: "FUTURE_EPOCH" }],
      [
        newMessage({ ...group, epoch: 2n }, (await putUser(messaging())).devices[0] ?? expect.fail()),
        { is: "refuse", reason: "NOT_MEMBER" },
      ],
    ]
    const before = await store().find(group.id)
    for (const [of, decision] of refusals) {
      const outcome: AppendOutcome = await append(of)
      expect(outcome).toMatchObject({ is: "refused", decision, conversation: { epoch: 2n, headSeq: 2n } })
    }
    expect(await store().find(group.id)).toEqual(before)
  })

  test("receipts form a chain, and acceptance times never decrease", async () => {
    const [creator] = devices()
    const group = await putGroup(messaging(), [creator])
    const commit = newCommit(group, creator, group.roster, { membership: null, tree: null })
    const outcome = await append(commit, nowMs - 60_000)
    if (outcome.is !== "appended") throw new Error(outcome.is)
    expect(outcome.answer.acceptedAtMs).toBe(nowMs)
    const facts = JSON.parse(new TextDecoder().decode(outcome.answer.receipt ?? new Uint8Array()))
    expect(facts).toMatchObject({ epoch: "1", seq: "2", proofHash: null, treeBlobHash: null, acceptedAtMs: nowMs })
    expect(Object.values(facts.previousReceiptHash)).toEqual([...(group.state?.receiptHash ?? [])])
    expect(outcome.conversation.state?.receiptHash).not.toEqual(group.state?.receiptHash)
  })

  test("leaves keep their history: a member who was removed and added again has two spans", async () => {
    const [creator, second] = devices()
    const group = await putGroup(messaging(), [creator, second])
    const removed = await append(newCommit(group, creator, leavesOf([creator])))
    if (removed.is !== "appended") throw new Error(removed.is)
    expect(await store().membershipSpan(group.id, second.id, 0n)).toEqual({ fromSeq: 1n, toSeq: 2n })
    expect(await store().membershipSpan(group.id, creator.id, 0n)).toEqual({ fromSeq: 1n, toSeq: null })
    const renewed = { ...(group.roster[0] ?? expect.fail()), credentialHash: random() }
    const back = await append(newCommit(removed.conversation, creator, [renewed, ...leavesOf([second], 3n, 1)]))
    if (back.is !== "appended") throw new Error(back.is)
    expect(await store().membershipSpan(group.id, second.id, 1n)).toEqual({ fromSeq: 1n, toSeq: 2n })
    expect(await store().membershipSpan(group.id, second.id, 2n)).toEqual({ fromSeq: 3n, toSeq: null })
    expect((await store().find(group.id))?.roster).toEqual(back.conversation.roster)
    expect(await store().withDevice(second.id)).toEqual([group.id])
  })

  test("a tree is returned in chunks of 1 MiB", async () => {
    const [creator] = devices()
    const group = await putGroup(messaging(), [creator])
    const tree = { bytes: random(1_048_576 + 1_000), hash: random() }
    await append(newCommit(group, creator, group.roster, { tree }))
    const size = tree.bytes.length
    const isPiece = async (from: number, to: number) => {
      const found = await store().tree(group.id, tree.hash, from)
      expect(found?.size).toBe(size)
      // An element-wise comparison would take a second.
      expect(Buffer.compare(found?.chunk ?? random(), tree.bytes.subarray(from, to))).toBe(0)
    }
    await isPiece(0, 1_048_576)
    await isPiece(1_048_570, 1_048_576)
    await isPiece(1_048_576, size)
    await isPiece(size, size)
    expect(await store().tree(group.id, random(), 0)).toBeUndefined()
  })
}
