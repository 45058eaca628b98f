// One random history, run on both stores: their answers must be equal.
import { createHash } from "node:crypto"
import { newId } from "@signet/kernel/ids"
import type { ReceiptSigner } from "@signet/kernel/messaging/authority"
import { decideLease, decideLeave, decideRejoin, decideRevocation } from "@signet/kernel/messaging/directive"
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import type { Conversation, Leaf, MessagingDevice } from "@signet/kernel/messaging/records"
import type { VerifiedAppend } from "@signet/kernel/messaging/verified"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type Seeded, seeded } from "../../../test/simulation/seeded.ts"
import { effort } from "../../../test/support/effort.ts"
import { openTestStore, storyStore, type TestStore } from "../../../test/support/postgres.ts"
import {
  changeOf,
  newAudit,
  newCommit,
  newConversation,
  newDevice,
  newList,
  newMessage,
  place,
  nowMs as startMs,
} from "../postgres/messaging/testing/world.ts"
import { freshId } from "../postgres/testing/people.ts"
import { createDurableStore } from "./store.ts"
import { type StartedObjects, startObjects } from "./testing/start.ts"

const day = 86_400_000
const seed = process.env.SIGNET_SEED ?? "both stores"

const sign: ReceiptSigner = (facts) => {
  const bytes = new TextEncoder().encode(
    JSON.stringify(facts, (_, value) => (typeof value === "bigint" ? String(value) : value)),
  )
  return { bytes, hash: new Uint8Array(createHash("sha256").update(bytes).digest()) }
}

describe.skipIf(effort(true, false, false))(`of the seed "${seed}"`, () => {
  let objects: StartedObjects
  let postgres: TestStore
  beforeAll(async () => {
    objects = await startObjects()
    postgres = await openTestStore(storyStore)
  })
  afterAll(async () => {
    await objects?.close()
    await postgres?.close()
  })

  test(
    "both stores answer the same",
    async () => {
      const history = createHistory(seeded(seed), [postgres.messaging, createDurableStore(objects.env)], objects)
      await history.begin()
      for (let step = 0; step < effort(0, 200, 5_000); step++) await history.step()
      const { appended, replayed, mismatch, refused, consume, lease } = Object.fromEntries(history.counts())
      for (const often of [appended, replayed, mismatch, refused, consume, lease]) expect(often).toBeGreaterThan(0)
    },
    effort(60_000, 180_000, 3_600_000),
  )
})

type Ask = (store: MessagingStore) => Promise<unknown>

function createHistory(random: Seeded, stores: readonly MessagingStore[], objects: StartedObjects) {
  const devices: MessagingDevice[] = []
  const rooms: Conversation[] = []
  const sent: VerifiedAppend[] = []
  const keys: { deviceId: MessagingDevice["id"]; idempotencyKey: Uint8Array; requestHash: Uint8Array }[] = []
  const counts = new Map<string, number>()
  let nowMs = startMs

  async function same<Answer>(what: string, ask: (store: MessagingStore) => Promise<Answer>): Promise<Answer> {
    counts.set(what, (counts.get(what) ?? 0) + 1)
    const [first, ...others] = await Promise.all(stores.map(ask))
    for (const other of others) expect(other, what).toEqual(first)
    return first as Answer
  }

  const device = () => random.pick(devices)
  const room = () => random.pick(rooms)
  const found = async () => (await stores[0]?.conversations.find(room().id)) ?? expect.fail()
  const lister = ({ id, userId }: MessagingDevice) => ({ deviceId: id, userId, place })

  const acts: Record<string, () => Promise<unknown>> = {
    async create() {
      const by = device()
      const others = Array.from({ length: 1 + random.below(3) }, () => device().userId)
      const kind = random.chance(0.4) ? ("DIRECT" as const) : ("GROUP" as const)
      const peer = devices.find(({ userId }) => userId !== by.userId)?.userId ?? expect.fail()
      const userIds = kind === "DIRECT" ? [by.userId, peer] : [...new Set([by.userId, ...others])]
      const made = newConversation(userIds, { kind, createdAtMs: nowMs })
      const again = keys.filter(({ deviceId }) => deviceId === by.id)
      const key =
        again.length > 0 && random.chance(0.3)
          ? { ...random.pick(again), ...(random.chance(0.3) ? { requestHash: random.bytes(32) } : {}) }
          : { deviceId: by.id, idempotencyKey: random.bytes(16), requestHash: random.bytes(32) }
      keys.push(key)
      const created = await same(`create ${kind}`, (store) => store.conversations.create(made, key, newAudit()))
      if (created.is === "created") rooms.push(created.conversation)
    },
    async message() {
      const conversation = await found()
      const epoch = random.chance(0.1) ? conversation.epoch - 1n : conversation.epoch
      const by = random.chance(0.8) ? memberOf(conversation) : device()
      await append(newMessage({ id: conversation.id, epoch: epoch < 0n ? 0n : epoch }, by))
    },
    async commit() {
      const conversation = await found()
      const by = conversation.epoch === 0n || random.chance(0.1) ? device() : memberOf(conversation)
      const epoch = random.chance(0.1) && conversation.epoch > 1n ? conversation.epoch - 1n : conversation.epoch
      const made = newCommit({ ...conversation, epoch }, by, rosterAfter(conversation, by))
      const welcomes = made.commit?.welcomes.map((one) => ({ ...one, expiresAtMs: nowMs + 10 * day })) ?? []
      const isDirected = random.chance(0.3)
      const membership = made.commit?.membership ? { ...made.commit.membership, isDirected } : null
      await append({ ...made, commit: made.commit && { ...made.commit, welcomes, membership } })
    },
    async again() {
      if (sent.length === 0) return
      const before = random.pick(sent)
      const change = random.pick([{}, { contentHash: random.bytes(32) }, { idempotencyKey: random.bytes(16) }])
      await append({ ...before, ...change })
    },
    async ack() {
      const conversation = await found()
      const { id } = random.chance(0.9) ? memberOf(conversation) : device()
      const processedSeq = random.chance(0.7)
        ? conversation.headSeq
        : BigInt(random.below(Number(conversation.headSeq) + 2))
      const cursor = { processedSeq, processedEpoch: BigInt(random.below(Number(conversation.epoch) + 1)) }
      await same("ack", (store) => store.conversations.ack(conversation.id, id, cursor))
    },
    async touch() {
      const [{ id }, at] = [room(), nowMs]
      const [by, sinceMs] = [device(), random.below(60_000)]
      await same("touch", (store) => store.conversations.touch(id, by.id, at).then(() => undefined))
      await same("online", (store) => store.conversations.online(id, at - sinceMs))
    },
    async direct() {
      const { id } = room()
      const { id: deviceId, userId } = device()
      const asked = { id: newId("dir", nowMs, random.bytes(10)), userId, deviceId, nowMs }
      const decide = random.pick([decideRevocation, decideLeave, decideRejoin])
      await same("direct", (store) =>
        store.conversations.decideDirective(
          id,
          (conversation) => decide(conversation, asked),
          ({ is }) => (is === "refuse" || is === "there" ? null : newAudit()),
        ),
      )
    },
    async lease() {
      const conversation = await found()
      if (conversation.directives.length === 0) return
      const directive = random.pick(conversation.directives)
      const by = device()
      await same("lease", (store) =>
        store.conversations.leaseDirective(conversation.id, (one) => decideLease(one, directive.id, by.id, nowMs)),
      )
    },
    async fork() {
      const conversation = await found()
      const { id: deviceId, userId } = device()
      const { epoch, headSeq: seq } = conversation
      const report = {
        deviceId,
        userId,
        epoch,
        seq,
        fault: "STATE_TAG_MISMATCH",
        stateTag: null,
        reportedAtMs: nowMs,
      } as const
      const isFork = random.chance(0.1)
      await same("fork", (store) =>
        store.conversations.reportFork(
          conversation.id,
          report,
          () => isFork,
          () => [newAudit()],
        ),
      )
    },
    async welcome() {
      const { id } = device()
      const page = { size: 1 + random.below(5), maxBytes: 1 + random.below(5_000), after: null }
      const [first] = await same("welcomes", (store) => store.welcomes.listPending(id, nowMs, page))
      if (first === undefined) return
      await same("tree", (store) => store.conversations.tree(first.conversationId, first.treeHash, 0))
      const by = { deviceId: random.chance(0.9) ? id : device().id, key: random.bytes(16) }
      if (by.deviceId !== id) return
      await same("consume", (store) => store.welcomes.consume(first.id, by, nowMs, newAudit()))
      await same("used", (store) => store.welcomes.wereUsed(first.conversationId, [first.keyPackageRef]))
    },
    async void() {
      const { id } = device()
      if (random.chance(0.2)) await same("void", (store) => store.welcomes.voidAll(id).then(() => undefined))
    },
    async read() {
      const conversation = await found()
      const { id } = conversation
      const [by, afterSeq] = [device(), BigInt(random.below(Number(conversation.headSeq) + 1))]
      const page = { limit: 1 + random.below(20), maxBytes: random.below(20_000) }
      const key = sent.length > 0 ? random.pick(sent).idempotencyKey : random.bytes(16)
      const hash = conversation.state?.treeHash ?? random.bytes(32)
      const offset = random.below(1_001)
      const asks: Record<string, Ask> = {
        find: (store) => store.conversations.find(id),
        open: (store) => store.conversations.findSeen(id, by.id, key),
        messages: (store) => store.conversations.messages(id, afterSeq, page),
        commitOf: (store) => store.conversations.commitOf(id, conversation.epoch - 1n),
        groupInfo: (store) => store.conversations.groupInfo(id),
        tree: (store) => store.conversations.tree(id, hash, offset),
      }
      for (const [what, ask] of Object.entries(asks)) await same(what, ask)
      for (let after = 0n; after <= conversation.headSeq; after++) {
        await same("membershipSpan", (store) => store.conversations.membershipSpan(id, by.id, after))
      }
    },
    async list() {
      const by = device()
      const size = 1 + random.below(6)
      const first = await same("list", (store) => store.conversations.list(lister(by), { size, before: null }))
      const last = first.at(-1)?.conversation
      const before = last === undefined ? null : { createdAtMs: last.createdAtMs, id: last.id }
      await same("list", (store) => store.conversations.list(lister(by), { size, before }))
      const only = random.chance(0.3) ? room().id : null
      const sorted = (all: Awaited<ReturnType<MessagingStore["conversations"]["memberUsers"]>>) =>
        all.map(({ progress: _, ...one }) => ({ ...one, userIds: one.userIds.toSorted() }))
      await same("memberUsers", async (store) =>
        sorted(await store.conversations.memberUsers(lister(by), { size, after: null, only })),
      )
      const ids = [room().id, room().id]
      await same("logProgress", (store) => store.conversations.logProgress(by.id, [...new Set(ids)]))
      await same("withDevice", (store) => store.conversations.withDevice(by.id))
    },
    async time() {
      nowMs += random.chance(0.3) ? random.below(60 * day) : random.below(30_000)
      const most = 1 + random.below(30)
      for (const { id } of rooms) await objects.env.CONVERSATIONS.getByName(id).sweep(nowMs, most)
      await stores[0]?.conversations.prune(nowMs, 100_000)
    },
  }

  async function append(of: VerifiedAppend): Promise<void> {
    const outcome = await same("append", (store) => store.conversations.append(of, sign, nowMs, []))
    counts.set(outcome.is, (counts.get(outcome.is) ?? 0) + 1)
    sent.push(of)
  }

  function memberOf({ roster }: Conversation): MessagingDevice {
    const ids = new Set(roster.map(({ deviceId }) => deviceId))
    const members = devices.filter(({ id }) => ids.has(id))
    return members.length === 0 ? device() : random.pick(members)
  }

  /** Some members leave and some join, each at the leftmost free leaf; the committer stays. */
  function rosterAfter({ roster, epoch }: Conversation, by: MessagingDevice): readonly Leaf[] {
    const staying = roster.filter(({ deviceId }) => deviceId === by.id || random.chance(0.85))
    const taken = new Set(staying.map(({ leafIndex }) => leafIndex))
    const isIn = new Set(staying.map(({ deviceId }) => deviceId))
    const coming = devices.filter(({ id }) => !isIn.has(id) && (id === by.id || random.chance(0.2)))
    const added = coming.map(({ id, userId, credentialHash }): Leaf => {
      let leafIndex = 0
      while (taken.has(leafIndex)) leafIndex++
      taken.add(leafIndex)
      return { leafIndex, deviceId: id, userId, credentialHash, joinedEpoch: epoch + 1n }
    })
    return [...staying, ...added].toSorted((a, b) => a.leafIndex - b.leafIndex)
  }

  return {
    async begin() {
      for (let user = 0; user < 4; user++) {
        const userId = freshId("prn")
        for (let i = 1; i <= 2; i++) {
          const one = newDevice(userId, { createdAtMs: nowMs + i })
          const list = newList(BigInt(i))
          await same("register", (store) => store.devices.change(changeOf(one, { list })))
          devices.push(one)
        }
      }
      while (rooms.length < 2) await acts.create?.()
    },
    async step() {
      const weights = {
        message: 6,
        commit: 4,
        read: 4,
        ack: 3,
        list: 3,
        again: 2,
        welcome: 2,
        direct: 2,
        lease: 2,
        time: 2,
      }
      const names = Object.keys(acts).flatMap((name) =>
        Array.from({ length: Reflect.get(weights, name) ?? 1 }, () => name),
      )
      await acts[random.pick(names)]?.()
    },
    counts: () => counts,
  }
}
