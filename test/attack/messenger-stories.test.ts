// A hostile service shows one device another commit than the others, and signs a receipt for each. The device with the
// false commit detects it, keeps its messages, and a member lets it rejoin. A refusal alone never makes a device
// rejoin.
import { create, fromBinary } from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { hash } from "@signet/canonical/hash"
import type { ConversationId } from "@signet/kernel/ids"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import {
  type GetConversationResponse,
  type ListConversationsResponse,
  type ListMessagesResponse,
  ReportForkRequest_Fault,
} from "@signet/proto/messaging/v1/conversation_service"
import { type Envelope, Envelope_Kind, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import type { MessengerEvent } from "../../clients/core/messaging/events.ts"
import { type StagedCommit, stateTag } from "../../clients/core/messaging/mls.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { isLong } from "../support/effort.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { engine } from "../support/messaging/device-parts.ts"
import { type LyingTransport, lyingTransport } from "../support/messaging/lying-transport.ts"
import { type Messengers, messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"
import { aadOf, type Room } from "../support/messaging/room.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let messengers: Messengers
let mallory: TestDevice
let ann: OpenedMessenger
let transport: LyingTransport
/** The refusal of every append, as if the service had another receipt or no longer knew the leaf's key. */
let refusal: readonly [reason: string, code: string] | undefined
/** The end of a conversation's log as these methods show it to Ann; undefined for the real one. */
let shown: { of: string; headSeq: bigint; methods: readonly string[]; log: readonly Envelope[] } | undefined
/** The refusal of every resubmission. */
let refusedReturn: readonly [reason: string, code: Code] | undefined
/** The conversations in which Ann has asked to rejoin. */
let rejoins: string[]
const otherReceipt = ["ENVELOPE_INVALID", "AAD_WRONG_RECEIPT"] as const
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server)
  mallory = await newDevice(messengers.transport, await server.person("mallory"))
  await mallory.register()
  await mallory.upload(2)
  transport = lyingTransport(refusing(shortening(messengers.transport)))
  ann = await messengers.newcomer("ann", { transport })
})
beforeEach(() => {
  transport.lie = undefined
  transport.bend = undefined
  refusal = undefined
  shown = undefined
  refusedReturn = undefined
  rejoins = []
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

function refusing(transport: Transport): Transport {
  return {
    ...transport,
    unary(method, ...rest) {
      if (refusal === undefined || method.name !== "AppendMessage") return transport.unary(method, ...rest)
      const [reason, code] = refusal
      return Promise.reject(refusedFor(reason, Code.InvalidArgument, { code }))
    },
  }
}

const refusedFor = (reason: string, code: Code, metadata: Record<string, string> = {}): ConnectError =>
  new ConnectError("refused", code, undefined, [
    { desc: ErrorInfoSchema, value: { reason, domain: "signet", metadata } },
  ])

function shortening(transport: Transport): Transport {
  return {
    ...transport,
    async unary(method, signal, timeoutMs, header, input, values) {
      if (method.name === "RequestRejoin" && "conversationId" in input) rejoins.push(String(input.conversationId))
      if (method.name === "ResubmitMessages" && refusedReturn !== undefined) throw refusedFor(...refusedReturn)
      const answer = await transport.unary(method, signal, timeoutMs, header, input, values)
      if (!shown?.methods.includes(method.name)) return answer
      const { of, headSeq, log } = shown
      const { message } = answer
      if (method.name === "ResubmitMessages") Object.assign(message, { headSeq })
      if (method.name === "ListMessages") {
        if ("conversationId" in input && input.conversationId === of)
          Object.assign(message, { headSeq, envelopes: [...log] })
        return answer
      }
      const { conversation } = message as Partial<GetConversationResponse>
      if (conversation?.id === of) conversation.headSeq = headSeq
      return answer
    },
  }
}

/** Creates a group of Mallory's with Ann in it. */
async function meet(): Promise<Room> {
  const room = await mallory.createGroup([ann.person.userId])
  await ann.messenger.sync()
  return room
}

const update = (room: Room) => engine.update(room.state, { aad: aadOf(room, EnvelopeKind.COMMIT) })

/** Returns a commit that was never accepted, with a receipt that says it was. */
function told(room: Room, commit: StagedCommit): Envelope {
  const commitHash = hash("commit", commit.commit)
  const receipt = server.messaging.deps.signReceipt({
    conversationId: room.id as ConversationId,
    mlsGroupId: room.state.groupId,
    epoch: room.epoch,
    seq: room.seq + 1n,
    commitHash,
    proofHash: null,
    groupInfoHash: hash("group-info", commit.groupInfo),
    treeBlobHash: null,
    previousReceiptHash: typeof room.receipt === "object" ? room.receipt.hash : null,
    acceptedAtMs: Date.now(),
    resultingStateTag: stateTag(commit.next),
  })
  return create(EnvelopeSchema, {
    seq: room.seq + 1n,
    epoch: room.epoch,
    kind: Envelope_Kind.COMMIT,
    message: commit.commit,
    contentHash: commitHash,
    senderDeviceId: mallory.id,
    receipt: receipt.bytes,
  })
}

/** Ann processes a commit that only she sees. The log gets another one at its position. */
async function deceived(): Promise<{ readonly room: Room; readonly other: Envelope }> {
  const room = await meet()
  const other = told(room, await update(room))
  transport.lie = { of: room.id, log: [other] }
  await ann.messenger.sync()
  transport.lie = undefined
  await mallory.update(room)
  expect((await ann.messenger.conversation(room.id))?.processedSeq).toBe(other.seq)
  return { room, other }
}

/** Makes the service show Ann the receipt of her commit wherever it lists her conversations. */
function hidden(room: Room, { receipt }: Envelope): void {
  transport.bend = {
    method: "ListConversations",
    answer: (truth) => {
      for (const one of (truth as ListConversationsResponse).conversations) {
        if (one.id === room.id) one.receiptHead = hash("commit-receipt", receipt)
      }
    },
  }
}

const text = (plaintext: string) => new TextEncoder().encode(plaintext)

async function letIn(room: Room, { messenger } = ann): Promise<void> {
  const { directives } = await mallory.calls.conversations.listDirectives({ conversationId: room.id })
  const hers = directives.find(({ deviceId }) => deviceId === messenger.deviceId)
  for (let round = 0; round < 2; round++) await mallory.carryOut(room, hers?.id ?? "")
  await messenger.sync()
}

const statusOf = async (room: Room) => (await ann.messenger.conversation(room.id))?.status
const written = async (room: Room) =>
  (await ann.messenger.timeline(room.id)).flatMap((entry) =>
    entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : [],
  )

test.runIf(isLong)(
  "a device that processed another commit than the log has reports it with the evidence and asks to rejoin",
  async () => {
    const { room } = await deceived()
    const events: MessengerEvent[] = []
    const stop = ann.messenger.subscribe((event) => events.push(event))
    await ann.messenger.sync()
    stop()
    const { envelopes } = await mallory.calls.conversations.listMessages({ conversationId: room.id, afterSeq: 1n })
    const info = await ann.messenger.conversation(room.id)
    expect(info).toMatchObject({ status: "waiting", quarantine: { reason: "RECEIPT_TOLD_DIFFERS", seq: 2n } })
    const evidence = fromBinary(EnvelopeSchema, info?.quarantine?.evidence ?? new Uint8Array())
    expect([evidence.message, evidence.receipt]).toEqual([envelopes[0]?.message, envelopes[0]?.receipt])
    expect(events).toContainEqual({
      is: "status",
      conversationId: room.id,
      status: "quarantined",
      reason: "RECEIPT_TOLD_DIFFERS",
    })
    const report = { conversationId: room.id, epoch: 1n, seq: 2n, fault: ReportForkRequest_Fault.RECEIPT_INVALID }
    expect(transport.reports).toContainEqual(expect.objectContaining(report))
    await letIn(room)
    expect(await ann.messenger.conversation(room.id)).toMatchObject({ status: "active", quarantine: undefined })
  },
)

test.runIf(isLong)(
  "a message written before the detection is not lost: it is sent once, to the members at the time of the rejoin",
  async () => {
    const { room, other } = await deceived()
    hidden(room, other)
    await expect(ann.messenger.send(room.id, text("mine"))).rejects.toMatchObject({ reason: "QUEUED" })
    expect(await statusOf(room)).toBe("waiting")
    expect(await ann.messenger.send(room.id, text("more"))).toMatchObject({ state: "queued" })
    transport.bend = undefined
    await letIn(room)
    expect(await written(room)).toEqual(["mine", "more"])
    await mallory.sync(room)
    expect(room.read.map((one) => one.text)).toEqual(["mine", "more"])
  },
)

test.runIf(isLong)("a requested change detects it too, and is refused", async () => {
  const { room, other } = await deceived()
  hidden(room, other)
  const refreshing = ann.messenger.refreshKeys(room.id)
  await expect(refreshing).rejects.toMatchObject({ reason: "CONVERSATION_NOT_ACTIVE" })
  expect(await ann.messenger.conversation(room.id)).toMatchObject({ quarantine: { reason: "RECEIPT_TOLD_DIFFERS" } })
})

test.runIf(isLong)("a refusal alone causes no rejoin: if the log matches, messages wait and are sent", async () => {
  const room = await meet()
  // Earlier log entries: a commit of an earlier epoch, and a message in that epoch.
  await mallory.update(room)
  await mallory.send(room, "of the epoch before")
  await mallory.update(room)
  await ann.messenger.sync()
  const before = transport.reports.length
  refusal = otherReceipt
  const sending = ann.messenger.send(room.id, text("patience"))
  await expect(sending).rejects.toMatchObject({ reason: "QUEUED", cause: { name: "ConnectError" } })
  await ann.messenger.sync()
  expect(await ann.messenger.conversation(room.id)).toMatchObject({ status: "active", quarantine: undefined })
  expect(transport.reports).toHaveLength(before)
  const { directives } = await mallory.calls.conversations.listDirectives({ conversationId: room.id })
  expect(directives).toEqual([])
  refusal = undefined
  await ann.messenger.sync()
  expect(await written(room)).toEqual(["of the epoch before", "patience"])
})

test.runIf(isLong).each<[string, (other: Envelope) => Envelope[]]>([
  ["a receipt that nobody signed", (other) => [{ ...other, receipt: other.receipt.slice().fill(0, -64) }]],
  ["a commit that its receipt is not of", (other) => [{ ...other, message: other.message.slice().fill(1, -8) }]],
  ["no commit at all", () => []],
  ["the same of long before, page after page,", (other) => [{ ...other, seq: 1n, epoch: 0n }]],
])("a log that has %s instead of the processed commit causes no rejoin", async (_, lie) => {
  const room = await meet()
  await mallory.update(room)
  await ann.messenger.sync()
  const { envelopes } = await mallory.calls.conversations.listMessages({ conversationId: room.id, afterSeq: 1n })
  const [truth] = envelopes
  if (truth === undefined) throw new Error("the log has the commit")
  refusal = otherReceipt
  transport.bend = {
    method: "ListMessages",
    answer: (answer) => Object.assign(answer as ListMessagesResponse, { envelopes: lie(truth) }),
  }
  await expect(ann.messenger.send(room.id, text("still"))).rejects.toMatchObject({ reason: "QUEUED" })
  expect(await ann.messenger.conversation(room.id)).toMatchObject({ status: "active", quarantine: undefined })
  transport.bend = undefined
  refusal = undefined
  await ann.messenger.sync()
  expect(await written(room)).toEqual(["still"])
})

test.runIf(isLong)("a device that no member could add reports it, and still joins when a member adds it", async () => {
  const { room } = await deceived()
  await mallory.calls.conversations.requestRejoin({ conversationId: room.id })
  await ann.messenger.sync()
  expect(await statusOf(room)).toBe("stranded")
  await expect(ann.messenger.send(room.id, text("hello?"))).rejects.toMatchObject({ reason: "CONVERSATION_NOT_ACTIVE" })
  const { id } = await ann.messenger.createGroupConversation([mallory.userId])
  expect((await ann.messenger.conversation(id))?.status).toBe("active")
  await letIn(room)
  expect(await statusOf(room)).toBe("active")
})

test.runIf(isLong)("a device whose leaf key the service refuses rejoins if it has a newer credential", async () => {
  const eve = await messengers.newcomer("eve", { transport })
  const room = await mallory.createGroup([eve.person.userId])
  await eve.messenger.sync()
  refusal = ["MLS_MALFORMED", "MLS_BAD_SIGNATURE"]
  const refreshing = () => eve.messenger.refreshKeys(room.id)
  // With its newest credential, only the service's word speaks against the leaf's key.
  await expect(refreshing()).rejects.toThrow("refused")
  expect((await eve.messenger.conversation(room.id))?.status).toBe("active")
  const { context } = await openContext(...messengers.optionsFor(eve.person, { ...eve, transport }))
  await context.device.renew(context)
  await eve.messenger.sync()
  expect((await eve.messenger.conversation(room.id))?.status).toBe("waiting")
  refusal = undefined
  await letIn(room, eve)
  expect((await eve.messenger.conversation(room.id))?.status).toBe("active")
})

describe("a log that is shorter than the part that Ann has processed", () => {
  /** Ann has read two messages, and the service announces a third one. */
  async function announced(): Promise<{ readonly room: Room; readonly seq: bigint }> {
    const room = await meet()
    await mallory.send(room, "first")
    await mallory.send(room, "second")
    await ann.messenger.sync()
    expect(await written(room)).toEqual(["first", "second"])
    await mallory.send(room, "third")
    return { room, seq: (await ann.messenger.conversation(room.id))?.processedSeq ?? expect.fail("no conversation") }
  }

  test.runIf(isLong)(
    "makes her request to rejoin, and no envelope at a reused sequence number is applied",
    async () => {
      const { room, seq } = await announced()
      // Ann resubmits what she has read, and the service claims not to have it afterwards either.
      const methods = ["ListMessages", "GetConversation", "ResubmitMessages"]
      shown = { of: room.id, headSeq: seq - 1n, methods, log: [] }
      await ann.messenger.sync()
      const { directives } = await mallory.calls.conversations.listDirectives({ conversationId: room.id })
      expect([new Set(rejoins), directives.length]).toEqual([new Set([room.id]), 1])
      rejoins = []
      expect(await ann.messenger.conversation(room.id)).toMatchObject({ status: "waiting", processedSeq: seq })
      const { envelopes } = await mallory.calls.conversations.listMessages({ conversationId: room.id, afterSeq: seq })
      const log = envelopes.map((one) => ({ ...one, seq }))
      expect(log).toHaveLength(1)
      shown = { of: room.id, headSeq: seq, methods, log }
      await ann.messenger.sync()
      expect([rejoins, await written(room)]).toEqual([[], ["first", "second"]])
      expect(await ann.messenger.conversation(room.id)).toMatchObject({ status: "waiting", processedSeq: seq })
      shown = undefined
      await letIn(room)
      expect(await statusOf(room)).toBe("active")
    },
  )

  test.runIf(isLong).each<[string, Code, boolean]>([
    ["RATE_LIMITED", Code.ResourceExhausted, false],
    ["UNAVAILABLE", Code.Unavailable, false],
    ["SESSION_EXPIRED", Code.Unauthenticated, false],
    ["STALE_EPOCH", Code.Aborted, true],
    ["METHOD_UNKNOWN", Code.Unimplemented, true],
  ])("she resubmits again unless the refusal is final: %s", async (reason, code, isFinal) => {
    const { room, seq } = await announced()
    shown = { of: room.id, headSeq: seq - 1n, methods: ["ListMessages", "GetConversation"], log: [] }
    refusedReturn = [reason, code]
    await ann.messenger.sync()
    await ann.messenger.sync()
    expect([rejoins.length > 0, await statusOf(room)]).toEqual([isFinal, isFinal ? "waiting" : "active"])
  })

  test.runIf(isLong)("in a stale page alone changes nothing: she requests the conversation itself", async () => {
    const { room, seq } = await announced()
    shown = { of: room.id, headSeq: seq - 1n, methods: ["ListMessages"], log: [] }
    await ann.messenger.sync()
    expect([rejoins, await statusOf(room)]).toEqual([[], "active"])
    shown = undefined
    await ann.messenger.sync()
    expect([rejoins, await written(room)]).toEqual([[], ["first", "second", "third"]])
  })
})
