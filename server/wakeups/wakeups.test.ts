import { randomUUID } from "node:crypto"
import { idOf } from "@signet/kernel/ids"
import { bytes, device, user } from "@signet/kernel/messaging/testing/records"
import type { Hint, Interest, MissedHints } from "@signet/kernel/messaging/wakeups"
import { expect, test } from "vitest"
import { createTestDatabase, describeOnPostgres } from "../../test/support/postgres.ts"
import { createHub } from "./hub.ts"
import { decode, encode, merged } from "./payload.ts"
import { createPoll } from "./poll.ts"
import { createWakeups } from "./wakeups.ts"

const conversation = (number: number) => idOf("cnv", bytes(number, 16))
const envelopes = (number: number, headSeq: bigint): Hint => ({
  is: "envelopes",
  conversationId: conversation(number),
  headSeq,
})
const welcome: Hint = {
  is: "welcome",
  deviceId: device(10),
  welcomeId: idOf("wel", bytes(1, 16)),
  conversationId: conversation(1),
}
const directive: Hint = { is: "directive", conversationId: conversation(1), directiveId: idOf("dir", bytes(1, 16)) }
const member: Hint = { is: "member", deviceId: device(10), conversationId: conversation(2) }
const list: Hint = { is: "deviceList", userId: user(1), version: 7n }
const interest: Interest = {
  deviceId: device(10),
  userIds: [user(1)],
  conversations: new Map([[conversation(1), 4n]]),
}
const fail = (error: unknown) => {
  throw error
}

test("a stream gets the hints that it subscribes to, and no others", () => {
  const wakeups = createWakeups({ others: null, onError: fail })
  const told: Hint[] = []
  const subscription = wakeups.subscribe(interest, (hint) => told.push(hint))
  wakeups.publish([welcome, directive, member, list, { is: "revoked", deviceId: device(11) }, envelopes(2, 9n)])
  expect(told).toEqual([welcome, directive, member, list])
  subscription.update({ ...interest, conversations: new Map([[conversation(2), 8n]]) })
  wakeups.publish([envelopes(2, 9n), directive])
  expect(told.slice(4)).toEqual([envelopes(2, 9n)])
  subscription.close()
  wakeups.publish([welcome])
  expect(told).toHaveLength(5)
})

test("each head is sent once, and never an older one", () => {
  const wakeups = createWakeups({ others: null, onError: fail })
  const told: Hint[] = []
  const subscription = wakeups.subscribe(interest, (hint) => told.push(hint))
  for (const seq of [4n, 5n, 5n, 3n, 6n]) wakeups.publish([envelopes(1, seq)])
  subscription.update(interest)
  wakeups.publish([envelopes(1, 6n)])
  expect(told).toEqual([envelopes(1, 5n), envelopes(1, 6n)])
})

test("a listener that throws does not prevent the others from getting a hint", () => {
  const errors: unknown[] = []
  const wakeups = createWakeups({ others: null, onError: (error) => errors.push(error) })
  const told: Hint[] = []
  wakeups.subscribe(interest, () => fail(new Error("mine")))
  wakeups.subscribe(interest, (hint) => told.push(hint))
  wakeups.publish([welcome])
  expect(told).toEqual([welcome])
  expect(errors).toEqual([new Error("mine")])
})

test("encoded hints decode unchanged and merged, from payloads below 8000 bytes", () => {
  const all = [
    ...[welcome, directive, member, list, welcome],
    ...Array.from({ length: 500 }, (_, i) => envelopes(i % 250, BigInt(i))),
    { is: "keyPackageLow", deviceId: device(3) } as const,
    { is: "revoked", deviceId: device(3) } as const,
    { is: "revocations" } as const,
  ]
  const payloads = encode("me", all)
  expect(payloads.length).toBeGreaterThan(1)
  for (const payload of payloads) expect(payload.length).toBeLessThan(8_000)
  const decoded = payloads.map(decode)
  expect(decoded.map(({ origin }) => origin)).toEqual(payloads.map(() => "me"))
  expect(decoded.flatMap(({ hints }) => hints)).toEqual(merged(all))
  expect(merged(all)).toHaveLength(257)
  expect(encode("me", [])).toEqual([])
})

test("of two heads of a conversation the higher one stays, in any order", () => {
  for (const heads of [
    [5n, 3n],
    [3n, 5n],
  ]) {
    expect(merged(heads.map((seq) => envelopes(1, seq)))).toEqual([envelopes(1, 5n)])
  }
})

test("hints about blocked users and about any conversation decode unchanged", () => {
  const hints: Hint[] = [
    { is: "blockList", deviceId: device(3), version: 2n },
    { is: "member", deviceId: device(3) },
  ]
  expect(encode("me", hints).flatMap((payload) => decode(payload).hints)).toEqual(hints)
})

test("of streams of one conversation, the poll starts at the lowest position", () => {
  const hub = createHub(fail)
  const at = (seq: bigint) => ({ ...interest, conversations: new Map([[conversation(1), seq]]) })
  for (const seq of [6n, 4n, 5n]) hub.add(at(seq), () => undefined)
  expect([...hub.heads()]).toEqual([[conversation(1), 4n]])
})

test("the poll asks about what is followed now: after a subscription came, changed, heard a hint, or left", () => {
  const hub = createHub(fail)
  const following = (number: number, seq: bigint): Interest => ({
    deviceId: device(number),
    userIds: [user(number)],
    conversations: new Map([[conversation(number), seq]]),
  })
  const asked = () => ({ heads: [...hub.heads()], ...hub.followed() })
  const nothing = { heads: [], deviceIds: [], userIds: [], conversationIds: [] }
  const one = (number: number, seq: bigint) => ({
    heads: [[conversation(number), seq]],
    deviceIds: [device(number)],
    userIds: [user(number)],
    conversationIds: [conversation(number)],
  })
  expect(asked()).toEqual(nothing)
  const subscription = hub.add(following(1, 4n), () => undefined)
  expect(asked()).toEqual(one(1, 4n))
  hub.update(subscription, following(2, 6n))
  expect(asked()).toEqual(one(2, 6n))
  hub.deliver(envelopes(2, 7n))
  expect(asked()).toEqual(one(2, 7n))
  hub.remove(subscription)
  expect(asked()).toEqual(nothing)
})

test.each([
  "",
  "x",
  "x\nnews from tomorrow",
  "x\nenvelopes",
  "x\nenvelopes dev_1 2",
  "x\nrevoked 1;drop",
  "x\nrevocations 2",
  `x\nenvelopes ${conversation(1)} -1`,
  `x\nenvelopes ${conversation(1)}`,
  `x\nwelcome ${device(1)} none ${conversation(1)}`,
  `x\ndeviceList ${user(1)}`,
  `x\nblockList ${device(1)} one`,
  `x\ndirective ${conversation(1)} none`,
  "x\nmember none",
  "x\n\n\n",
])("malformed lines are ignored: %j", (payload) => expect(decode(payload).hints).toEqual([]))

test("the poll reports lost hints once: heads, welcomes, changed lists and memberships", async () => {
  const hub = createHub(fail)
  const told: Hint[] = []
  hub.add(interest, (hint) => told.push(hint))
  let rest = [
    { hint: welcome, mark: "" },
    { hint: member, mark: "1" },
    { hint: list, mark: "7" },
    { hint: directive, mark: "" },
  ]
  const asked: unknown[] = []
  const missed: MissedHints = {
    async heads(known) {
      asked.push([...known])
      return [{ conversationId: conversation(1), headSeq: 6n }]
    },
    rest: async () => rest,
  }
  const poll = createPoll({ hub, missed, isListening: () => true, onError: fail })
  poll.record(directive)
  await poll.heads()
  await poll.heads()
  expect(asked).toEqual([[[conversation(1), 4n]], [[conversation(1), 6n]]])
  await poll.rest()
  expect(told).toEqual([envelopes(1, 6n), welcome])
  rest = rest.map((one) => (one.hint === member ? { ...one, mark: "2" } : one))
  await poll.rest()
  await poll.rest()
  expect(told.slice(2)).toEqual([member])
})

describeOnPostgres("wake-ups between processes", () => {
  const nothing: MissedHints = { heads: async () => [], rest: async () => [] }

  /** Two processes, of which the second listens for `count` hints. */
  async function twoOn(databaseUrl: string, missed = nothing) {
    const errors: unknown[] = []
    const open = () =>
      createWakeups({
        others: { findDatabase: async () => databaseUrl, origin: randomUUID(), missed, gatherMs: 1 },
        onError: (error) => errors.push(error),
      })
    const [one, other] = [open(), open()]
    const told: Hint[] = []
    let arrived = Promise.withResolvers<void>()
    other.subscribe(interest, (hint) => {
      told.push(hint)
      arrived.resolve()
      arrived = Promise.withResolvers()
    })
    const has = async (matches: (hint: Hint) => boolean) => {
      while (!told.some(matches)) await arrived.promise
    }
    // Told "member" by the connection itself: it listens.
    await has(({ is }) => is === "member")
    return { one, told, errors, has, close: async () => void (await Promise.all([one.close(), other.close()])) }
  }

  test("a process delivers the hints of the others, in one notification, and not its own a second time", async () => {
    const database = await createTestDatabase()
    const { one, told, errors, has, close } = await twoOn(database.url)
    const own: Hint[] = []
    one.subscribe(interest, (hint) => own.push(hint))
    one.publish([envelopes(1, 5n), welcome])
    one.publish([envelopes(1, 6n)])
    await has(({ is }) => is === "welcome")
    expect(told.filter(({ is }) => is === "envelopes")).toEqual([envelopes(1, 6n)])
    expect(own.filter(({ is }) => is !== "member")).toEqual([envelopes(1, 5n), welcome, envelopes(1, 6n)])
    expect(errors).toEqual([])
    await close()
    await database.drop()
  })

  test("hints beyond the queue limit are dropped, and later ones are delivered", async () => {
    const database = await createTestDatabase()
    const { one, told, has, close } = await twoOn(database.url)
    const before = told.length
    one.publish(Array.from({ length: 10_001 }, (_, i) => ({ ...list, version: BigInt(i) })))
    one.publish([directive])
    await has(({ is }) => is === "directive")
    expect(told.slice(before)).toEqual([directive])
    await close()
    await database.drop()
  })

  test("an announced revocation reaches the other processes, and not its sender", async () => {
    const database = await createTestDatabase()
    const open = () =>
      createWakeups({
        others: { findDatabase: async () => database.url, origin: randomUUID(), missed: nothing },
        onError: fail,
      })
    const [one, other] = [open(), open()]
    let own = 0
    one.onRevocations(() => own++)
    const told = Array.from({ length: 2 }, () => Promise.withResolvers<void>())
    let heard = 0
    other.onRevocations(() => told[heard++]?.resolve())
    // First of all it listens, and may have missed something.
    await told[0]?.promise
    one.announceRevocations()
    await told[1]?.promise
    expect(own).toBeLessThanOrEqual(1)
    await Promise.all([one.close(), other.close()])
    await database.drop()
  })

  test("a lost connection is opened again, and streams poll once", async () => {
    const database = await createTestDatabase()
    const { told, errors, has, close } = await twoOn(database.url, {
      ...nothing,
      heads: async () => (told.length > 1 ? [{ conversationId: conversation(1), headSeq: 9n }] : []),
    })
    await endListeners(database.url)
    await has((hint) => hint.is === "envelopes" && hint.headSeq === 9n)
    expect(told.filter(({ is }) => is === "member").length).toBeGreaterThan(1)
    expect(errors.length).toBeGreaterThan(0)
    await close()
    await database.drop()
  })
})

async function endListeners(url: string): Promise<void> {
  const { openPostgres } = await import("../store/postgres/open.ts")
  const { run } = await import("../store/postgres/sql.ts")
  const { db, close } = openPostgres(url)
  const text =
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and datname = current_database()"
  await run(db, text, ["signet wakeups"])
  await close()
}
