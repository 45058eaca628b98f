// A messenger with envelopes that arrive out of order, late or never, and with used keys.
import { create } from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { utf8 } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import type { UploadKeyPackagesResponse } from "@signet/proto/messaging/v1/key_package_service"
import { type Envelope, Envelope_Kind, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { createMessengerWith } from "../../clients/core/messaging/create-messenger.ts"
import { uncheckedEngine } from "../../clients/core/messaging/mls.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { renewCredential } from "../../clients/core/messaging/sync/sync.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { callsOver } from "../support/messaging/calls.ts"
import { lyingTransport } from "../support/messaging/lying-transport.ts"
import { type Messengers, messengersOn, type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let messengers: Messengers
let ann: OpenedMessenger
let ben: OpenedMessenger
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server)
  ann = await messengers.newcomer("ann")
  ben = await messengers.newcomer("ben")
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

async function group(): Promise<string> {
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  await ben.messenger.sync()
  return id
}

test.runIf(isLong)("envelopes arrive in any order, twice, and across epochs: they are read in log order", async () => {
  const id = await group()
  const texts: string[] = []
  for (let epoch = 0; epoch < 5; epoch++) {
    for (const text of [`a${epoch}`, `b${epoch}`]) {
      texts.push(text)
      await ann.messenger.send(id, utf8(text))
    }
    await ann.messenger.refreshKeys(id)
  }
  const log = await logOf(id)
  // Without a network: missing envelopes cannot be fetched.
  const offline = await messengers.open(ben.person, { ...ben, transport: cutOff() })
  const { processedSeq = 0n } = (await offline.messenger.conversation(id)) ?? {}
  const missing = log.filter(({ seq }) => seq > processedSeq)
  const shuffled = [...missing.toReversed(), ...missing]
  const outcomes = new Set<string>()
  for (const envelope of shuffled) {
    outcomes.add((await offline.messenger.processIncoming({ conversationId: id, envelope })).is)
  }
  expect([...outcomes].sort()).toEqual(["processed", "queued", "replay"])
  expect(await textsIn(offline, id)).toEqual(texts)
})

test.runIf(isLong)("a refusal to list the log reaches the caller of an envelope after a gap", async () => {
  const id = await group()
  for (const text of ["one", "two"]) await ann.messenger.send(id, utf8(text))
  const envelope = (await logOf(id)).at(-1) ?? expect.fail("no message")
  const transport: Transport = {
    ...messengers.transport,
    async unary(method, ...call) {
      if (method.name !== "ListMessages") return messengers.transport.unary(method, ...call)
      throw new ConnectError("refused", Code.FailedPrecondition, undefined, [
        { desc: ErrorInfoSchema, value: { reason: "LOG_INCOMPLETE", domain: "signet" } },
      ])
    },
  }
  const { messenger } = await messengers.open(ben.person, { ...ben, transport })
  const incoming = messenger.processIncoming({ conversationId: id, envelope })
  await expect(incoming).rejects.toMatchObject({ name: "ConnectError", code: Code.FailedPrecondition })
  await ben.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["one", "two"])
})

test("an envelope that is not in the log changes nothing", async () => {
  const id = await group()
  await ann.messenger.send(id, utf8("true"))
  const [, envelope] = await logOf(id)
  if (envelope === undefined) throw new Error("no message")
  const offline = await messengers.open(ben.person, { ...ben, transport: cutOff() })
  const before = await offline.messenger.conversation(id)
  const bent = (change: Partial<typeof envelope>) =>
    offline.messenger.processIncoming({ conversationId: id, envelope: { ...envelope, ...change } })
  const message = envelope.message.slice()
  message[message.length - 1] = 255 - (message.at(-1) ?? 0)
  await expect(bent({ message })).rejects.toMatchObject({ reason: "ENVELOPE_INVALID" })
  await expect(bent({ message: new Uint8Array(9) })).rejects.toMatchObject({ reason: "ENVELOPE_INVALID" })
  const contentHash = hash("content", message)
  await expect(bent({ message, contentHash })).rejects.toMatchObject({ reason: "ENVELOPE_INVALID" })
  await expect(bent({ seq: 0n })).rejects.toMatchObject({ reason: "ENVELOPE_INVALID" })
  await expect(bent({ contentHash: new Uint8Array(32) })).rejects.toMatchObject({ reason: "ENVELOPE_INVALID" })
  expect(await offline.messenger.conversation(id)).toEqual(before)
  expect(await bent({})).toMatchObject({ is: "processed" })
})

test("an envelope that removes this device is processed, although no group remains", async () => {
  const id = await group()
  await ann.messenger.removeMembers(id, [ben.person.userId])
  const envelope = (await logOf(id)).at(-1) ?? expect.fail("no commit")
  const offline = await messengers.open(ben.person, { ...ben, transport: cutOff() })
  const incoming = await offline.messenger.processIncoming({ conversationId: id, envelope })
  expect(incoming).toMatchObject({
    is: "processed",
    entries: [{ is: "membership", removed: [{ userId: ben.person.userId }] }],
  })
  expect((await offline.messenger.conversation(id))?.status).toBe("removed")
})

test.runIf(isLong)(
  "an envelope that cannot belong to the conversation does not wait for its predecessors",
  async () => {
    const [id, other] = [await group(), await group()]
    await ann.messenger.send(id, utf8("ours"))
    await ann.messenger.send(other, utf8("theirs"))
    const offline = await messengers.open(ben.person, { ...ben, transport: cutOff() })
    const last = async (of: string) => (await logOf(of)).at(-1) ?? expect.fail("an empty log")
    const [ours, theirs] = [await last(id), await last(other)]
    const later = (envelope: Envelope) =>
      offline.messenger.processIncoming({ conversationId: id, envelope: { ...envelope, seq: 90n } })
    const { message } = ours
    const misplaced = [
      theirs,
      { ...ours, kind: Envelope_Kind.COMMIT, contentHash: hash("commit", message) },
      { ...ours, message: new Uint8Array(9), contentHash: hash("content", new Uint8Array(9)) },
    ]
    for (const envelope of misplaced) {
      await expect(later(envelope)).rejects.toMatchObject({ name: "MessagingError", reason: "ENVELOPE_INVALID" })
    }
    expect(await later(ours)).toEqual({ is: "queued" })
  },
)

test.runIf(isLong)("a commit that a caller brings does not end a creation that is under way", async () => {
  let isCut = true
  const { transport } = messengers
  const cutting: Transport = {
    ...transport,
    unary: (method, ...rest) =>
      isCut && method.name === "AppendMessage" ? cutOff().unary(method, ...rest) : transport.unary(method, ...rest),
  }
  const eve = await messengers.newcomer("eve", { transport: cutting })
  const creating = eve.messenger.createGroupConversation([ben.person.userId])
  await expect(creating).rejects.toMatchObject({ reason: "QUEUED" })
  const [{ id, status } = expect.fail("no conversation")] = await eve.messenger.conversations()
  expect(status).toBe("creating")
  const offline = await messengers.open(eve.person, { ...eve, transport: cutOff() })
  const { context } = await openContext(...messengers.optionsFor(eve.person, eve))
  const { staged } = await context.conversation(id).stored()
  const message = Uint8Array.from(staged?.commit ?? expect.fail("no commit"))
  message[message.length - 1] = 255 - (message.at(-1) ?? 0)
  const envelope = create(EnvelopeSchema, {
    ...{ seq: 1n, epoch: 0n, kind: Envelope_Kind.COMMIT, message, contentHash: hash("commit", message) },
    senderDeviceId: ben.messenger.deviceId,
  })
  const incoming = offline.messenger.processIncoming({ conversationId: id, envelope })
  await expect(incoming).rejects.toMatchObject({ reason: "ENVELOPE_INVALID" })
  expect((await offline.messenger.conversation(id))?.status).toBe("creating")
  isCut = false
  await eve.messenger.sync()
  expect((await eve.messenger.conversation(id))?.status).toBe("active")
})

test("a removed member applies no envelope, and has no verification code", async () => {
  const id = await group()
  await ann.messenger.send(id, utf8("before"))
  const [, envelope] = await logOf(id)
  if (envelope === undefined) throw new Error("no message")
  await ann.messenger.removeMembers(id, [ben.person.userId])
  await ben.messenger.sync()
  const incoming = ben.messenger.processIncoming({ conversationId: id, envelope })
  await expect(incoming).rejects.toMatchObject({ reason: "CONVERSATION_NOT_ACTIVE" })
  const code = ben.messenger.verification.groupCode(id)
  await expect(code).rejects.toMatchObject({ reason: "CONVERSATION_NOT_ACTIVE" })
})

test("without a network messages wait, in order, and are sent once when it returns", async () => {
  const id = await group()
  const offline = await messengers.open(ann.person, { ...ann, transport: cutOff() })
  for (const text of ["one", "two", "three"]) {
    await expect(offline.messenger.send(id, utf8(text))).rejects.toMatchObject({ reason: "QUEUED" })
  }
  await ben.messenger.refreshKeys(id)
  await ann.messenger.sync()
  await ann.messenger.sync()
  await ben.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["one", "two", "three"])
})

test.runIf(isLong)("the result of encryptMessage is sent before the next message", async () => {
  const id = await group()
  const envelope = await ann.messenger.encryptMessage(id, utf8("first"))
  expect(envelope.message.length).toBeGreaterThan(256)
  await ann.messenger.send(id, utf8("second"))
  await ben.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["first", "second"])
})

test.runIf(isLong)("a sync opens the states of conversations with news only", async () => {
  const gil = await messengers.newcomer("gil")
  const ids: string[] = []
  for (let i = 0; i < 4; i++) {
    ids.push((await ben.messenger.createGroupConversation([gil.person.userId])).id)
  }
  await gil.messenger.sync()
  const [options, primitives] = messengers.optionsFor(gil.person, gil)
  const opened: string[] = []
  const counting = {
    ...primitives,
    async openEngine(given: Parameters<typeof uncheckedEngine>[0]) {
      const engine = uncheckedEngine(given)
      const decodeState: typeof engine.decodeState = (...args) => {
        opened.push("one")
        return engine.decodeState(...args)
      }
      return { ...engine, decodeState }
    },
  }
  const again = await createMessengerWith(options, counting)
  const heard: string[] = []
  again.subscribe((event) => event.is === "entry" && heard.push(event.conversationId))
  await again.sync()
  expect(opened).toHaveLength(0)
  const [first = "", second = ""] = ids
  await ben.messenger.send(second, utf8("news"))
  await again.sync()
  expect([opened.length, heard]).toEqual([1, [second]])
  await again.send(first, utf8("an answer"))
  expect(opened).toHaveLength(2)
  // Messages that another process of the store applied are reported here too, even if this process never opened the
  // state.
  const third = ids[2] ?? ""
  await ben.messenger.send(third, utf8("for the other process"))
  await gil.messenger.sync()
  await again.sync()
  expect([opened.length, heard]).toEqual([2, [second, first, third]])
})

test.runIf(isLong)("a list of conversations opens no state, and equals the single conversations", async () => {
  const id = await group()
  await ben.messenger.send(id, utf8("one"))
  await ann.messenger.sync()
  const left = await group()
  await ann.messenger.removeMembers(left, [ben.person.userId])
  await ann.messenger.leave(left)
  const [options, primitives] = messengers.optionsFor(ann.person, ann)
  let opened = 0
  const openEngine = async (given: Parameters<typeof uncheckedEngine>[0]) => {
    const engine = uncheckedEngine(given)
    const decodeState: typeof engine.decodeState = (...args) => {
      opened++
      return engine.decodeState(...args)
    }
    return { ...engine, decodeState }
  }
  const again = await createMessengerWith(options, { ...primitives, openEngine })
  const listed = await again.conversations()
  expect(opened).toBe(0)
  expect(listed.find((one) => one.id === id)).toMatchObject({
    memberUserIds: expect.arrayContaining([ann.person.userId, ben.person.userId]),
    processedSeq: 2n,
  })
  for (const one of listed) expect(await again.conversation(one.id)).toEqual(one)
  // With the states open now.
  expect(await again.conversations()).toEqual(listed)
})

test.runIf(isLong)("a device that the log has left behind requests to rejoin", async () => {
  const id = await group()
  await ann.messenger.send(id, utf8("never read"))
  const { transport } = messengers
  let isPruned = true
  const pruned: Transport = {
    ...transport,
    async unary(...call) {
      if (isPruned && call[0].name === "ListMessages") throw refusal("LOG_PRUNED")
      return transport.unary(...call)
    },
  }
  const behind = await messengers.open(ben.person, { ...ben, transport: pruned })
  await behind.messenger.sync()
  expect((await behind.messenger.conversation(id))?.status).toBe("waiting")
  isPruned = false
  await ann.messenger.sync()
  await ann.messenger.send(id, utf8("read again"))
  await behind.messenger.sync()
  expect((await behind.messenger.conversation(id))?.status).toBe("active")
  expect((await behind.messenger.timeline(id)).map(({ is }) => is)).toEqual(["gap", "message"])
})

test.runIf(isLong)("key packages are created when few are left, and the secrets of used ones are deleted", async () => {
  const transport = lyingTransport(messengers.transport)
  const inventories: number[] = []
  transport.bend = {
    method: "UploadKeyPackages",
    answer: (truth) => inventories.push((truth as UploadKeyPackagesResponse).inventory?.available ?? 0),
  }
  const eve = await messengers.newcomer("eve", { transport })
  const made = async () => new Set((await eve.store.list("device", "keyPackage")).map(({ key }) => key))
  const first = await made()
  for (let i = 0; i < 3; i++) await ann.messenger.createGroupConversation([eve.person.userId])
  await eve.messenger.sync()
  await eve.messenger.sync()
  expect(inventories).toEqual([12, 12])
  const used = (await eve.store.list("device", "usedKeyPackage")).map(({ key }) => key)
  const now = await made()
  expect(used).toHaveLength(3)
  expect(used.filter((key) => first.has(key) && !now.has(key))).toEqual(used)
  // Twelve for single use, and the last resort.
  expect(now.size).toBe(13)
})

test.runIf(isLong)("a renewed credential has a new key, and is used in each conversation", async () => {
  const id = await group()
  const options = messengers.optionsFor(ann.person, { store: ann.store, box: ann.box })
  const { context } = await openContext(...options)
  const before = context.device.credentialHash()
  await renewCredential(context)
  expect(context.device.credentialHash()).not.toEqual(before)
  const again = await messengers.open(ann.person, ann)
  await again.messenger.refreshKeys(id)
  await again.messenger.send(id, utf8("with the new key"))
  await ben.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["with the new key"])
  expect((await ben.messenger.conversation(id))?.status).toBe("active")
  ann = again
})

function refusal(reason: string): ConnectError {
  const value = { reason, domain: "signet" }
  return new ConnectError("refused", Code.FailedPrecondition, undefined, [{ desc: ErrorInfoSchema, value }])
}

/** All envelopes of the conversation. */
async function logOf(conversationId: string): Promise<Envelope[]> {
  const calls = callsOver(messengers.transport, { token: await ben.person.refresh(), device: undefined })
  return (await calls.conversations.listMessages({ conversationId, afterSeq: 0n, limit: 200 })).envelopes
}

/** A transport on which each call fails. */
function cutOff(): Transport {
  return { ...messengers.transport, unary: async () => Promise.reject(new TypeError("fetch failed")) }
}
