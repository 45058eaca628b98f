// A service that gives false answers: another conversation, an invalid change, a log without a message that it had
// accepted. Messages reach only their intended recipients, and a reported success is true.
import { randomBytes } from "node:crypto"
import { create } from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import type { CreateAttachmentResponse } from "@signet/proto/messaging/v1/attachment_service"
import {
  type AuthorizeMembershipResponse,
  type CreateConversationResponse,
  SubscribeResponse_DirectiveIssuedSchema as DirectiveIssuedSchema,
  SubscribeResponse_EnvelopeAvailableSchema as EnvelopeAvailableSchema,
  type ListConversationsResponse,
  type ListMessagesResponse,
  SubscribeResponse_WelcomeAvailableSchema as WelcomeAvailableSchema,
} from "@signet/proto/messaging/v1/conversation_service"
import type { RegisterDeviceResponse } from "@signet/proto/messaging/v1/device_service"
import {
  GetInventoryResponseSchema,
  UploadKeyPackagesResponseSchema,
} from "@signet/proto/messaging/v1/key_package_service"
import {
  type Attachment,
  type Conversation,
  Conversation_Status,
  ConversationKind,
  EnvelopeSchema,
} from "@signet/proto/messaging/v1/records"
import type { ListWelcomesResponse } from "@signet/proto/messaging/v1/welcome_service"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import type { Context } from "../../clients/core/messaging/context.ts"
import { addDevicesOf } from "../../clients/core/messaging/device/own-devices.ts"
import { idOf } from "../../clients/core/messaging/ids.ts"
import { refillKeyPackages } from "../../clients/core/messaging/joining/key-packages.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { follow } from "../../clients/core/messaging/sync/stream.ts"
import { isLong, sample } from "../support/effort.ts"
import { type LyingTransport, lyingTransport } from "../support/messaging/lying-transport.ts"
import {
  type Messengers,
  messengersOn,
  type OpenedMessenger,
  systemClock,
  textsIn,
} from "../support/messaging/messengers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let messengers: Messengers
let transport: LyingTransport
let isSwallowing = false
let ann: OpenedMessenger
let ben: OpenedMessenger
let mallory: OpenedMessenger
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server)
  transport = lyingTransport(swallowing(messengers.transport))
  ann = await messengers.newcomer("ann", { transport })
  ben = await messengers.newcomer("ben")
  mallory = await messengers.newcomer("mallory")
})
beforeEach(() => {
  transport.bend = undefined
  isSwallowing = false
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

/** Answers that an append was accepted, without storing it. */
function swallowing(transport: Transport): Transport {
  return {
    ...transport,
    async unary(method, ...rest) {
      if (!isSwallowing || method.name !== "AppendMessage") return transport.unary(method, ...rest)
      const message = Object.assign(create(method.output), { seq: 999n })
      return { stream: false, service: method.parent, method, header: new Headers(), trailer: new Headers(), message }
    },
  }
}

const secret = new TextEncoder().encode("for Ben alone")

/** Returns the conversation as the service shows it to Mallory. */
async function shown(id: string): Promise<Conversation> {
  const [options, primitives] = messengers.optionsFor(mallory.person, mallory)
  const { context } = await openContext(options, primitives)
  const { conversations } = await context.calls.conversations.listConversations({})
  const found = conversations.find((one) => one.id === id)
  if (found === undefined) throw new Error("no such conversation")
  return found
}

const answering = (conversation: Conversation) => ({
  method: "CreateConversation",
  answer: (truth: object) =>
    Object.assign(truth as CreateConversationResponse, { conversation, authorization: undefined }),
})

test.runIf(isLong)(
  "a direct conversation is never replaced by one with another user: before the device has joined it",
  async () => {
    const { id } = await mallory.messenger.createDirectConversation(ann.person.userId)
    const userIds = [ann.person.userId, ben.person.userId]
    transport.bend = answering({ ...(await shown(id)), userIds })
    const failures: unknown[] = []
    const stop = ann.messenger.subscribe((event) => event.is === "failed" && failures.push(event.error))
    const made = await ann.messenger.createDirectConversation(ben.person.userId)
    stop()
    expect(made).toMatchObject({ status: "waiting", memberUserIds: [] })
    expect(failures).toContainEqual(expect.objectContaining({ reason: "WELCOME_REFUSED", message: "THIRD_USER" }))
    // Stored for the user whom it was written to, and for nobody else.
    expect((await ann.messenger.send(id, secret)).state).toBe("queued")
    await ann.messenger.sync()
    await mallory.messenger.sync()
    expect(await textsIn(mallory, id)).toEqual([])
    expect(await ann.messenger.outbox(id)).toMatchObject([{ plaintext: secret, state: "queued" }])
  },
)

test("a direct conversation is never replaced by one with another user: after the device has joined it", async () => {
  const eve = await messengers.newcomer("eve", { transport })
  const { id } = await mallory.messenger.createDirectConversation(eve.person.userId)
  await eve.messenger.sync()
  transport.bend = answering({ ...(await shown(id)), userIds: [eve.person.userId, ben.person.userId] })
  const making = eve.messenger.createDirectConversation(ben.person.userId)
  await expect(making).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
})

test.runIf(isLong)("a group of the same two users is not accepted as their direct conversation", async () => {
  const { id } = await mallory.messenger.createGroupConversation([ann.person.userId])
  await ann.messenger.sync()
  const userIds = [ann.person.userId, mallory.person.userId]
  transport.bend = answering({ ...(await shown(id)), kind: ConversationKind.DIRECT, userIds })
  const making = ann.messenger.createDirectConversation(mallory.person.userId)
  await expect(making).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
  expect(await ann.messenger.conversation(id)).toMatchObject({ isDirect: false })
})

test.each([
  ["is here already", true],
  ["somebody else has begun", false],
])("a new group is never one that %s", async (_, isHere) => {
  const { id } = await mallory.messenger.createGroupConversation([ann.person.userId])
  if (isHere) await ann.messenger.sync()
  transport.bend = answering(await shown(id))
  const making = ann.messenger.createGroupConversation([ben.person.userId])
  await expect(making).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
})

const refusal = (reason: string) =>
  new ConnectError("refused", Code.FailedPrecondition, undefined, [
    { desc: ErrorInfoSchema, value: { reason, domain: "signet" } },
  ])

test.each(
  sample<[string, (answer: AuthorizeMembershipResponse) => void]>(1, [
    ["that there is nothing to do", () => Promise.reject(refusal("NOTHING_TO_DO"))],
    ["nothing", (answer) => Object.assign(answer, { authorization: undefined })],
    [
      "that nobody is to be removed",
      ({ authorization }) => Object.assign(authorization ?? {}, { removedDeviceIds: [] }),
    ],
  ]),
)("a removal that is answered by %s is not said to be done", async (_, answer) => {
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  transport.bend = { method: "AuthorizeMembership", answer: (truth) => answer(truth as AuthorizeMembershipResponse) }
  const removing = ann.messenger.removeMembers(id, [ben.person.userId])
  await expect(removing).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
  transport.bend = undefined
  expect((await ann.messenger.conversation(id))?.memberUserIds).toContain(ben.person.userId)
  await ann.messenger.removeMembers(id, [ben.person.userId])
  expect((await ann.messenger.conversation(id))?.memberUserIds).toEqual([ann.person.userId])
})

test.runIf(isLong)("a message that the service accepted but its log lacks stays queued", async () => {
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  isSwallowing = true
  await expect(ann.messenger.send(id, secret)).rejects.toMatchObject({ reason: "QUEUED" })
  const removing = ann.messenger.removeMembers(id, [ben.person.userId])
  await expect(removing).rejects.toMatchObject({ reason: "QUEUED" })
  await ann.messenger.sync()
  expect(await ann.messenger.timeline(id)).toHaveLength(1)
  isSwallowing = false
  await ann.messenger.sync()
  expect((await ann.messenger.timeline(id)).map(({ is }) => is)).toEqual(["membership", "membership", "message"])
})

const noIds = [
  "",
  "cnv_",
  "dev_01kdvdna00edmtevk5ehj6axhg",
  "cnv_zzzzzzzzzzzzzzzzzzzzzzzzzz",
  "../../state",
  "cnv_01KDVDNA00EDMTEVK5EHJ6AXHG",
]

test.each(sample(2, noIds))("a conversation with the id %j is refused, and nothing of it is stored", async (id) => {
  const { id: real } = await ann.messenger.createGroupConversation([ben.person.userId])
  transport.bend = {
    method: "CreateConversation",
    answer: (truth) => Object.assign((truth as CreateConversationResponse).conversation ?? {}, { id }),
  }
  const making = ann.messenger.createGroupConversation([ben.person.userId])
  await expect(making).rejects.toMatchObject({ name: "MessagingError", reason: "ANSWER_REFUSED" })
  transport.bend = {
    method: "ListConversations",
    answer: (truth) => {
      for (const one of (truth as ListConversationsResponse).conversations) if (one.id !== real) one.id = id
    },
  }
  await ann.messenger.sync()
  expect((await ann.messenger.conversation(real))?.status).toBe("active")
  expect(await ann.store.spaces()).not.toContain(id)
})

test.each(sample(2, noIds.slice(0, 2)))(
  "a welcome to a conversation with the id %j is refused, and does not block others",
  async (conversationId) => {
    const eve = await messengers.newcomer("eve is welcomed", { transport })
    const { id: lost } = await ben.messenger.createGroupConversation([eve.person.userId])
    const { id: kept } = await ben.messenger.createGroupConversation([eve.person.userId])
    const failures: unknown[] = []
    eve.messenger.subscribe((event) => event.is === "failed" && failures.push(event.error))
    transport.bend = {
      method: "ListWelcomes",
      answer: (truth) => {
        const { welcomes } = truth as ListWelcomesResponse
        for (const one of welcomes) if (one.conversationId === lost) one.conversationId = conversationId
      },
    }
    await eve.messenger.sync()
    expect(failures).toEqual([expect.objectContaining({ name: "MessagingError", reason: "ANSWER_REFUSED" })])
    expect((await eve.messenger.conversations()).map(({ id }) => id)).toEqual([kept])
  },
)

test("a malformed device id is refused", async () => {
  transport.bend = {
    method: "RegisterDevice",
    answer: (truth) => Object.assign((truth as RegisterDeviceResponse).device ?? {}, { id: "dev_none" }),
  }
  const opening = messengers.newcomer("nobody", { transport })
  await expect(opening).rejects.toMatchObject({ name: "MessagingError", reason: "ANSWER_REFUSED" })
})

test.runIf(isLong)("hints about unknown conversations are ignored, and malformed ones are refused", async () => {
  const fay = await messengers.newcomer("fay")
  const { id } = await ben.messenger.createGroupConversation([fay.person.userId])
  await fay.messenger.sync()
  await ben.messenger.send(id, secret)
  const { context } = await openContext(...messengers.optionsFor(fay.person, fay))
  const opened = new Set<string>()
  const watched = {
    ...context,
    conversation(name: string) {
      opened.add(name)
      return context.conversation(name)
    },
  }
  const hint = (conversationId: string) => [
    { case: "envelopeAvailable" as const, value: create(EnvelopeAvailableSchema, { conversationId, headSeq: 9n }) },
    { case: "directiveIssued" as const, value: create(DirectiveIssuedSchema, { conversationId }) },
  ]
  for (let i = 0; i < 500; i++) for (const event of hint(idOf("cnv", randomBytes(16)))) await follow(watched, event)
  await follow(watched, {
    case: "welcomeAvailable",
    value: create(WelcomeAvailableSchema, { conversationId: idOf("cnv", randomBytes(16)) }),
  })
  expect(opened.size).toBe(0)
  for (const event of noIds.flatMap(hint)) {
    await expect(follow(watched, event)).rejects.toMatchObject({ name: "MessagingError", reason: "ANSWER_REFUSED" })
  }
  for (const event of hint(id)) await follow(watched, event)
  expect([...opened]).toEqual([id])
  expect((await fay.messenger.timeline(id)).at(-1)).toMatchObject({ plaintext: secret })
})

test("an envelope of an unknown conversation is refused", async () => {
  const conversationId = idOf("cnv", randomBytes(16))
  const envelope = create(EnvelopeSchema, { seq: 1n })
  const incoming = ann.messenger.processIncoming({ conversationId, envelope })
  await expect(incoming).rejects.toMatchObject({ reason: "CONVERSATION_UNKNOWN" })
})

test.runIf(isLong)("a report of the service alone does not close a conversation with other members", async () => {
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  transport.bend = {
    method: "ListConversations",
    answer: (truth) => {
      for (const one of (truth as ListConversationsResponse).conversations) one.status = Conversation_Status.CLOSED
    },
  }
  await ann.messenger.sync()
  expect((await ann.messenger.conversation(id))?.status).toBe("active")
})

test.runIf(isLong)("a device that is thousands of commits behind stops reading and rejoins", async () => {
  const { id } = await ben.messenger.createGroupConversation([ann.person.userId])
  await ann.messenger.sync()
  transport.bend = {
    method: "ListConversations",
    answer(truth) {
      for (const one of (truth as ListConversationsResponse).conversations) if (one.id === id) one.epoch += 5_001n
    },
  }
  await ann.messenger.sync()
  expect((await ann.messenger.conversation(id))?.status).toBe("waiting")
  transport.bend = undefined
  await ben.messenger.sync()
  await ann.messenger.sync()
  expect((await ann.messenger.conversation(id))?.status).toBe("active")
})

test.runIf(isLong)("a user's new device is added by another member if none of the user's devices does it", async () => {
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  const second = await messengers.open(await ben.person.again())
  await second.messenger.sync()
  const clock = { ...systemClock, after: (_: number, run: () => void) => systemClock.after(0, run) }
  const [options, primitives] = messengers.optionsFor(ann.person, { store: ann.store, box: ann.box, clock })
  const { context } = await openContext(options, primitives)
  await addDevicesOf(context, ben.person.userId)
  await second.messenger.sync()
  expect((await second.messenger.conversation(id))?.status).toBe("active")
})

test.each(
  sample<[string, (attachment: Attachment) => object]>(3, [
    ["ever so many parts", ({ size }) => ({ partSize: 1, partCount: Number(size), missingParts: [] })],
    ["one part of everything", ({ size }) => ({ partSize: 2 ** 31, partCount: Math.ceil(Number(size) / 2 ** 31) })],
    ["a part twice", () => ({ missingParts: [0, 0] })],
    ["a part beyond the end", () => ({ missingParts: [7] })],
    ["a part after the last", ({ partCount }) => ({ missingParts: [partCount] })],
    ["fewer parts than it has", () => ({ partCount: 0, missingParts: [] })],
    ["more parts than it has", ({ partCount }) => ({ partCount: partCount + 1 })],
    ["parts of another size", ({ size }) => ({ size: size + 1n })],
  ]),
)("an upload that is to be in %s is refused", async (_, change) => {
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  transport.bend = {
    method: "CreateAttachment",
    answer(truth) {
      const { attachment } = truth as CreateAttachmentResponse
      if (attachment !== undefined) Object.assign(attachment, change(attachment))
    },
  }
  const sending = ann.messenger.sendAttachment(id, new Blob([new Uint8Array(300)]))
  await expect(sending).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
})

test("a service that claims that every key package is used up does not cause endless uploads", async () => {
  const kit = await messengers.newcomer("kit")
  const { context } = await openContext(...messengers.optionsFor(kit.person, kit))
  const inventory = { available: 0, isLow: true, hasLastResort: false }
  const losing: Context = {
    ...context,
    keyPackageTarget: 3,
    calls: {
      ...context.calls,
      keyPackages: {
        ...context.calls.keyPackages,
        getInventory: async () => create(GetInventoryResponseSchema, { inventory }),
        uploadKeyPackages: async () => create(UploadKeyPackagesResponseSchema),
      },
    },
  }
  for (let i = 0; i < 40; i++) await refillKeyPackages(losing)
  expect((await kit.store.list("device", "keyPackage")).length).toBeLessThanOrEqual(61)
})

test.runIf(isLong)("a message with an invalid time is read", async () => {
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  await ben.messenger.sync()
  for (const seconds of [2n ** 63n - 1n, -(2n ** 40n)]) {
    await ben.messenger.send(id, secret)
    transport.bend = {
      method: "ListMessages",
      answer: (truth) => {
        for (const one of (truth as ListMessagesResponse).envelopes) Object.assign(one.acceptedAt ?? {}, { seconds })
      },
    }
    await ann.messenger.sync()
    expect((await ann.messenger.timeline(id)).at(-1)).toMatchObject({ plaintext: secret, atMs: 0 })
  }
})
