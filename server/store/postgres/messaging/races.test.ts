// Concurrent calls, which one session alone never shows: at READ COMMITTED, as the program runs, and at SERIALIZABLE,
// for engines that have nothing else.
import { newId } from "@signet/kernel/ids"
import { hex } from "@signet/kernel/messaging/bytes"
import { decideLease, decideRevocation } from "@signet/kernel/messaging/directive"
import type { AppendOutcome } from "@signet/kernel/messaging/ports"
import type { Conversation, MessagingDevice } from "@signet/kernel/messaging/records"
import type { VerifiedAppend } from "@signet/kernel/messaging/verified"
import { sql } from "kysely"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testAuditLogDeps } from "../../../../test/support/audit-log-deps.ts"
import { effort } from "../../../../test/support/effort.ts"
import { claimRaceSuite } from "../../../../test/support/messaging-store/races.ts"
import { describeOnPostgres, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { untilWaiting } from "../../../../test/support/waiting.ts"
import { run } from "../sql.ts"
import { createMessagingStore } from "./store.ts"
import { sweepMessaging } from "./sweep.ts"
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
} from "./testing/world.ts"

describeOnPostgres("concurrent messaging calls", () => {
  describe.each(["read committed", "serializable"] as const)("%s", (isolationLevel) => {
    let opened: TestStore
    beforeAll(async () => {
      opened = await openTestStore("postgres", { isolationLevel, maxConnections: 24 })
      const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(opened.db)
      const level = sql.lit(isolationLevel)
      await sql`alter database ${sql.ref(rows[0]?.name ?? "")} set default_transaction_isolation to ${level}`.execute(
        opened.db,
      )
    })
    afterAll(() => opened.close())
    const store = () => opened.messaging
    // A store for each call, as in separate processes: one process appends to a conversation in turn.
    const append = (of: VerifiedAppend) =>
      createMessagingStore(opened.db, { isolationLevel, audit: testAuditLogDeps() }).conversations.append(
        of,
        signReceipt,
        nowMs,
        [],
      )
    const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
    const newcomer = async () => (await putUser(store())).devices[0] ?? expect.fail()
    const kinds = (outcomes: readonly AppendOutcome[]) => outcomes.map(({ is }) => is).toSorted()

    /** The whole log: dense, and each commit one epoch after the previous one. */
    async function wholeLog({ id }: Conversation) {
      const { envelopes, headSeq } = await store().conversations.messages(id, 0n, { limit: 10_000, maxBytes: 1e9 })
      expect(envelopes.map(({ seq }) => seq)).toEqual(envelopes.map((_, i) => BigInt(i + 1)))
      expect(envelopes.at(-1)?.seq ?? 0n).toBe(headSeq)
      let epoch = 0n
      for (const envelope of envelopes) {
        expect(envelope.epoch).toBe(epoch)
        if (envelope.kind === "COMMIT") epoch++
      }
      expect((await store().conversations.find(id))?.epoch).toBe(epoch)
      return envelopes
    }

    test("of two to twelve concurrent commits one wins, and the log stays dense", async () => {
      const { devices } = await putUser(store(), 6)
      let group = await putGroup(store(), devices)
      const member = (i: number) => devices[i % devices.length] ?? expect.fail()
      for (let round = 0; round < effort(8, 200, 1_000); round++) {
        const commits = times(2 + (round % 11), (i) => newCommit(group, member(i), group.roster))
        const messages = times(2, (i) => newMessage(group, member(i + round)))
        const outcomes = await Promise.all([...commits, ...messages].map(append))
        const decided = outcomes.slice(0, commits.length)
        const [winner, ...others] = decided.filter(({ is }) => is === "appended")
        expect(others).toEqual([])
        const lost = decided.filter((outcome) => outcome.is === "refused" && outcome.decision.is === "conflict")
        expect(lost).toHaveLength(commits.length - 1)
        if (winner?.is !== "appended") throw new Error("nobody won")
        expect((await store().conversations.commitOf(group.id, group.epoch))?.seq).toBe(winner.answer.seq)
        group = winner.conversation
      }
      await wholeLog(group)
    })

    test("concurrent messages are appended once each, in one order", async () => {
      const { devices } = await putUser(store(), 4)
      const group = await putGroup(store(), devices)
      const messages = times(effort(24, 120, 400), (i) => newMessage(group, devices[i % 4] ?? expect.fail()))
      // Each twice: a retry that overtakes its call.
      const outcomes = await Promise.all([...messages, ...messages].map(append))
      expect(kinds(outcomes).filter((is) => is === "appended")).toHaveLength(messages.length)
      expect(kinds(outcomes).filter((is) => is === "replayed")).toHaveLength(messages.length)
      const log = await wholeLog(group)
      expect(
        log
          .slice(1)
          .map(({ contentHash }) => hex(contentHash))
          .toSorted(),
      ).toEqual(messages.map(({ contentHash }) => hex(contentHash)).toSorted())
    })

    test("one key with two contents appends one message, and so does one content with two keys", async () => {
      const device = await newcomer()
      const group = await putGroup(store(), [device])
      const message = newMessage(group, device)
      const contents = times(6, () => ({ ...message, contentHash: random() }))
      expect(kinds(await Promise.all(contents.map(append)))).toEqual(
        ["appended", ...times(5, () => "mismatch")].toSorted(),
      )
      const keys = times(6, () => ({ ...message, idempotencyKey: random(16) }))
      expect(kinds(await Promise.all(keys.map(append)))).toEqual(["appended", ...times(5, () => "replayed")].toSorted())
      expect(await wholeLog(group)).toHaveLength(3)
    })

    test("an append that waited for its device's removal is refused", async () => {
      const { devices } = await putUser(store(), 2)
      const [one, other] = [devices[0] ?? expect.fail(), devices[1] ?? expect.fail()]
      const group = await putGroup(store(), [one, other])
      const late = await opened.db.transaction().execute(async (trx) => {
        await run(trx, "select 1 from conversation where id = $1 for update", [group.id])
        const waiting = append(newMessage({ ...group, epoch: 2n }, other))
        await untilWaiting(opened.db)
        await run(trx, "update conversation set epoch = 2 where id = $1", [group.id])
        const leave = "update conversation_leaf set to_seq = 2 where conversation_id = $1 and device_id = $2"
        await run(trx, leave, [group.id, other.id])
        return { waiting }
      })
      expect(await late.waiting).toMatchObject({ is: "refused", decision: { is: "refuse", reason: "NOT_MEMBER" } })
    })

    test("a device that is revoked while it sends can append nothing afterwards", async () => {
      const { devices } = await putUser(store(), 2)
      const [one, other] = [devices[0] ?? expect.fail(), devices[1] ?? expect.fail()]
      const group = await putGroup(store(), [one, other])
      const asked = { id: newId("dir", nowMs, random(10)), userId: other.userId, deviceId: other.id, nowMs }
      const revoke = store().conversations.decideDirective(
        group.id,
        (found) => decideRevocation(found, asked),
        () => null,
      )
      const during = times(4, () => append(newMessage(group, other)))
      await revoke
      const after = await append(newMessage(group, other))
      expect(after).toMatchObject({ decision: { reason: "DEVICE_REVOKED" } })
      for (const outcome of await Promise.all(during)) expect(["appended", "refused"]).toContain(outcome.is)
      const lease = (device: MessagingDevice) =>
        store().conversations.leaseDirective(group.id, (found) => decideLease(found, asked.id, device.id, nowMs))
      expect((await lease(one))?.decision.is).toBe("lease")
    })

    test("one of several members gets the lease", async () => {
      const { devices } = await putUser(store(), 5)
      const gone = await newcomer()
      const group = await putGroup(store(), [...devices, gone])
      const asked = { id: newId("dir", nowMs, random(10)), userId: gone.userId, deviceId: gone.id, nowMs }
      await store().conversations.decideDirective(
        group.id,
        (found) => decideRevocation(found, asked),
        () => null,
      )
      const leases = devices.map(({ id }) =>
        store().conversations.leaseDirective(group.id, (found) => decideLease(found, asked.id, id, nowMs)),
      )
      const decisions = (await Promise.all(leases)).map((each) => each?.decision.is)
      expect(decisions.filter((is) => is === "lease")).toHaveLength(1)
    })

    claimRaceSuite(store)

    test("a pair has one direct conversation, and a key makes one group", async () => {
      const [one, other] = [await newcomer(), await newcomer()]
      const ask = (kind: Conversation["kind"], by = creatorOf(one.id)) =>
        store().conversations.create(newConversation([one.userId, other.userId], { kind }), by, newAudit())
      const idsOf = (outcomes: Awaited<ReturnType<typeof ask>>[]) =>
        new Set(outcomes.map((each) => ("conversation" in each ? each.conversation.id : expect.fail(each.is))))
      const direct = await Promise.all(times(8, (i) => ask("DIRECT", creatorOf((i % 2 === 0 ? one : other).id))))
      expect(idsOf(direct).size).toBe(1)
      const by = creatorOf(one.id)
      const groups = await Promise.all(times(8, () => ask("GROUP", by)))
      expect(idsOf(groups).size).toBe(1)
      expect([...direct, ...groups].filter(({ is }) => is === "created")).toHaveLength(2)
    })

    test("a welcome is consumed with one of eight concurrent keys, also while it is voided", async () => {
      const { devices } = await putUser(store(), 3)
      const [one, other, third] = times(3, (i) => devices[i] ?? expect.fail())
      if (!(one && other && third)) throw new Error("three")
      const conversation = newConversation([one.userId])
      await store().conversations.create(conversation, creatorOf(one.id), newAudit())
      const first = newCommit(conversation, one, leavesOf(devices))
      await append(first)
      const [id, thirds] = first.commit?.welcomes.map((welcome) => welcome.id) ?? []
      if (id === undefined || thirds === undefined) throw new Error("two")
      const consume = (of: typeof id, deviceId = other.id) =>
        store().welcomes.consume(of, { deviceId, key: random(16) }, nowMs, newAudit())
      const last = consume(thirds, third.id)
      const outcomes = await Promise.all(times(8, () => consume(id)))
      expect(outcomes.filter((each) => typeof each !== "string")).toHaveLength(1)
      expect(outcomes.filter((each) => each === "WELCOME_ALREADY_CONSUMED")).toHaveLength(7)
      expect(await last).toMatchObject({ status: "CONSUMED" })
      const tails = "select tail from welcome_commit where conversation_id = $1"
      expect(await run<{ tail: Uint8Array }>(opened.db, tails, [conversation.id])).toEqual([{ tail: Buffer.alloc(0) }])
    })

    test("cursors rise to the highest, and a nonce is used once", async () => {
      const device = await newcomer()
      const group = await putGroup(store(), [device])
      for (let i = 0; i < 6; i++) await append(newMessage(group, device))
      const acks = times(6, (i) =>
        store().conversations.ack(group.id, device.id, { processedSeq: BigInt(7 - i), processedEpoch: 1n }),
      )
      await Promise.all(acks)
      expect((await store().conversations.findSeen(group.id, device.id))?.cursor.processedSeq).toBe(7n)
      const nonce = random(16)
      const uses = await Promise.all(times(10, () => store().proofNonces.use(device.id, nonce, nowMs)))
      expect(uses.filter(Boolean)).toHaveLength(1)
    })

    test("a sweep deletes a nonce at its expiry", async () => {
      const device = await newcomer()
      const nonce = random(16)
      const use = () => store().proofNonces.use(device.id, nonce, nowMs)
      expect(await use()).toBe(true)
      await sweepMessaging(opened.db, nowMs - 1)
      expect(await use()).toBe(false)
      await sweepMessaging(opened.db, nowMs)
      expect(await use()).toBe(true)
    })

    test("pruning, sweeping and appending do not block each other", async () => {
      const device = await newcomer()
      const group = await putGroup(store(), [device])
      for (let i = 0; i < 5; i++) await append(newMessage(group, device))
      await store().conversations.ack(group.id, device.id, { processedSeq: 6n, processedEpoch: 1n })
      const later = nowMs + 91 * 86_400_000
      const sweeps = times(3, () => sweepMessaging(opened.db, later))
      const outcomes = await Promise.all(times(6, () => append(newMessage(group, device))))
      await Promise.all(sweeps)
      expect(kinds(outcomes)).toEqual(times(6, () => "appended"))
      const { envelopes, firstSeq, headSeq } = await store().conversations.messages(group.id, 0n, {
        limit: 100,
        maxBytes: 1e6,
      })
      expect(headSeq).toBe(12n)
      expect(envelopes.map(({ seq }) => seq)).toEqual(
        times(Number(headSeq - firstSeq) + 1, (i) => firstSeq + BigInt(i)),
      )
    })
  })
})
