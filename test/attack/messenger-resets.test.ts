// A hostile service with its receipt key, and with the proof key where a case says so, attacks resets. It may break a
// conversation visibly. It never replaces a group unnoticed or adds a member.
import { create } from "@bufbuild/protobuf"
import { hash } from "@signet/canonical/hash"
import { type ConversationId, newId } from "@signet/kernel/ids"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import type { AuthorizeMembershipResponse } from "@signet/proto/messaging/v1/conversation_service"
import { type Envelope, Envelope_Kind, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { MessengerEvent } from "../../clients/core/messaging/events.ts"
import { stateTag } from "../../clients/core/messaging/mls.ts"
import { isLong, sample } from "../support/effort.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { engine, nowSeconds, randomBytes } from "../support/messaging/device-parts.ts"
import { type HostileWorld, newKeyPackage, noEvidence, startHostileWorld } from "../support/messaging/hostile.ts"
import type { LyingTransport } from "../support/messaging/lying-transport.ts"
import type { OpenedMessenger } from "../support/messaging/messengers.ts"
import { aadOf, type Room } from "../support/messaging/room.ts"
import type { MessagingServer } from "../support/messaging/test-server.ts"

let world: HostileWorld
let server: MessagingServer
let mallory: TestDevice
let ghost: TestDevice
let ann: OpenedMessenger
let transport: LyingTransport
beforeAll(async () => {
  world = await startHostileWorld()
  ;({ server, mallory, ghost, ann, transport } = world)
})
afterAll(() => world?.close())

type Authorization = NonNullable<AuthorizeMembershipResponse["authorization"]>
type Facts = Parameters<MessagingServer["messaging"]["deps"]["authority"]["issueProof"]>[0]

async function meet(kind: "direct" | "group"): Promise<Room> {
  transport.lie = undefined
  transport.bend = undefined
  if (kind === "group") {
    const room = await mallory.createGroup([ann.person.userId])
    await ann.messenger.sync()
    return room
  }
  // Two users have only one direct conversation, so each case has its own Mallory.
  mallory = await newDevice(server.transport, await server.person(`mallory ${randomBytes(4).join("")}`))
  await mallory.register()
  await mallory.upload(4)
  const room = await mallory.createDirect(ann.person.userId)
  await ann.messenger.sync()
  return room
}

/** False facts in a forged reset. */
interface Lies {
  readonly groupId?: Uint8Array
  readonly epoch?: bigint
  readonly proof?: Partial<Facts>
  readonly withoutProof?: boolean
  readonly previousReceiptHash?: Uint8Array
  readonly seq?: bigint
}

const idOfGroup = (room: Room) => new Uint8Array([...room.state.groupId.subarray(0, 16), ...randomBytes(16)])

/** Returns a reset as a log envelope: a group of Mallory's that adds the ghost, with its proof and receipt. */
async function resetOf(room: Room, lies: Lies = {}): Promise<Envelope> {
  const { groupId = idOfGroup(room), epoch = room.epoch, seq = room.seq + 1n } = lies
  const notBefore = nowSeconds() - 3_600
  const life = { notBefore, notAfter: notBefore + 30 * 86_400 }
  const group = await engine.createGroup({ groupId, identity: mallory.identity, epoch, ...life })
  const { keyPackage, reference } = await newKeyPackage(ghost)
  const added = [{ credentialHash: hash("device-credential", ghost.identity.credential), keyPackageRef: reference }]
  const { authority, signReceipt } = server.messaging.deps
  const facts: Facts = {
    place: { appId: server.app.id, tenantId: null },
    conversationId: room.id as ConversationId,
    mlsGroupId: groupId,
    op: "RESET",
    baseEpoch: epoch,
    baseStateTag: stateTag(room.state),
    added,
    removed: [],
    requester: hash("device-credential", mallory.identity.credential),
    decisionId: newId("dcn", Date.now(), randomBytes(10)),
    issuedAtMs: Date.now() - 1_000,
    policyVersion: 1n,
    ...lies.proof,
  }
  const proof = lies.withoutProof ? undefined : (await authority.issueProof(facts, noEvidence)).bytes
  const aad = aadOf({ id: room.id, receipt: "unknown" }, EnvelopeKind.COMMIT, proof)
  const commit = await engine.add(group, [keyPackage], { aad, ...(proof ? { proof } : {}) })
  const commitHash = hash("commit", commit.commit)
  const receipt = signReceipt({
    conversationId: room.id as ConversationId,
    mlsGroupId: groupId,
    epoch,
    seq,
    commitHash,
    proofHash: proof ? hash("membership-proof", proof) : null,
    groupInfoHash: hash("group-info", commit.groupInfo),
    treeBlobHash: null,
    previousReceiptHash: lies.previousReceiptHash ?? (typeof room.receipt === "object" ? room.receipt.hash : null),
    acceptedAtMs: Date.now(),
    resultingStateTag: stateTag(commit.next),
  })
  return create(EnvelopeSchema, {
    seq,
    epoch,
    kind: Envelope_Kind.COMMIT,
    message: commit.commit,
    contentHash: commitHash,
    senderDeviceId: mallory.id,
    receipt: receipt.bytes,
  })
}

const kindsIn = async ({ id }: Room) => (await ann.messenger.timeline(id)).map(({ is }) => is)

test("a reset with a proof by the auth service is accepted and becomes a timeline entry", async () => {
  const room = await meet("direct")
  transport.lie = { of: room.id, log: [await resetOf(room)] }
  const events: MessengerEvent[] = []
  const stop = ann.messenger.subscribe((event) => events.push(event))
  await ann.messenger.sync()
  stop()
  expect((await kindsIn(room)).at(-1)).toBe("reset")
  expect(events).toContainEqual(
    expect.objectContaining({ is: "entry", entry: expect.objectContaining({ is: "reset" }) }),
  )
  expect(await ann.messenger.conversation(room.id)).toMatchObject({ status: "waiting", memberUserIds: [] })
})

test.runIf(isLong)("a reset after lost or withheld messages is followed, and the timeline shows the gap", async () => {
  const room = await meet("direct")
  transport.lie = { of: room.id, log: [await resetOf(room, { seq: room.seq + 2n ** 20n })] }
  await ann.messenger.sync()
  expect((await kindsIn(room)).slice(-2)).toEqual(["gap", "reset"])
  expect(await ann.messenger.conversation(room.id)).toMatchObject({ status: "waiting", memberUserIds: [] })
})

test.runIf(isLong)("another commit after a gap is not applied", async () => {
  const room = await meet("direct")
  const { processedSeq } = (await ann.messenger.conversation(room.id)) ?? {}
  const log = [
    create(EnvelopeSchema, { ...(await resetOf(room, { groupId: room.state.groupId })), seq: room.seq + 9n }),
  ]
  transport.lie = { of: room.id, log }
  const before = await kindsIn(room)
  const events: MessengerEvent[] = []
  const stop = ann.messenger.subscribe((event) => events.push(event))
  await ann.messenger.sync()
  stop()
  expect(events).toMatchObject([{ is: "status", status: "waiting", reason: undefined }])
  // The device rejoins: the log goes on without what it has read.
  expect(await ann.messenger.conversation(room.id)).toMatchObject({ status: "waiting", processedSeq })
  expect(await kindsIn(room)).toEqual(before)
})

test.each(
  sample<[string, string | RegExp, (room: Room) => Lies]>(2, [
    ["a commit of another group without any proof", "RECEIPT_WRONG_PROOF", () => ({ withoutProof: true })],
    ["a proof that adds, for a commit of another group", "ENVELOPE_MISPLACED", () => ({ proof: { op: "ADD" } })],
    [
      "a reset of another state than this device is in",
      "PROOF_FORK",
      () => ({ proof: { baseStateTag: randomBytes(32) } }),
    ],
    ["a reset of a later epoch", "PROOF_FUTURE_EPOCH", (room) => ({ proof: { baseEpoch: room.epoch + 1n } })],
    [
      "a reset of another conversation",
      "PROOF_WRONG_CONVERSATION",
      () => ({ proof: { conversationId: newId("cnv", Date.now(), randomBytes(10)) } }),
    ],
    [
      "a reset to another group than the commit's",
      "PROOF_WRONG_GROUP",
      (room) => ({ proof: { mlsGroupId: idOfGroup(room) } }),
    ],
    ["a proof that has expired", "PROOF_EXPIRED", () => ({ proof: { issuedAtMs: Date.now() - 400_000 } })],
    ["a receipt that follows another one", /^RECEIPT_/, () => ({ previousReceiptHash: randomBytes(32) })],
    ["a group of another conversation", "ENVELOPE_MISPLACED", () => ({ groupId: randomBytes(32) })],
    ["a group that begins at another epoch", "ENVELOPE_MISPLACED", (room) => ({ epoch: room.epoch + 5n })],
  ]),
)("%s is not followed", async (_, reason, lies) => {
  const room = await meet("direct")
  transport.lie = { of: room.id, log: [await resetOf(room, lies(room))] }
  await ann.messenger.sync()
  const { status, quarantine } = (await ann.messenger.conversation(room.id)) ?? {}
  // The quarantine of a direct conversation ends without the app: this device waits until Mallory adds it.
  expect(status).toBe("waiting")
  if (typeof reason === "string") expect(quarantine?.reason).toBe(reason)
  else expect(quarantine?.reason).toMatch(reason)
  expect(await kindsIn(room)).not.toContain("reset")
})

test.runIf(isLong)("a group of more than two users is never reset", async () => {
  const room = await meet("group")
  transport.lie = { of: room.id, log: [await resetOf(room)] }
  await ann.messenger.sync()
  expect(await ann.messenger.conversation(room.id)).toMatchObject({
    status: "quarantined",
    quarantine: { reason: "ENVELOPE_MISPLACED" },
  })
})

/** Ann waits to be added, and no member is left who could do it. */
async function strandedRoom(): Promise<Room> {
  const room = await meet("direct")
  await mallory.update(room)
  await ann.messenger.sync()
  await mallory.calls.conversations.requestRejoin({ conversationId: room.id })
  await ann.messenger.rejoin(room.id)
  expect((await ann.messenger.conversation(room.id))?.status).toBe("stranded")
  return room
}

/** Changes the service's answer to Ann's request for a reset. */
function answering(change: (authorization: Authorization) => unknown): void {
  transport.bend = {
    method: "AuthorizeMembership",
    async answer(truth) {
      const { authorization } = truth as AuthorizeMembershipResponse
      if (authorization !== undefined) await change(authorization)
    },
  }
}

/** Replaces the proof of the reset with one that has changed facts. */
async function proven(room: Room, one: Authorization, change: Partial<Facts>): Promise<void> {
  const claimed = (one.claim?.keyPackages ?? []).map(({ keyPackage }) => engine.inspectKeyPackage(keyPackage))
  const added = (await Promise.all(claimed)).map(({ credential, reference }) => ({
    credentialHash: hash("device-credential", credential),
    keyPackageRef: reference,
  }))
  const facts = { ...(await factsFor(room, one.mlsGroupId)), added, ...change }
  const { bytes } = await server.messaging.deps.authority.issueProof(facts, noEvidence)
  Object.assign(one, { mlsGroupId: facts.mlsGroupId, proof: bytes })
}

test.each(
  sample<[string, (room: Room, authorization: Authorization) => unknown]>(1, [
    ["the group that there is", (room, one) => Object.assign(one, { mlsGroupId: room.state.groupId })],
    ["a group of another conversation", (_, one) => Object.assign(one, { mlsGroupId: randomBytes(32) })],
    [
      "the group that there is, with a proof for it",
      (room, one) => proven(room, one, { mlsGroupId: room.state.groupId }),
    ],
    [
      "a group of another conversation, with a proof for it",
      (room, one) => proven(room, one, { mlsGroupId: randomBytes(32) }),
    ],
    [
      "a state before the one that it was in, with a proof for it",
      (room, one) => proven(room, one, { baseEpoch: room.epoch - 1n }),
    ],
    ["another group than the proof's", (room, one) => Object.assign(one, { mlsGroupId: idOfGroup(room) })],
    [
      "a proof that adds",
      async (room, one) => {
        const { authority } = server.messaging.deps
        const { bytes } = await authority.issueProof(
          { ...(await factsFor(room, one.mlsGroupId)), op: "ADD" },
          noEvidence,
        )
        Object.assign(one, { proof: bytes })
      },
    ],
    [
      "a reset with a third person in it, under a proof for it",
      async (room, one) => {
        const { keyPackage, reference } = await newKeyPackage(ghost)
        const facts = await factsFor(room, one.mlsGroupId)
        const added = [
          { credentialHash: hash("device-credential", ghost.identity.credential), keyPackageRef: reference },
        ]
        const { bytes } = await server.messaging.deps.authority.issueProof({ ...facts, added }, noEvidence)
        const claimed = { deviceId: ghost.id, userId: ghost.userId, keyPackage, keyPackageRef: reference }
        const claim = { keyPackages: [claimed], ticket: new Uint8Array() }
        Object.assign(one, { proof: bytes, keyPackageRefs: [reference], claim })
      },
    ],
  ]),
)("this device begins no reset by the answer of %s", async (_, lie) => {
  const room = await strandedRoom()
  const failed: unknown[] = []
  const stop = ann.messenger.subscribe((event) => event.is === "failed" && failed.push(event.error))
  answering((authorization) => lie(room, authorization))
  await ann.messenger.sync()
  expect(failed).toContainEqual(expect.objectContaining({ reason: "ANSWER_REFUSED" }))
  expect((await ann.messenger.conversation(room.id))?.status).toBe("stranded")
  // With the service's honest answer, her own reset succeeds, and she sees it.
  transport.bend = undefined
  await ann.messenger.sync()
  stop()
  expect((await ann.messenger.conversation(room.id))?.status).toBe("active")
  expect((await kindsIn(room)).at(-1)).toBe("reset")
})

async function factsFor(room: Room, mlsGroupId: Uint8Array): Promise<Facts> {
  const { devices } = await mallory.calls.devices.listDevices({ userId: ann.person.userId })
  const own = devices.find(({ id }) => id === ann.messenger.deviceId)
  return {
    place: { appId: server.app.id, tenantId: null },
    conversationId: room.id as ConversationId,
    mlsGroupId,
    op: "RESET",
    baseEpoch: room.epoch,
    baseStateTag: stateTag(room.state),
    added: [{ credentialHash: randomBytes(32), keyPackageRef: randomBytes(32) }],
    removed: [],
    requester: own?.credentialHash ?? randomBytes(32),
    decisionId: newId("dcn", Date.now(), randomBytes(10)),
    issuedAtMs: Date.now() - 1_000,
    policyVersion: 1n,
  }
}

test.runIf(isLong)("a reset that the service hides from the log is detected by its welcome", async () => {
  const room = await strandedRoom()
  // Mallory resets the conversation first.
  const { conversation } = await mallory.calls.conversations.getConversation({ conversationId: room.id })
  if (conversation === undefined) throw new Error("no conversation")
  await mallory.append(await mallory.stageReset(conversation, await mallory.authorizeReset(room.id)))
  await ann.messenger.sync()
  expect((await ann.messenger.conversation(room.id))?.status).toBe("active")
  expect((await kindsIn(room)).at(-1)).toBe("reset")
})

test.runIf(isLong)("a service that quarantines a conversation causes a visible reset at most", async () => {
  const room = await meet("direct")
  const statuses: unknown[] = []
  const stop = ann.messenger.subscribe((event) => event.is === "status" && statuses.push([event.status, event.reason]))
  transport.lie = { of: room.id, log: [await resetOf(room, { withoutProof: true })] }
  await ann.messenger.sync()
  expect(await ann.messenger.conversation(room.id)).toMatchObject({ status: "waiting", quarantine: expect.anything() })
  expect(transport.reports).toContainEqual(expect.objectContaining({ conversationId: room.id }))
  transport.lie = undefined
  await mallory.calls.conversations.requestRejoin({ conversationId: room.id })
  await ann.messenger.sync()
  stop()
  expect(statuses).toContainEqual(["quarantined", "RECEIPT_WRONG_PROOF"])
  expect(await ann.messenger.conversation(room.id)).toMatchObject({ status: "active", quarantine: undefined })
  expect((await kindsIn(room)).at(-1)).toBe("reset")
  expect((await ann.messenger.send(room.id, randomBytes(8))).state).toBe("sent")
})
