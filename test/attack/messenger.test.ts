// A hostile service and a hostile member together. The service has the backend's receipt key, and the auth service's
// proof key only where a case says so. The client accepts no lie: its state does not change, it keeps the evidence and
// reports the fault.
import { create } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { hash } from "@signet/canonical/hash"
import type { ConversationId } from "@signet/kernel/ids"
import { newId } from "@signet/kernel/ids"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { type Envelope, Envelope_Kind, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { membersOf, type StagedCommit, stateTag } from "../../clients/core/messaging/mls.ts"
import { isLong, sample } from "../support/effort.ts"
import type { TestDevice } from "../support/messaging/device.ts"
import { engine, randomBytes } from "../support/messaging/device-parts.ts"
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

/** Creates a group of Mallory's with Ann in it. */
async function meet(): Promise<Room> {
  transport.lie = undefined
  const room = await mallory.createGroup([ann.person.userId])
  await ann.messenger.sync()
  return room
}

/** Facts of a forged log entry that the backend's key can sign. */
interface ForgedFacts {
  readonly proof?: Uint8Array
  readonly previousReceiptHash?: Uint8Array
  readonly resultingStateTag?: Uint8Array
  readonly seq?: bigint
}

const newest = (room: Room) => (typeof room.receipt === "object" ? room.receipt.hash : null)

function forgedEntry(
  room: Room,
  commit: StagedCommit,
  { proof, seq = room.seq + 1n, ...lies }: ForgedFacts = {},
): Envelope {
  const commitHash = hash("commit", commit.commit)
  const receipt = server.messaging.deps.signReceipt({
    conversationId: room.id as ConversationId,
    mlsGroupId: room.state.groupId,
    epoch: room.epoch,
    seq,
    commitHash,
    proofHash: proof ? hash("membership-proof", proof) : null,
    groupInfoHash: hash("group-info", commit.groupInfo),
    treeBlobHash: null,
    previousReceiptHash: lies.previousReceiptHash ?? newest(room),
    acceptedAtMs: Date.now(),
    resultingStateTag: lies.resultingStateTag ?? stateTag(commit.next),
  })
  return create(EnvelopeSchema, {
    seq,
    epoch: room.epoch,
    kind: Envelope_Kind.COMMIT,
    message: commit.commit,
    contentHash: commitHash,
    senderDeviceId: mallory.id,
    receipt: receipt.bytes,
  })
}

/** Returns a proof by the auth service's key for members whom it never decided on. */
function proofFor(room: Room, change: object) {
  const { authority } = server.messaging.deps
  return authority.issueProof(
    {
      place: { appId: server.app.id, tenantId: null },
      conversationId: room.id as ConversationId,
      mlsGroupId: room.state.groupId,
      op: "ADD",
      baseEpoch: room.epoch,
      baseStateTag: stateTag(room.state),
      added: [],
      removed: [],
      requester: hash("device-credential", mallory.identity.credential),
      decisionId: newId("dcn", Date.now(), randomBytes(10)),
      issuedAtMs: Date.now() - 1_000,
      policyVersion: 1n,
      ...change,
    },
    noEvidence,
  )
}

async function addGhost(room: Room, proof?: Uint8Array): Promise<StagedCommit> {
  const { keyPackage } = await newKeyPackage(ghost)
  return engine.add(room.state, [keyPackage], { aad: aadOf(room, EnvelopeKind.COMMIT, proof) })
}

const annIn = ({ state }: Room) =>
  membersOf(state).find(({ leaf }) => leaf !== state.ownLeaf) ?? expect.fail("Ann is not in the group")

const removeAnn = (room: Room, proof?: Uint8Array) =>
  engine.remove(room.state, [annIn(room).leaf], { aad: aadOf(room, EnvelopeKind.COMMIT, proof) })

const somebody = () => ({ credentialHash: randomBytes(32), keyPackageRef: randomBytes(32) })
const update = (room: Room) => engine.update(room.state, { aad: aadOf(room, EnvelopeKind.COMMIT) })

const lies: Record<string, [reason: string, lie: (room: Room) => Promise<Envelope>]> = {
  "a member that no proof names": ["PROOF_MISSING", async (room) => forgedEntry(room, await addGhost(room))],
  "a member that no proof names, in a commit that is said to be the reader's own": [
    "PROOF_MISSING",
    async (room) => ({ ...forgedEntry(room, await addGhost(room)), senderDeviceId: ann.messenger.deviceId }),
  ],
  "a member under a proof for somebody else": [
    "GHOST_MEMBER",
    async (room) => {
      const { bytes: proof } = await proofFor(room, { added: [somebody()] })
      return forgedEntry(room, await addGhost(room, proof), { proof })
    },
  ],
  "a proof of another conversation": [
    "PROOF_WRONG_CONVERSATION",
    async (room) => {
      const conversationId = newId("cnv", Date.now(), randomBytes(10))
      const { bytes: proof } = await proofFor(room, { added: [somebody()], conversationId })
      return forgedEntry(room, await addGhost(room, proof), { proof })
    },
  ],
  "a proof of an earlier epoch": [
    "PROOF_STALE",
    async (room) => {
      const { bytes: proof } = await proofFor(room, { added: [somebody()], baseEpoch: room.epoch - 1n })
      return forgedEntry(room, await addGhost(room, proof), { proof })
    },
  ],
  "a proof of the same epoch in another history": [
    "PROOF_FORK",
    async (room) => {
      const { bytes: proof } = await proofFor(room, { added: [somebody()], baseStateTag: randomBytes(32) })
      return forgedEntry(room, await addGhost(room, proof), { proof })
    },
  ],
  "a proof that had expired": [
    "PROOF_EXPIRED",
    async (room) => {
      const { bytes: proof } = await proofFor(room, { added: [somebody()], issuedAtMs: Date.now() - 400_000 })
      return forgedEntry(room, await addGhost(room, proof), { proof })
    },
  ],
  "a removal that was allowed to somebody else": [
    "PROOF_WRONG_COMMITTER",
    async (room) => {
      const { keyPackage, reference } = await newKeyPackage(ghost)
      const added = [{ credentialHash: hash("device-credential", ghost.identity.credential), keyPackageRef: reference }]
      const { bytes: proof } = await proofFor(room, { added, requester: randomBytes(32) })
      const commit = await engine.add(room.state, [keyPackage], { aad: aadOf(room, EnvelopeKind.COMMIT, proof) })
      return forgedEntry(room, commit, { proof })
    },
  ],
  "a removal of this device that no proof names": [
    "PROOF_MISSING",
    async (room) => forgedEntry(room, await removeAnn(room)),
  ],
  "a removal of this device under a proof for another device": [
    "PROOF_SUBJECTS_MISMATCH",
    async (room) => {
      const { bytes: proof } = await proofFor(room, { op: "REMOVE", removed: [randomBytes(32)] })
      return forgedEntry(room, await removeAnn(room, proof), { proof })
    },
  ],
  "a removal of this device by a committer whom the proof does not name": [
    "PROOF_WRONG_COMMITTER",
    async (room) => {
      const removed = [hash("device-credential", annIn(room).credential)]
      const { bytes: proof } = await proofFor(room, { op: "REMOVE", removed, requester: randomBytes(32) })
      return forgedEntry(room, await removeAnn(room, proof), { proof })
    },
  ],
  "a receipt that does not follow the one before": [
    "RECEIPT_FORK",
    async (room) => forgedEntry(room, await update(room), { previousReceiptHash: randomBytes(32) }),
  ],
  "a receipt with another key's signature": [
    "RECEIPT_BAD_SIGNATURE",
    async (room) => {
      const envelope = forgedEntry(room, await update(room))
      envelope.receipt[envelope.receipt.length - 1] = 255 - (envelope.receipt.at(-1) ?? 0)
      return envelope
    },
  ],
  "a commit that leads elsewhere": [
    "STATE_TAG_DIFFERS",
    async (room) => forgedEntry(room, await update(room), { resultingStateTag: randomBytes(32) }),
  ],
  "a commit of the epoch after, where one was dropped": [
    "EPOCH_MISPLACED",
    async (room) => {
      const dropped = await update(room)
      const next = { ...room, state: dropped.next, epoch: room.epoch + 1n, seq: room.seq }
      return forgedEntry(next, await update(next))
    },
  ],
  "a commit of another group": [
    "ENVELOPE_MISPLACED",
    async (room) => {
      const other = await mallory.createGroup([ghost.userId])
      const envelope = forgedEntry(other, await update(other))
      return { ...envelope, seq: room.seq + 1n, epoch: room.epoch }
    },
  ],
}

test.each(sample(4, Object.entries(lies)))(
  "%s quarantines the conversation without changing its state",
  async (_, [reason, lie]) => {
    const room = await meet()
    const before = await ann.messenger.conversation(room.id)
    const forged = await lie(room)
    transport.lie = { of: room.id, log: [forged] }
    await ann.messenger.sync()
    const after = await ann.messenger.conversation(room.id)
    expect(after?.quarantine?.reason).toBe(reason)
    expect(after).toMatchObject({ ...before, status: "quarantined", quarantine: expect.anything() })
    expect(after?.quarantine?.evidence.length).toBeGreaterThan(forged.message.length)
    expect(transport.reports).toContainEqual(expect.objectContaining({ conversationId: room.id }))
    const sending = ann.messenger.send(room.id, new Uint8Array(1))
    await expect(sending).rejects.toMatchObject({ reason: "CONVERSATION_NOT_ACTIVE" })
    // The quarantine stays when the service is honest again.
    transport.lie = undefined
    await mallory.send(room, "never mind")
    await ann.messenger.sync()
    expect((await ann.messenger.conversation(room.id))?.status).toBe("quarantined")
    expect(await ann.messenger.timeline(room.id)).toEqual([])
  },
)

test.each(
  sample(1, [
    ["no answer", undefined, 2],
    ["a failure without a reason", [], 2],
    ["a refusal", [{ desc: ErrorInfoSchema, value: { reason: "INVALID_FIELD", domain: "signet" } }], 1],
  ]),
)("after %s a fork is reported again until the service knows of it", async (_, details, count) => {
  const room = await meet()
  const reports = () => transport.reports.filter((report) => Object(report).conversationId === room.id).length
  transport.lie = { of: room.id, log: [forgedEntry(room, await addGhost(room))] }
  const code = details === undefined ? Code.Unavailable : Code.InvalidArgument
  transport.invent = (method) => {
    if (method === "ReportFork") throw new ConnectError("not reported", code, undefined, details)
    return undefined
  }
  await ann.messenger.sync()
  transport.invent = undefined
  expect(reports()).toBe(1)
  for (let round = 0; round < 3; round++) await ann.messenger.sync()
  transport.lie = undefined
  expect(reports()).toBe(count)
})

test.runIf(isLong)("a quarantined device recovers when a member removes it and adds it again", async () => {
  const room = await meet()
  const forged = forgedEntry(room, await addGhost(room))
  transport.lie = { of: room.id, log: [forged] }
  await ann.messenger.sync()
  transport.lie = undefined
  expect((await ann.messenger.conversation(room.id))?.status).toBe("quarantined")
  await ann.messenger.rejoin(room.id)
  const { directives } = await mallory.calls.conversations.listDirectives({ conversationId: room.id })
  for (let round = 0; round < 2; round++) await mallory.carryOut(room, directives[0]?.id ?? "")
  await mallory.send(room, "welcome back")
  await ann.messenger.sync()
  expect(await ann.messenger.conversation(room.id)).toMatchObject({ status: "active", quarantine: undefined })
  expect((await ann.messenger.timeline(room.id)).map(({ is }) => is)).toEqual(["gap", "message"])
})

test.runIf(isLong)("a log that is sent twice or in reverse order changes nothing", async () => {
  const room = await meet()
  for (const text of ["one", "two"]) await mallory.send(room, text)
  await ann.messenger.sync()
  const { envelopes } = await mallory.calls.conversations.listMessages({ conversationId: room.id, afterSeq: 0n })
  const before = await ann.messenger.timeline(room.id)
  for (const log of [envelopes, envelopes.toReversed()]) {
    transport.lie = { of: room.id, log }
    await ann.messenger.sync()
    for (const envelope of log) {
      expect(await ann.messenger.processIncoming({ conversationId: room.id, envelope })).toEqual({ is: "replay" })
    }
  }
  expect(await ann.messenger.timeline(room.id)).toEqual(before)
  expect((await ann.messenger.conversation(room.id))?.status).toBe("active")
})

test.runIf(isLong)(
  "a message that the service delivers late is read once, and a warning precedes the message that skipped it",
  async () => {
    const room = await meet()
    const from = { userId: mallory.userId, deviceId: mallory.id }
    for (const text of ["one", "two", "three"]) await mallory.send(room, text)
    const { envelopes } = await mallory.calls.conversations.listMessages({ conversationId: room.id, afterSeq: 0n })
    const [one, two, three] = envelopes.slice(-3)
    if (one === undefined || two === undefined || three === undefined) throw new Error("not sent")
    const tell = async (...log: Envelope[]) => {
      transport.lie = { of: room.id, log }
      await ann.messenger.sync()
    }
    const at = (one: Envelope, seq: bigint): Envelope => ({ ...one, seq })
    await tell(at(three, one.seq))
    await tell(at(one, two.seq), at(two, three.seq))
    const told = (await ann.messenger.timeline(room.id)).map((entry) =>
      entry.is === "message" ? [Buffer.from(entry.plaintext).toString(), entry.isLate] : entry,
    )
    expect(told).toEqual([
      expect.objectContaining({ is: "missing", seq: one.seq, from, count: 2 }),
      ["three", undefined],
      ["one", true],
      ["two", true],
    ])
    await tell(at(one, three.seq + 1n))
    expect((await ann.messenger.timeline(room.id)).at(-1)).toMatchObject({ is: "unreadable", reason: "REPLAY" })
  },
)

test.runIf(isLong)("a message that cannot be decrypted is skipped, and the next one is read", async () => {
  const room = await meet()
  const staged = await mallory.stageText(room, "something else")
  const bent = Uint8Array.from(staged.payload.value as Uint8Array)
  bent[bent.length - 1] = 255 - (bent.at(-1) ?? 0)
  await mallory.append({ ...staged, payload: { case: "application", value: bent } })
  await mallory.send(room, "the next one")
  await ann.messenger.sync()
  // The bent message has used a generation.
  expect((await ann.messenger.timeline(room.id)).map(({ is }) => is)).toEqual(["unreadable", "missing", "message"])
})

test.runIf(isLong)("a group is not joined with the GroupInfo of an earlier epoch", async () => {
  const room = await mallory.createGroup([ghost.userId])
  const before = await mallory.calls.conversations.getGroupInfo({ conversationId: room.id })
  await mallory.add(room, { userIds: [ann.person.userId] })
  transport.bend = { method: "GetGroupInfo", answer: (truth) => Object.assign(truth, before) }
  await ann.messenger.sync()
  expect(await ann.messenger.conversation(room.id)).toBeUndefined()
  transport.bend = undefined
  await ann.messenger.sync()
  expect((await ann.messenger.conversation(room.id))?.status).toBe("active")
})

test("a message of a member with another receipt is not read: it shows two histories", async () => {
  const room = await meet()
  const aad = aadOf({ id: room.id, receipt: { hash: randomBytes(32), acceptedAtMs: 0n } }, EnvelopeKind.APPLICATION)
  const { message } = await engine.encrypt(room.state, new Uint8Array(1), aad)
  const contentHash = hash("content", message)
  const envelope = { seq: room.seq + 1n, epoch: room.epoch, kind: Envelope_Kind.APPLICATION, message, contentHash }
  transport.lie = { of: room.id, log: [create(EnvelopeSchema, envelope)] }
  await ann.messenger.sync()
  transport.lie = undefined
  expect((await ann.messenger.conversation(room.id))?.quarantine?.reason).toBe("RECEIPT_SEEN_DIFFERS")
})
