// Every method, entry, event and error crosses the messages of the client's service unchanged. The stories run over it,
// too: SIGNET_CORE=remote.
import { create, toBinary } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { CanonicalError } from "@signet/canonical/errors"
import { ClientEventSchema } from "@signet/proto/client/v1/messenger_service"
import { type Envelope, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { expect, test, vi } from "vitest"
import { files, inProcessCore } from "../../../../test/support/messaging/in-process-core.ts"
import { isSignetError, SignetError } from "../../errors.ts"
import { SecretBoxError } from "../../secret-box.ts"
import { isMessagingError, MessagingError } from "../errors.ts"
import type { MessengerEvent, TimelineEntry } from "../events.ts"
import type { ConversationInfo, Incoming, Messenger } from "../messenger.ts"
import type { UserVerification } from "../verification/verification.ts"
import { openRemoteMessenger } from "./remote-messenger.ts"

const bytes = (...values: number[]) => Uint8Array.from(values)
const ann = { userId: "prn_ann", deviceId: "dev_ann" }
const ben = { userId: "prn_ben", deviceId: "dev_ben" }

const entries: readonly TimelineEntry[] = [
  { seq: 1n, atMs: 5, is: "membership", committer: ann, added: [ben], removed: [] },
  { seq: 2n, atMs: 6, is: "message", from: ann, plaintext: bytes(1, 2), outboxId: "o-1" },
  { seq: 3n, atMs: 7, is: "message", from: ben, plaintext: bytes(), outboxId: undefined, isLate: true },
  {
    ...{ seq: 4n, atMs: 8, imported: { backupAtMs: 9 }, is: "attachment", from: ben, fileName: "a.txt" },
    ...{ mediaType: "text/plain", size: 2 ** 33, outboxId: undefined, isFromBlocked: true },
  },
  { seq: 5n, atMs: 9, is: "unreadable", reason: "NO_SECRET" },
  { seq: 6n, atMs: 9, is: "missing", from: ben, count: 3 },
  { seq: 7n, atMs: 9, is: "gap", afterSeq: 4n },
  { seq: 8n, atMs: 9, is: "reset", by: undefined },
  { seq: 9n, atMs: 9, is: "reset", by: ben },
  {
    ...{ seq: 2n ** 60n, atMs: 9, is: "newKeys" },
    devices: [
      { ...ben, what: "newDevice", wasVerified: true },
      { ...ann, what: "changedKey", wasVerified: false },
    ],
  },
]

const conversation: ConversationInfo = {
  ...{ id: "cnv_1", status: "quarantined", isDirect: true, waitsFor: undefined, asksConfirmation: true },
  ...{ memberUserIds: ["prn_ann", "prn_ben"], blockedUserIds: ["prn_ben"], processedSeq: 7n },
  quarantine: { reason: "PROOF_STALE", seq: 8n, evidence: bytes(9) },
}
const waiting: ConversationInfo = { ...conversation, status: "waiting", waitsFor: "welcome", quarantine: undefined }

const verified: UserVerification = {
  ...{ userId: "prn_ben", status: "changed", comparedBy: "qr", comparedAtMs: 12, safetyNumber: "123" },
  ...{ devices: [{ deviceId: "dev_ben", fingerprint: "456", isCompared: false }], listFault: "LIST_ROLLBACK" },
}
const unverified: UserVerification = {
  ...{ ...verified, status: "unverified", comparedBy: undefined, comparedAtMs: undefined },
  ...{ devices: [], listFault: undefined },
}

const errors: readonly [string, unknown, (error: unknown) => boolean, object][] = [
  [
    "of the messenger",
    new MessagingError("COMPARISON_FAILED", "differs", { cause: new CanonicalError("QR_SAME_SIDE", "same") }),
    (error) => isMessagingError(error, "COMPARISON_FAILED"),
    { message: "differs", cause: { code: "QR_SAME_SIDE" } },
  ],
  [
    "of the service",
    new SignetError("LIMIT_EXCEEDED", "slow down", {
      ...{ code: Code.ResourceExhausted, metadata: { limit: "5" }, retryAfterMs: 1_500 },
    }),
    (error) => isSignetError(error, "LIMIT_EXCEEDED"),
    { message: "slow down", code: Code.ResourceExhausted, metadata: { limit: "5" }, retryAfterMs: 1_500 },
  ],
  [
    "of the network",
    new ConnectError("no route", Code.Unavailable),
    (error) => isSignetError(error, "UNREACHABLE"),
    { code: Code.Unavailable },
  ],
  [
    "of a secret box",
    new SecretBoxError("LOCKED", "unlock it"),
    (error) => error instanceof SecretBoxError,
    { reason: "LOCKED", message: "unlock it" },
  ],
  [
    "in an argument",
    new RangeError("not a cnv_ id"),
    (error) => error instanceof RangeError,
    { message: "not a cnv_ id" },
  ],
  [
    "that is a defect, whose own message stays inside",
    new TypeError("with a plaintext"),
    (error) => error instanceof Error,
    { message: "the core failed with TypeError" },
  ],
]

/** A messenger that answers as the test says, behind the messages. */
async function remote(answers: Partial<Messenger> = {}) {
  let emit: (event: MessengerEvent) => void = () => undefined
  const opened = vi.fn()
  const core = inProcessCore(async (request) => {
    opened(request)
    const direct: Partial<Messenger> = {
      deviceId: "dev_ann",
      subscribe(listener) {
        emit = listener
        return () => undefined
      },
    }
    // With its getters.
    return Object.defineProperties(direct, Object.getOwnPropertyDescriptors(answers)) as Messenger
  })
  const messaging = { baseUrl: "https://messages.example", issuerRootKeys: [bytes(1), bytes(2)] }
  const messenger = await openRemoteMessenger(core, { messaging, files, whenKeysChange: "refuse" })
  return { messenger, opened, core, emit: (event: MessengerEvent) => emit(event) }
}

test("the options of a messenger reach the other side", async () => {
  const { messenger, opened } = await remote()
  expect(messenger.deviceId).toBe("dev_ann")
  expect(opened.mock.calls[0]?.[0]).toMatchObject({
    ...{ baseUrl: "https://messages.example", issuerRootKeys: [bytes(1), bytes(2)], refuseChangedKeys: true },
  })
})

const envelope: Envelope = create(EnvelopeSchema, { seq: 4n })
const processed: Incoming = { is: "processed", entries }

/** The name of a method, its arguments, and its answers. */
const calls: readonly [keyof Messenger, readonly unknown[], ...unknown[]][] = [
  ["createDirectConversation", ["prn_ben"], conversation, waiting],
  ["createGroupConversation", [["prn_ben", "prn_cid"]], conversation],
  [
    ...(["encryptMessage", ["cnv_1", bytes(1)]] as const),
    { conversationId: "cnv_1", outboxId: "o", epoch: 3n, idempotencyKey: bytes(7), message: bytes(8) },
  ],
  ["processIncoming", [{ conversationId: "cnv_1", envelope }], processed, { is: "replay" }, { is: "queued" }],
  ["addMembers", ["cnv_1", ["prn_ben"]], undefined],
  ["removeMembers", ["cnv_1", ["prn_ben"]], undefined],
  [
    ...(["send", ["cnv_1", bytes(1)]] as const),
    { state: "sent", conversationId: "cnv_1", outboxId: "o", seq: 4n, atMs: 5 },
    { state: "queued", conversationId: "cnv_1", outboxId: "o", seq: undefined, atMs: undefined },
  ],
  [
    ...(["outbox", ["cnv_1"]] as const),
    [
      { outboxId: "o", plaintext: bytes(), writtenAtMs: 4, state: "queued" },
      { outboxId: "p", plaintext: undefined, writtenAtMs: 5, state: "sending" },
    ],
  ],
  ["uploads", ["cnv_1"], [{ id: "u", fileName: "a", mediaType: "text/plain", size: 5, startedAtMs: 6 }]],
  ["cancelUpload", ["cnv_1", "u"], undefined],
  ["leave", ["cnv_1"], undefined],
  ["rejoin", ["cnv_1"], undefined],
  ["refreshKeys", ["cnv_1"], undefined],
  ["conversations", [], [conversation, waiting]],
  ["conversation", ["cnv_1"], conversation, undefined],
  ["timeline", ["cnv_1", { afterSeq: 0n, limit: 3 }], entries],
  ["block", ["prn_ben"], undefined],
  ["unblock", ["prn_ben"], undefined],
  ["blockedUsers", [], ["prn_ben"]],
  ["devices", [], [{ id: "dev_ann", isThisOne: true, isRevoked: false, platform: "web", createdAtMs: 7 }]],
  ["revokeDevice", ["dev_ann"], undefined],
  ["sync", [], undefined],
]

test.each(calls)("%s is forwarded with its arguments and its answer", async (name, given, ...answers) => {
  for (const answer of answers) {
    const direct = vi.fn(async () => answer)
    const { messenger } = await remote({ [name]: direct })
    const method = messenger[name] as (...args: readonly unknown[]) => Promise<unknown>
    expect(await method(...given)).toEqual(answer)
    expect(direct.mock.calls[0]).toEqual(given)
  }
})

test.each<[keyof Messenger["verification"], readonly string[], ...unknown[]]>([
  ["status", ["prn_ben"], "unverified", "verified", "changed"],
  ["of", ["prn_ben"], verified, unverified],
  ["markVerified", ["prn_ben", "123"], verified],
  ["qrCode", ["prn_ben"], "a code"],
  ["scan", ["prn_ben", "a code"], verified],
  ["groupCode", ["cnv_1"], "123"],
])("verification.%s is forwarded", async (name, given, ...answers) => {
  for (const answer of answers) {
    const direct = vi.fn(async () => answer)
    const { messenger } = await remote({ verification: { [name]: direct } as never })
    const method = messenger.verification[name] as (...args: readonly string[]) => Promise<unknown>
    expect(await method(...given)).toEqual(answer)
    expect(direct.mock.calls[0]).toEqual(given)
  }
})

test("every event is forwarded to listeners and to readers", async () => {
  const { messenger, emit } = await remote()
  const heard: MessengerEvent[] = []
  messenger.subscribe((event) => heard.push(event))
  const end = new AbortController()
  const read = messenger.events(end.signal)
  const error = new MessagingError("QUEUED", "not yet")
  const events: readonly MessengerEvent[] = [
    ...entries.map((entry): MessengerEvent => ({ is: "entry", conversationId: "cnv_1", entry })),
    { is: "status", conversationId: "cnv_1", status: "active", reason: undefined },
    { is: "status", conversationId: "cnv_1", status: "quarantined", reason: "PROOF_STALE" },
    { is: "keysChanged", userId: "prn_ben", deviceIds: ["dev_ben"], listFault: undefined },
    { is: "keysChanged", userId: "prn_ben", deviceIds: [], listFault: "LIST_FORK" },
    { is: "blockedUsers", userIds: ["prn_ben"] },
    { is: "queued", conversationId: "cnv_1", outboxId: "o" },
    { is: "unsent", conversationId: "cnv_1", outboxId: "o", error },
    { is: "failed", conversationId: undefined, error },
    { is: "failed", conversationId: "cnv_1", error },
    { is: "lagged" },
  ]
  for (const event of events) emit(event)
  end.abort()
  expect(heard).toEqual(events)
  const streamed: MessengerEvent[] = []
  for await (const event of read) streamed.push(event)
  expect(streamed).toEqual(events)
})

test.each(errors)("an error %s is forwarded with its class and reason", async (_, thrown, is, facts) => {
  const { messenger } = await remote({ sync: () => Promise.reject(thrown) })
  const error = await messenger.sync().catch((one: unknown) => one)
  expect(is(error)).toBe(true)
  expect(error).toMatchObject(facts)
  expect(String(error)).not.toContain("plaintext")
})

test("a run ends with its last caller, and reports the error that ended it", async () => {
  let end: (error: unknown) => void = () => undefined
  const running = vi.fn(
    (signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        end = reject
        signal.addEventListener("abort", () => resolve())
      }),
  )
  const { messenger } = await remote({ run: running })
  const [one, other] = [new AbortController(), new AbortController()]
  const runs = [messenger.run(one.signal), messenger.run(other.signal)]
  await vi.waitFor(() => expect(running).toHaveBeenCalledTimes(1))
  one.abort()
  await runs[0]
  expect(running.mock.calls[0]?.[0].aborted).toBe(false)
  other.abort()
  await runs[1]
  expect(running.mock.calls[0]?.[0].aborted).toBe(true)
  await messenger.run(AbortSignal.abort())
  expect(running).toHaveBeenCalledTimes(1)

  const failing = messenger.run(new AbortController().signal)
  await vi.waitFor(() => expect(running).toHaveBeenCalledTimes(2))
  end(new MessagingError("DEVICE_ENDED", "revoked"))
  await expect(failing).rejects.toMatchObject({ reason: "DEVICE_ENDED" })
})

test("a new device id is known after startAnew", async () => {
  let deviceId = "dev_ann"
  const { messenger } = await remote({
    get deviceId() {
      return deviceId
    },
    async startAnew() {
      deviceId = "dev_new"
    },
  })
  await messenger.startAnew()
  expect(messenger.deviceId).toBe("dev_new")
})

test("after its close, every call is rejected, and events end", async () => {
  const close = vi.fn(async () => undefined)
  const { messenger, emit } = await remote({ close })
  const heard: MessengerEvent[] = []
  messenger.subscribe((event) => heard.push(event))
  const read = messenger.events()
  await messenger.close()
  await messenger.close()
  expect(close).toHaveBeenCalledTimes(1)
  emit({ is: "lagged" })
  expect(heard).toEqual([])
  for await (const _ of read) expect.fail("an event after the close")
  await expect(messenger.sync()).rejects.toMatchObject({ reason: "CLOSED" })
})

test("data is destroyed only with the confirmation", async () => {
  const destroyLocalState = vi.fn(async () => undefined)
  const { messenger } = await remote({ destroyLocalState })
  await expect(messenger.destroyLocalState("yes" as never)).rejects.toThrow(TypeError)
  await messenger.destroyLocalState("destroy everything on this device")
  expect(destroyLocalState).toHaveBeenCalledTimes(1)
  await expect(messenger.conversations()).rejects.toMatchObject({ reason: "CLOSED" })
})

test("an unknown method and an entry of no kind are refused", async () => {
  const { core, messenger } = await remote()
  await expect(core.call("Export", bytes())).rejects.toMatchObject({ reason: "UNKNOWN_METHOD" })
  const heard: MessengerEvent[] = []
  messenger.subscribe((event) => heard.push(event))
  expect(toBinary(ClientEventSchema, create(ClientEventSchema, {}))).toEqual(bytes())
  expect(heard).toEqual([])
})
