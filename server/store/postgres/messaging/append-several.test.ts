import type { AppendOutcome, MessagingStore } from "@signet/kernel/messaging/ports"
import type { Conversation, MessagingDevice } from "@signet/kernel/messaging/records"
import type { VerifiedAppend } from "@signet/kernel/messaging/verified"
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import { testAuditLogDeps } from "../../../../test/support/audit-log-deps.ts"
import {
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
  type TestStore,
} from "../../../../test/support/postgres.ts"
import { recorded } from "../../../../test/support/statements.ts"
import { inThreeProcesses } from "../testing/calls.ts"
import { createMessagingStore } from "./store.ts"
import { newCommit, newMessage, nowMs, putGroup, putUser, random, signReceipt } from "./testing/world.ts"

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

async function newGroup(store: MessagingStore): Promise<{ group: Conversation; device: MessagingDevice }> {
  const [device] = (await putUser(store)).devices
  if (device === undefined) throw new Error("no device")
  return { group: await putGroup(store, [device]), device }
}
const appendTo = (store: MessagingStore, seen: Conversation, append: VerifiedAppend, at = nowMs) =>
  store.conversations.append(append, signReceipt, at, [], seen)
const logOf = async (store: MessagingStore, { id }: Conversation) =>
  (await store.conversations.messages(id, 1n, { limit: 1_000, maxBytes: 1e9 })).envelopes
const seqOf = (outcome: AppendOutcome) => (outcome.is === "appended" ? outcome.answer.seq : outcome.is)

describeOnEachStore("messages of several calls at once", (kind) => {
  let opened: TestStore
  let store: MessagingStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.messaging
  })
  afterAll(() => opened.close())

  test("are appended in the order of the calls, with their bytes", async () => {
    const rooms = [await newGroup(store), await newGroup(store), await newGroup(store)]
    const sent = times(12, (i) => {
      const { group, device } = rooms[i % 3] ?? expect.unreachable()
      return { group, message: newMessage(group, device) }
    })
    const outcomes = await Promise.all(sent.map(({ group, message }, i) => appendTo(store, group, message, nowMs - i)))
    expect(outcomes.map(seqOf)).toEqual(times(12, (i) => BigInt(2 + Math.floor(i / 3))))
    for (const { group } of rooms) {
      const log = await logOf(store, group)
      const ownMessages = sent.filter((one) => one.group === group).map(({ message }) => message)
      expect(log.map(({ message }) => message)).toEqual(ownMessages.map(({ message }) => message))
      expect(log.map(({ seq }) => seq)).toEqual([2n, 3n, 4n, 5n])
      expect(log[0]).toMatchObject({ epoch: 1n, kind: "APPLICATION", receipt: null })
      // Never decreases, even if the clock was set back.
      expect(log.map(({ acceptedAtMs }) => acceptedAtMs)).toEqual(times(4, () => log[0]?.acceptedAtMs))
      const found = await store.conversations.find(group.id)
      expect(found).toMatchObject({ headSeq: 5n, headAtMs: log[0]?.acceptedAtMs })
      const last = outcomes[sent.findLastIndex((one) => one.group === group)]
      expect(last).toMatchObject({ is: "appended", conversation: found, directives: [] })
    }
  })

  test("do not include one whose conversation has changed since it was read", async () => {
    const committed = await newGroup(store)
    const left = await appendTo(
      store,
      committed.group,
      newCommit(committed.group, committed.device, committed.group.roster),
    )
    expect(left.is).toBe("appended")
    const change = async (change: string) => {
      const room = await newGroup(store)
      await sql`update conversation set ${sql.raw(change)} where id = ${room.group.id}`.execute(opened.db)
      return room
    }
    const removal = {
      id: "drc_1",
      kind: "LEAVE",
      status: "OPEN",
      deviceId: null,
      userId: "prn_1",
      issuedAtMs: 0,
      lease: null,
    }
    const rooms = [
      committed,
      await change("status = 'CLOSED'"),
      await change("status = 'QUARANTINED'"),
      await change(`directives = '[${JSON.stringify(removal)}]'`),
      await newGroup(store),
    ]
    const ahead = await newGroup(store)
    const outcomes = await Promise.all([
      ...rooms.map(({ group, device }) => appendTo(store, group, newMessage(group, device))),
      appendTo(store, ahead.group, { ...newMessage(ahead.group, ahead.device), processedSeq: 2n }),
    ])
    expect(outcomes).toMatchObject([
      { is: "refused", decision: { is: "stale" } },
      { is: "refused", decision: { reason: "CONVERSATION_CLOSED" } },
      { is: "refused", decision: { reason: "CONVERSATION_QUARANTINED" } },
      { is: "refused", decision: { is: "commitRequired" } },
      { is: "appended", answer: { seq: 2n } },
      { is: "refused", decision: { reason: "LOG_INCOMPLETE" } },
    ])
    expect(await logOf(store, ahead.group)).toEqual([])
  })

  test("are each appended once, whatever is repeated among them", async () => {
    const { group, device } = await newGroup(store)
    const other = await newGroup(store)
    const message = newMessage(group, device)
    const outcomes = await Promise.all([
      appendTo(store, group, message),
      appendTo(store, group, message),
      appendTo(store, group, { ...message, contentHash: random() }),
      appendTo(store, group, { ...message, idempotencyKey: random(16) }),
      appendTo(store, other.group, newMessage(other.group, other.device)),
    ])
    expect(outcomes.map(seqOf)).toEqual([2n, "replayed", "mismatch", "replayed", 2n])
    expect(await logOf(store, group)).toHaveLength(1)
  })

  test("are one statement, which a message of more than 16 KiB does not share", async () => {
    const rooms = [await newGroup(store), await newGroup(store)]
    const appends = async (...sizes: number[]) => {
      const statements = await recorded(() =>
        Promise.all(
          sizes.map((size, i) => {
            const { group, device } = rooms[i] ?? expect.unreachable()
            return appendTo(store, group, { ...newMessage(group, device), message: random(size) })
          }),
        ),
      )
      return statements.filter(({ text }) => text.includes("insert into conversation_log")).length
    }
    expect(await appends(10, 16_384)).toBe(1)
    expect(await appends(10, 16_385)).toBe(2)
    const lengths = (await logOf(store, rooms[1]?.group ?? expect.unreachable())).map(({ message }) => message.length)
    expect(lengths).toEqual([16_384, 16_385])
  })
})

describeOnPostgres("messages of several calls at once", () => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore("postgres", { maxConnections: 20 })
  })
  afterAll(() => opened.close())

  test.each(["read committed", "serializable"])(
    "keep each log dense in three processes, beside commits (%s)",
    async (isolation) => {
      const { messaging, databaseUrl } = opened
      await inThreeProcesses(databaseUrl, isolation, async (databases) => {
        const stores = databases.map((db) => createMessagingStore(db, { audit: testAuditLogDeps() }))
        const rooms = [await newGroup(messaging), await newGroup(messaging)]
        const calls = times(60, (i) => {
          const { group, device } = rooms[i % 2] ?? expect.unreachable()
          const store = stores[i % 3] ?? expect.unreachable()
          const append = i === 31 ? newCommit(group, device, group.roster) : newMessage(group, device)
          return { group, append, answer: appendTo(store, group, append) }
        })
        const outcomes = await Promise.all(calls.map(({ answer }) => answer))
        for (const { group } of rooms) {
          const log = await logOf(messaging, group)
          expect(log.map(({ seq }) => seq)).toEqual(log.map((_, i) => BigInt(i + 2)))
          const appended = calls.flatMap(({ append }, i) => {
            const outcome = outcomes[i]
            return append.conversationId === group.id && outcome?.is === "appended"
              ? [[outcome.answer.seq, append.contentHash] as const]
              : []
          })
          expect(new Map(appended)).toEqual(new Map(log.map(({ seq, contentHash }) => [seq, contentHash])))
          const commit = log.findIndex((one) => one.kind === "COMMIT")
          expect(log.slice(commit + 1).every(({ epoch }) => epoch === (commit < 0 ? 1n : 2n))).toBe(true)
        }
        const rest = outcomes.filter(({ is }) => is !== "appended")
        expect(rest).toEqual(rest.map(() => expect.objectContaining({ is: "refused", decision: { is: "stale" } })))
        expect((await messaging.conversations.find(rooms[0]?.group.id ?? expect.unreachable()))?.epoch).toBe(1n)
        expect((await messaging.conversations.find(rooms[1]?.group.id ?? expect.unreachable()))?.epoch).toBe(2n)
      })
    },
  )

  test("are appended while another conversation is locked", async () => {
    const { messaging, db } = opened
    const [locked, free] = [await newGroup(messaging), await newGroup(messaging)]
    let hasEnded = false
    const waiting = await db.transaction().execute(async (holder) => {
      await sql`select 1 from conversation where id = ${locked.group.id} for update`.execute(holder)
      const call = appendTo(messaging, locked.group, newMessage(locked.group, locked.device))
      call.then(() => {
        hasEnded = true
      })
      for (let seq = 2n; seq < 7n; seq++) {
        expect(seqOf(await appendTo(messaging, free.group, newMessage(free.group, free.device)))).toBe(seq)
      }
      expect(hasEnded).toBe(false)
      await sql`update conversation set epoch = epoch + 1 where id = ${locked.group.id}`.execute(holder)
      return { call }
    })
    expect(await waiting.call).toMatchObject({ is: "refused", decision: { is: "stale" } })
  })

  test("are refused at a held place", async () => {
    const { messaging, db } = opened
    const [held, open] = [await newGroup(messaging), await newGroup(messaging)]
    const shard = held.group.id.at(-1)
    expect(shard).not.toBe(open.group.id.at(-1))
    await sql`update messaging_gate set is_open = false where shard = ${shard}`.execute(db)
    try {
      const calls = [held, open].map(({ group, device }) => appendTo(messaging, group, newMessage(group, device)))
      const [refused, appended] = await Promise.allSettled(calls)
      expect(refused).toMatchObject({ status: "rejected", reason: { reason: "PLACE_HELD" } })
      expect(appended).toMatchObject({ value: { is: "appended" } })
    } finally {
      await sql`update messaging_gate set is_open = true where shard = ${shard}`.execute(db)
    }
  })
})
