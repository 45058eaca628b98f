// Streams on the real runtime: hints reach subscribers, and lost ones are found.
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

/** Subscribes to one's own device, a user, and conversations from known sequence numbers. */
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

/** Publishes one more hint to the stream's device: what was sent before it has arrived when it does. */
async function allBefore(
  stream: { readonly hints: readonly Hint[] },
  { id }: MessagingDevice,
): Promise<readonly Hint[]> {
  await publish([{ is: "keyPackageLow", deviceId: id }])
  await until(() => stream.hints.at(-1)?.is === "keyPackageLow")
  return stream.hints.slice(0, -1)
}

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

/** Resolves when the conversation's object has the device's subscription. */
const isHeard = (conversation: Conversation, { id }: MessagingDevice) =>
  until(async () => JSON.stringify(await listenersOf(conversation)).includes(id))

test("a published hint reaches each subscriber once, and nobody else", async () => {
  const [one, other] = [await group(), await group()]
  const stream = await listen(one.device, [[one.conversation, one.conversation.headSeq]])
  const elsewhere = await listen(other.device, [[other.conversation, other.conversation.headSeq]])
  await isHeard(one.conversation, one.device)
  const headSeq = await append(one.conversation, one.device)
  const hint: Hint = { is: "envelopes", conversationId: one.conversation.id, headSeq }
  await until(() => stream.hints.length > 0)
  await objects.env.CONVERSATIONS.getByName(one.conversation.id).sendHints?.([hint])
  await publish([hint, { is: "keyPackageLow", deviceId: one.device.id }])
  await until(() => stream.hints.length > 1)
  expect(stream.hints).toEqual([hint, { is: "keyPackageLow", deviceId: one.device.id }])
  expect(elsewhere.hints).toEqual([])
})

test("a lost hint is found when a subscription is renewed", async () => {
  const { device, conversation } = await group()
  await append(conversation, device)
  const stream = await listen(device, [[conversation, conversation.headSeq]])
  await until(() => stream.hints.length === 1)
  await objects.env.CONVERSATIONS.getByName(conversation.id).rowsOf("delete from listener")
  const headSeq = await append(conversation, device)
  const issued: Directive = { ...directive, issuedAtMs: Date.now() }
  const done = await store.conversations.decideDirective(
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
  expect(await allBefore(stream, device)).toHaveLength(3)
})

test("the user's object reports a device list, also to other users' devices", async () => {
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
  "an object of %s that loses its memory reports again",
  async (kind) => {
    const { device, conversation } = await group()
    const stream = await listen(device, [[conversation, conversation.headSeq]])
    await isHeard(conversation, device)
    const gone = objects.env[kind].getByName(kind === "DEVICES" ? device.id : conversation.id)
    await gone.crash?.().catch(() => undefined)
    const headSeq = await append(conversation, device)
    const hint: Hint = { is: "envelopes", conversationId: conversation.id, headSeq }
    // The device's object reports the lost sockets, and hints from meanwhile are found.
    const all: Hint[] = kind === "DEVICES" ? [{ is: "member", deviceId: device.id }, hint] : [hint]
    await until(() => stream.hints.length >= all.length)
    expect(stream.hints).toEqual(expect.arrayContaining(all))
  },
)

test("a closed stream gets no hints, and its subscription expires soon", async () => {
  const { device, conversation } = await group()
  const stream = await listen(device, [[conversation, conversation.headSeq]])
  await isHeard(conversation, device)
  stream.leave()
  const own = objects.env.DEVICES.getByName(device.id)
  await until(async () => (await own.hear?.([])) === false)
  await append(conversation, device)
  await until(async () => JSON.stringify(await listenersOf(conversation)) === "[]")
})

test("a subscription to an unknown conversation creates no table", async () => {
  const { device, conversation } = await group()
  const none = { id: freshId("cnv") } as unknown as Conversation
  await listen(device, [
    [none, 0n],
    [conversation, 0n],
  ])
  // Both are asked at once.
  await isHeard(conversation, device)
  expect(await objects.env.CONVERSATIONS.getByName(none.id).blank?.()).toBe(true)
})

test("a non-member gets no hints of a conversation, whatever its Worker requests", async () => {
  const { conversation, device } = await group()
  const stranger = (await group()).device
  const stream = await listen(stranger, [[conversation, 0n]])
  await until(() => stream.hints.length > 0)
  await append(conversation, device)
  expect(new Set((await allBefore(stream, stranger)).map(({ is }) => is))).toEqual(new Set(["member"]))
  // Not even in the name of a member's device.
  const hints = await objects.env.CONVERSATIONS.getByName(conversation.id).listen({
    deviceId: device.id,
    user: userName(stranger.userId, place),
    seq: 0n,
    sinceMs: 0,
  })
  expect(hints).toEqual([{ is: "member", deviceId: device.id, conversationId: conversation.id }])
  expect(await listenersOf(conversation)).toEqual([])
})

test("a removed device gets no more hints after its stream's next renewal", async () => {
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

test("a device's object counts its streams over all isolates", async () => {
  const { device } = await group()
  const own = objects.env.DEVICES.getByName(device.id)
  const streams = [await listen(device, []), await listen(device, []), await listen(device, [])]
  await until(async () => (await own.sockets?.()) === 3)
  // Admitted, but its socket is not open yet.
  expect(await own.admitStream?.(4)).toBe(true)
  expect(await own.admitStream?.(4)).toBe(false)
  const fourth = await listen(device, [])
  await until(async () => (await own.sockets?.()) === 4)
  expect(await own.admitStream?.(4)).toBe(false)
  fourth.leave()
  await until(async () => (await own.admitStream?.(4)) === true)
  for (const { leave } of streams) leave()
})
