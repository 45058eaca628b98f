// Streams on the real runtime: what an object tells reaches who listens, and what was lost on the way is found.
import { join } from "node:path"
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import type { Conversation, Directive, MessagingDevice } from "@signet/kernel/messaging/records"
import { directive, nowMs, place } from "@signet/kernel/messaging/testing/records"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest"
import { userName } from "../../../store/durable/names.ts"
import { fromText, toText } from "../../../store/durable/plain.ts"
import { createDurableStore } from "../../../store/durable/store.ts"
import { type StartedObjects, startObjects } from "../../../store/durable/testing/start.ts"
import { changeOf, newMessage, putGroup, putUser } from "../../../store/postgres/messaging/testing/world.ts"
import { freshId } from "../../../store/postgres/testing/people.ts"

let objects: StartedObjects
let store: MessagingStore

beforeAll(async () => {
  objects = await startObjects([], join(import.meta.dirname, "../testing/streams/worker.ts"))
  store = createDurableStore(objects.env)
})
afterAll(() => objects?.close())

interface Stream {
  readonly hints: Hint[]
  leave(): void
}

/** Listens to one's own device, to a user, and to conversations as far as they were told. */
async function listen(device: MessagingDevice, known: readonly (readonly [Conversation, bigint])[]): Promise<Stream> {
  const leaving = new AbortController()
  onTestFinished(() => leaving.abort())
  const conversations = known.map(([{ id }, seq]) => [id, seq])
  const body = toText({ deviceId: device.id, userIds: [device.userId], conversations })
  const response = await fetch(objects.address("/subscribe"), { method: "POST", body, signal: leaving.signal })
  const hints: Hint[] = []
  let isBegun = false
  const read = async () => {
    let rest = ""
    for await (const bytes of response.body ?? []) {
      const lines = (rest + Buffer.from(bytes).toString()).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines.filter((text) => text !== "")) hints.push(fromText(line))
      isBegun = true
    }
  }
  void read().catch(() => undefined)
  await until(() => isBegun)
  return { hints, leave: () => leaving.abort() }
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20))
}

const publish = (hints: readonly Hint[]) => fetch(objects.address("/publish"), { method: "POST", body: toText(hints) })
const soon = () => new Promise((resolve) => setTimeout(resolve, 150))

async function group() {
  const { devices } = await putUser(store)
  const device = devices[0] ?? expect.fail()
  return { device, conversation: await putGroup(store, devices) }
}

const append = async (conversation: Conversation, device: MessagingDevice): Promise<bigint> => {
  const done = await store.conversations.append(newMessage(conversation, device), () => expect.fail(), nowMs, [])
  return done.is === "appended" ? done.answer.seq : expect.fail(done.is)
}

const listenersOf = (conversation: Conversation) =>
  objects.env.CONVERSATIONS.getByName(conversation.id).rowsOf("select device_id from listener")

/** Its object has heard that the device listens. */
const isHeard = (conversation: Conversation, { id }: MessagingDevice) =>
  until(async () => JSON.stringify(await listenersOf(conversation)).includes(id))

test("what is told or published reaches who listens, once, and nobody else", async () => {
  const [one, other] = [await group(), await group()]
  const stream = await listen(one.device, [[one.conversation, one.conversation.headSeq]])
  const elsewhere = await listen(other.device, [[other.conversation, other.conversation.headSeq]])
  await isHeard(one.conversation, one.device)
  const headSeq = await append(one.conversation, one.device)
  const hint: Hint = { is: "envelopes", conversationId: one.conversation.id, headSeq }
  await until(() => stream.hints.length > 0)
  await objects.env.CONVERSATIONS.getByName(one.conversation.id).tell?.([hint])
  await publish([hint, { is: "keyPackageLow", deviceId: one.device.id }])
  await until(() => stream.hints.length > 1)
  expect(stream.hints).toEqual([hint, { is: "keyPackageLow", deviceId: one.device.id }])
  expect(elsewhere.hints).toEqual([])
})

test("what nobody told, or was told to nobody, is found by asking again", async () => {
  const { device, conversation } = await group()
  await append(conversation, device)
  const stream = await listen(device, [[conversation, conversation.headSeq]])
  await until(() => stream.hints.length === 1)
  await objects.env.CONVERSATIONS.getByName(conversation.id).rowsOf("delete from listener")
  const headSeq = await append(conversation, device)
  const issued: Directive = { ...directive, issuedAtMs: Date.now() }
  const done = await store.conversations.direct(
    conversation.id,
    () => ({ is: "issue", directive: issued }),
    () => null,
  )
  expect(done?.decision.is).toBe("issue")
  await until(() => stream.hints.length === 3)
  expect(stream.hints.slice(1)).toEqual([
    { is: "envelopes", conversationId: conversation.id, headSeq },
    { is: "directive", conversationId: conversation.id, directiveId: issued.id },
  ])
  await soon()
  expect(stream.hints).toHaveLength(3)
})

test("a list of devices is told by the user's object, and to devices of others too", async () => {
  const { device, conversation } = await group()
  const stream = await listen(device, [[conversation, conversation.headSeq]])
  await isHeard(conversation, device)
  const user = objects.env.USERS.getByName(userName(device.userId, place))
  await until(async () => JSON.stringify(await user.rowsOf("select device_id from listener")).includes(device.id))
  const second = changeOf({ ...device, changedAtMs: Date.now() })
  expect(await store.devices.change({ ...second, list: { ...second.list, version: 2n } })).toBe("done")
  await until(() => stream.hints.length > 0)
  expect(stream.hints).toEqual([{ is: "deviceList", userId: device.userId, version: 2n }])
})

test.each(["DEVICES", "CONVERSATIONS"] as const)(
  "an object of %s that loses its memory is heard again",
  async (kind) => {
    const { device, conversation } = await group()
    const stream = await listen(device, [[conversation, conversation.headSeq]])
    await isHeard(conversation, device)
    const gone = objects.env[kind].getByName(kind === "DEVICES" ? device.id : conversation.id)
    await gone.crash?.().catch(() => undefined)
    const headSeq = await append(conversation, device)
    const hint: Hint = { is: "envelopes", conversationId: conversation.id, headSeq }
    // The one that lost its sockets says so, and what was told meanwhile is found.
    const all: Hint[] = kind === "DEVICES" ? [{ is: "member", deviceId: device.id }, hint] : [hint]
    await until(() => stream.hints.length >= all.length)
    expect(stream.hints).toEqual(expect.arrayContaining(all))
  },
)

test("who has left is told nothing, and soon not looked for", async () => {
  const { device, conversation } = await group()
  const stream = await listen(device, [[conversation, conversation.headSeq]])
  await isHeard(conversation, device)
  stream.leave()
  const own = objects.env.DEVICES.getByName(device.id)
  await until(async () => (await own.hear?.([])) === false)
  await append(conversation, device)
  await until(async () => JSON.stringify(await listenersOf(conversation)) === "[]")
})

test("a conversation that is none gets no table from being listened to", async () => {
  const { device } = await group()
  const none = { id: freshId("cnv") } as unknown as Conversation
  await listen(device, [[none, 0n]])
  await soon()
  expect(await objects.env.CONVERSATIONS.getByName(none.id).blank?.()).toBe(true)
})

test("who is in none of it hears nothing of a conversation, whatever its Worker asks", async () => {
  const { conversation, device } = await group()
  const stranger = (await group()).device
  const stream = await listen(stranger, [[conversation, 0n]])
  await until(() => stream.hints.length > 0)
  await append(conversation, device)
  await soon()
  expect(new Set(stream.hints.map(({ is }) => is))).toEqual(new Set(["member"]))
  // Not even in the name of who is.
  const hints = await objects.env.CONVERSATIONS.getByName(conversation.id).listen({
    deviceId: device.id,
    user: userName(stranger.userId, place),
    seq: 0n,
    sinceMs: 0,
  })
  expect(hints).toEqual([{ is: "member", deviceId: device.id, conversationId: conversation.id }])
  expect(await listenersOf(conversation)).toEqual([])
})

test("who was removed is told no more, once its stream asks again", async () => {
  const { device, conversation } = await group()
  const stream = await listen(device, [[conversation, conversation.headSeq]])
  await isHeard(conversation, device)
  await objects.env.CONVERSATIONS.getByName(conversation.id)
    .crash?.()
    .catch(() => undefined)
  await objects.env.CONVERSATIONS.getByName(conversation.id).rowsOf("update leaf set to_seq = 2, user_id = 'prn_x'")
  await until(() => stream.hints.length > 0)
  await until(async () => JSON.stringify(await listenersOf(conversation)) === "[]")
  expect(stream.hints[0]).toEqual({ is: "member", deviceId: device.id, conversationId: conversation.id })
})

test("streams of a device are counted by its object, wherever they end", async () => {
  const { device } = await group()
  const own = objects.env.DEVICES.getByName(device.id)
  const streams = [await listen(device, []), await listen(device, []), await listen(device, [])]
  await until(async () => (await own.sockets?.()) === 3)
  // Admitted, and its socket is still to come.
  expect(await own.admitStream?.(4)).toBe(true)
  expect(await own.admitStream?.(4)).toBe(false)
  const fourth = await listen(device, [])
  await until(async () => (await own.sockets?.()) === 4)
  expect(await own.admitStream?.(4)).toBe(false)
  fourth.leave()
  await until(async () => (await own.admitStream?.(4)) === true)
  for (const { leave } of streams) leave()
})
