// Invalid messages from members and strangers. Each gets its specific error, and the log does not change.
import { Code } from "@connectrpc/connect"
import { buildEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { newId } from "@signet/kernel/ids"
import { maxBytes } from "@signet/kernel/messaging/limits"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { CommitConflictSchema, CommitRequiredSchema, StaleEpochSchema } from "@signet/proto/messaging/v1/conflict"
import { ReportForkRequest_Fault } from "@signet/proto/messaging/v1/conversation_service"
import { Conversation_Status } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { protocols } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { callsOver } from "../support/messaging/calls.ts"
import { type CommitPayload, newClaimId, type StagedAppend } from "../support/messaging/committing.ts"
import { newDevice } from "../support/messaging/device.ts"
import { bytesOf, deviceRequest, engine, newLeafKey, randomBytes } from "../support/messaging/device-parts.ts"
import { aadOf } from "../support/messaging/room.ts"
import {
  adding,
  alice,
  bob,
  carol,
  dave,
  elsewhere,
  errorOf,
  openScene,
  overGrpc,
  refusal,
  registered,
  room,
  server,
  withReceipt,
} from "./messaging-scene.ts"

beforeAll(openScene, 30_000)
afterAll(() => server.close())

describe("an application message", () => {
  const sendAs = (value: Uint8Array, by = alice) =>
    by.append({
      conversationId: room.id,
      idempotencyKey: randomBytes(16),
      expectedEpoch: room.epoch,
      payload: { case: "application", value },
    })

  test("must be a PrivateMessage, and a commit a PublicMessage", async () => {
    const { staged } = await alice.stageUpdate(room)
    expect(await refusal(sendAs(staged.commit))).toBe("MLS_WRONG_WIRE_FORMAT")
    const { payload } = await alice.stageText(room, "hello")
    const message = payload?.case === "application" ? new Uint8Array(payload.value ?? []) : expect.fail("no message")
    expect(await refusal(adding(() => ({ commit: message })))).toBe("MLS_WRONG_WIRE_FORMAT")
    // The version, the wire format, a group id of 32 bytes and the epoch precede the content type.
    const handshake = message.with(2 + 2 + 33 + 8, 3)
    expect(await refusal(sendAs(handshake))).toBe("MLS_WRONG_WIRE_FORMAT")
    expect(await refusal(sendAs(new Uint8Array([...message, 0])))).toBe("MLS_NON_CANONICAL")
    expect(await refusal(sendAs(message.subarray(0, -1)))).toBe("MLS_MALFORMED")
    expect(await refusal(sendAs(randomBytes(500)))).toMatch(/^MLS_MALFORMED/)
  })

  test("without its AAD frame is refused", async () => {
    for (const [aad, code] of [
      [randomBytes(3), "AAD_MALFORMED"],
      [aadOf(room, EnvelopeKind.COMMIT), "AAD_WRONG_KIND"],
      [aadOf(elsewhere, EnvelopeKind.APPLICATION), "AAD_WRONG_CONVERSATION"],
      [withReceipt(EnvelopeKind.APPLICATION, randomBytes(32)), "AAD_WRONG_RECEIPT"],
      [buildEnvelopeAad({ conversationId: bytesOf("cnv", room.id), kind: EnvelopeKind.PROPOSAL }), "AAD_WRONG_KIND"],
    ] as const) {
      const { message } = await engine.encrypt(room.state, randomBytes(3), aad)
      expect(await refusal(sendAs(message))).toBe(`ENVELOPE_INVALID ${code}`)
    }
  })

  test("of another epoch than the request states, or of a past or future epoch, is refused", async () => {
    const staged = await alice.stageText(room, "hello")
    expect(await refusal(alice.append({ ...staged, expectedEpoch: room.epoch + 1n }))).toBe("FUTURE_EPOCH")
    const stale = await errorOf(alice.append({ ...staged, expectedEpoch: room.epoch - 1n }))
    expect(await refusal(Promise.reject(stale))).toBe("STALE_EPOCH")
    const [detail] = stale?.findDetails(StaleEpochSchema) ?? []
    expect(detail).toMatchObject({ conversationId: room.id, currentEpoch: room.epoch, fromSeq: 1n })
    await alice.update(elsewhere)
    const ahead = await alice.stageText(elsewhere, "ahead")
    const mixed = { ...ahead, expectedEpoch: elsewhere.epoch - 1n }
    expect(await refusal(alice.append(mixed))).toBe("STALE_EPOCH")
  })

  test("from a non-member is answered as for a missing conversation", async () => {
    const staged = await alice.stageText(room, "hello")
    const missing = { ...staged, conversationId: `cnv_${"0".repeat(26)}` }
    const told = await Promise.all([dave.append(staged), dave.append(missing)].map(errorOf))
    expect(told.map((error) => error?.rawMessage)).toEqual(
      Array(2).fill("the resource does not exist or is not accessible"),
    )
    expect(told.map((error) => error?.code)).toEqual([Code.PermissionDenied, Code.PermissionDenied])
    const [here, nowhere] = told.map((error) => error?.findDetails(ErrorInfoSchema)[0])
    expect(here).toEqual(nowhere)
    for (const conversationId of [room.id, missing.conversationId]) {
      const { conversations } = dave.calls
      expect(await refusal(conversations.getConversation({ conversationId }))).toBe("RESOURCE_UNRESOLVED")
      expect(await refusal(conversations.listMessages({ conversationId }))).toBe("RESOURCE_UNRESOLVED")
      expect(await refusal(conversations.getGroupInfo({ conversationId }))).toBe("RESOURCE_UNRESOLVED")
      expect(await refusal(conversations.listDirectives({ conversationId }))).toBe("RESOURCE_UNRESOLVED")
      expect(await refusal(conversations.leaveConversation({ conversationId }))).toBe("RESOURCE_UNRESOLVED")
      expect(await refusal(conversations.requestRejoin({ conversationId }))).toBe("RESOURCE_UNRESOLVED")
      expect(await refusal(conversations.ackMessages({ conversationId }))).toBe("RESOURCE_UNRESOLVED")
      const treeHash = "0".repeat(64)
      expect(await refusal(conversations.getTree({ conversationId, treeHash }))).toBe("RESOURCE_UNRESOLVED")
      const add = { case: "add" as const, value: { userIds: [dave.userId], claimId: newClaimId() } }
      expect(await refusal(conversations.authorizeMembership({ conversationId, change: add }))).toBe(
        "RESOURCE_UNRESOLVED",
      )
    }
  })

  test("from or to a removed device is refused", async () => {
    const group = await alice.createGroup([bob.userId])
    await bob.join()
    const left = bob.room(group.id)
    await alice.send(group, "before")
    await alice.sync(group)
    const removal = await alice.remove(group, { deviceIds: [bob.id] })
    await alice.send(group, "after")
    const page = await bob.calls.conversations.listMessages({ conversationId: group.id })
    expect(page.headSeq).toBe(removal.seq)
    expect(page.envelopes.map(({ seq }) => seq)).toEqual([1n, 2n, 3n])
    const more = await bob.calls.conversations.listMessages({ conversationId: group.id, afterSeq: removal.seq })
    expect(more.envelopes).toEqual([])
    expect(await refusal(bob.send(left, "still here"))).toBe("RESOURCE_UNRESOLVED")
    expect(await refusal(bob.calls.conversations.getConversation({ conversationId: group.id }))).toBe(
      "RESOURCE_UNRESOLVED",
    )
  })

  test.runIf(isLong)("from a revoked device is refused", async () => {
    const user = await server.person(crypto.randomUUID())
    const phone = await registered(user)
    const group = await phone.createGroup([bob.userId])
    const laptop = await registered(user)
    await laptop.calls.devices.revokeDevice({ deviceId: phone.id })
    expect(await refusal(phone.send(group, "still here"))).toMatch(/^(DEVICE_REVOKED|DEVICE_REQUIRED|SESSION_REVOKED)$/)
    await bob.join()
    const { directives } = await bob.calls.conversations.listDirectives({ conversationId: group.id })
    expect(directives.map(({ deviceId }) => deviceId)).toEqual([phone.id])
    await bob.carryOut(bob.room(group.id), directives[0]?.id ?? "")
    const { conversation } = await bob.calls.conversations.getConversation({ conversationId: group.id })
    expect(conversation?.members.map(({ deviceId }) => deviceId)).toEqual([bob.id])
    expect(conversation?.directives).toEqual([])
  })
})

describe("two appends", () => {
  test("of concurrent commits: one is accepted, and the other's error contains the accepted one", async () => {
    const [first, second] = [await alice.stageUpdate(elsewhere), await alice.stageUpdate(elsewhere)]
    const taken = await alice.append(first)
    const error = await errorOf(alice.append(second))
    expect(await refusal(Promise.reject(error))).toBe("COMMIT_CONFLICT")
    expect(error?.code).toBe(Code.Aborted)
    const [conflict] = error?.findDetails(CommitConflictSchema) ?? []
    expect(conflict).toMatchObject({
      conversationId: elsewhere.id,
      attemptedEpoch: elsewhere.epoch,
      currentEpoch: elsewhere.epoch + 1n,
      winningSeq: taken.seq,
      receipt: taken.receipt,
    })
    expect(conflict?.winningCommitHash).toEqual(hash("commit", first.staged.commit))
    expect(conflict?.envelope?.message).toEqual(first.staged.commit)
    const delay = conflict?.retryAfter?.nanos ?? 0
    expect(delay).toBeGreaterThanOrEqual(50_000_000)
    expect(delay).toBeLessThanOrEqual(500_000_000)
    await alice.sync(elsewhere)
  })

  test("that are equal get the same answer, and another append with the same key is refused", async () => {
    const staged = await alice.stageText(elsewhere, "once")
    const answer = await alice.append(staged)
    expect(await alice.append(staged)).toEqual(answer)
    expect((await alice.append({ ...staged, idempotencyKey: randomBytes(16) })).seq).toBe(answer.seq)
    const update = await alice.stageUpdate(elsewhere)
    const committed = await alice.commit(update)
    // Both epochs have passed; only the answers had been lost.
    for (const [request, seq] of [
      [staged, answer.seq],
      [update.request, committed.seq],
    ] as const) {
      expect((await alice.append({ ...request, idempotencyKey: randomBytes(16) })).seq).toBe(seq)
    }
    const other = await alice.stageText(elsewhere, "twice")
    expect(await refusal(alice.append({ ...other, idempotencyKey: staged.idempotencyKey }))).toBe(
      "IDEMPOTENCY_MISMATCH",
    )
  })
})

describe("over every protocol", () => {
  test.each(Object.keys(protocols))("%s returns the winning commit", async (name) => {
    const transport = protocols[name]?.(server.url) ?? expect.fail("no such protocol")
    const calls = callsOver(transport, alice.credentials)
    const error = await errorOf(calls.conversations.appendMessage((await lost()).request))
    expect(await refusal(Promise.reject(error))).toBe("COMMIT_CONFLICT")
    expect(error?.findDetails(CommitConflictSchema)[0]).toMatchObject({ conversationId: elsewhere.id })
  })

  /** Returns a commit of an epoch that has passed. */
  async function lost(): Promise<StagedAppend> {
    const late = await alice.stageUpdate(elsewhere)
    await alice.update(elsewhere)
    return late
  }
})

describe("content over the size limit", () => {
  const application = (length: number) => ({
    conversationId: room.id,
    idempotencyKey: randomBytes(16),
    expectedEpoch: room.epoch,
    payload: { case: "application" as const, value: new Uint8Array(length) },
  })

  test("is refused as an attachment", async () => {
    const make = (size: number) =>
      refusal(
        alice.calls.attachments.createAttachment({
          ...{ conversationId: room.id, size: BigInt(size), sha256: randomBytes(32), idempotencyKey: randomBytes(16) },
        }),
      )
    expect(await make(maxBytes.attachment)).toBe("taken")
    expect(await make(maxBytes.attachment + 1)).toBe("INVALID_FIELD")
  })

  test("is refused before it is read", async () => {
    expect(await refusal(alice.append(application(256 * 1_024 + 1)))).toBe("INVALID_FIELD")
    expect(await refusal(alice.append(application(5 * 1_024 * 1_024)))).toBe("BODY_TOO_LARGE")
    const { message } = await engine.encrypt(room.state, randomBytes(3), randomBytes(33_001))
    const { request } = await alice.stageUpdate(room)
    const payload = { case: "application" as const, value: message }
    const tooLong = alice.append({ ...request, idempotencyKey: randomBytes(16), payload })
    expect(await refusal(tooLong)).toBe("MLS_MALFORMED MLS_TOO_LARGE")
  })

  test.each<[keyof CommitPayload, number, string]>([
    ["commit", 1.5 * 1_024 * 1_024 + 1, "INVALID_FIELD"],
    ["groupInfo", 64 * 1_024 + 1, "INVALID_FIELD"],
    ["welcome", 1_024 * 1_024 + 1, "INVALID_FIELD"],
    ["tree", 4 * 1_024 * 1_024, "BODY_TOO_LARGE"],
  ])("a %s of %i bytes is refused", async (field, length, expected) => {
    expect(await refusal(adding(() => ({ [field]: new Uint8Array(length) })))).toBe(expected)
  })
})

test("another tenant's conversation gets the same answer as a missing one", async () => {
  const tenantId = newId("ten", Date.now(), randomBytes(10))
  const inTenant = await newDevice(overGrpc(), await server.person(crypto.randomUUID(), { tenantId }))
  await inTenant.register()
  const error = await errorOf(inTenant.calls.conversations.getConversation({ conversationId: room.id }))
  const none = `cnv_${"0".repeat(26)}`
  const missing = await errorOf(inTenant.calls.conversations.getConversation({ conversationId: none }))
  expect(await refusal(Promise.reject(error))).toBe("RESOURCE_UNRESOLVED")
  expect(error?.rawMessage).toBe(missing?.rawMessage)
  expect(error?.findDetails(ErrorInfoSchema)).toEqual(missing?.findDetails(ErrorInfoSchema))
  expect(await refusal(inTenant.create({ case: "direct", value: { peerUserId: alice.userId } }))).toBe(
    "RESOURCE_UNRESOLVED",
  )
  const claimId = newClaimId()
  const claim = { conversationId: room.id, userIds: [alice.userId], claimId }
  expect(await refusal(inTenant.calls.keyPackages.claimKeyPackages(claim))).toBe("RESOURCE_UNRESOLVED")
})

test("a position past the end of any log returns no envelopes, and reports of it are refused", async () => {
  for (const far of [2n ** 53n, 2n ** 63n, 2n ** 64n - 1n]) {
    const read = await bob.calls.conversations.listMessages({ conversationId: room.id, afterSeq: far })
    expect(read.envelopes).toEqual([])
    const fault = ReportForkRequest_Fault.STATE_TAG_MISMATCH
    const report = { conversationId: room.id, epoch: far, seq: far, fault, stateTag: randomBytes(32) }
    expect(await refusal(bob.calls.conversations.reportFork(report))).toBe("INVALID_FIELD")
  }
})

test.runIf(isLong)("a fork report must name a commit that its device could process", async () => {
  const group = await alice.createGroup([bob.userId])
  await alice.update(group)
  await alice.add(group, { userIds: [carol.userId] })
  await carol.join()
  const { seq: said } = await alice.send(group, "hello")
  const report = (
    seq: bigint,
    epoch: bigint,
    fault: ReportForkRequest_Fault = ReportForkRequest_Fault.COMMIT_UNPROCESSABLE,
  ) => refusal(carol.calls.conversations.reportFork({ conversationId: group.id, epoch, seq, fault }))
  expect(await report(2n, 1n)).toBe("INVALID_FIELD")
  expect(await report(3n, 1n)).toBe("INVALID_FIELD")
  expect(await report(said, 3n)).toBe("INVALID_FIELD")
  expect(await report(3n, 2n, ReportForkRequest_Fault.FAULT_UNSPECIFIED)).toBe("INVALID_FIELD")
  expect(await report(3n, 2n)).toBe("taken")
})

test.runIf(isLong)("each of a user's devices renews only its own credential", async () => {
  const user = await server.person(crypto.randomUUID())
  const phone = await registered(user, 0)
  const laptop = await registered(user, 0)
  const phones = phone.identity.credential
  const before = laptop.identity.credential
  await laptop.renew(newLeafKey())
  expect(laptop.identity.credential).not.toEqual(before)
  const { devices } = await phone.calls.devices.listDevices({})
  const credentialOf = (id: string) => devices.find((one) => one.id === id)?.credential
  expect(credentialOf(phone.id)).toEqual(phones)
  expect(credentialOf(laptop.id)).toEqual(laptop.identity.credential)
  const laptops = laptop.identity.credential
  await phone.renew(newLeafKey())
  expect(phone.identity.credential).not.toEqual(phones)
  expect((await laptop.calls.devices.listDevices({})).devices.find(({ id }) => id === laptop.id)?.credential).toEqual(
    laptops,
  )
  const request = await deviceRequest(newLeafKey(), phone.place, phone.userId)
  for (const deviceId of [dave.id, "dev_00000000000000000000000000"]) {
    expect(await refusal(phone.calls.devices.renewCredential({ deviceId, deviceRequest: request }))).not.toBe("taken")
  }
})

describe("a quarantined conversation", () => {
  test.runIf(isLong)("accepts only the appends that add its members again", async () => {
    const group = await alice.createGroup([bob.userId])
    await bob.join()
    const { seq } = await alice.update(group)
    const report = {
      conversationId: group.id,
      epoch: 1n,
      seq,
      fault: ReportForkRequest_Fault.COMMIT_UNPROCESSABLE,
    }
    expect(await refusal(bob.calls.conversations.reportFork({ ...report, epoch: 2n }))).toBe("INVALID_FIELD")
    expect(await refusal(dave.calls.conversations.reportFork(report))).toBe("RESOURCE_UNRESOLVED")
    const { status } = await bob.calls.conversations.reportFork(report)
    expect(status).toBe(Conversation_Status.QUARANTINED)
    expect(await refusal(alice.send(group, "hello"))).toBe("CONVERSATION_QUARANTINED")
    expect(await refusal(alice.append(await alice.stageUpdate(group)))).toBe("CONVERSATION_QUARANTINED")
    const { directive } = await bob.calls.conversations.requestRejoin({ conversationId: group.id })
    const id = directive?.id ?? ""
    expect(await refusal(bob.calls.conversations.leaseDirective({ conversationId: group.id, directiveId: id }))).toBe(
      "NOT_MEMBER",
    )
    await alice.carryOut(group, id)
    await alice.carryOut(group, id)
    await bob.join()
    expect(bob.room(group.id).epoch).toBe(group.epoch)
    const { conversation } = await alice.calls.conversations.getConversation({ conversationId: group.id })
    expect(conversation?.status).toBe(Conversation_Status.ACTIVE)
    expect(await refusal(alice.send(group, "hello again"))).toBe("taken")
  })
})

describe("a directive", () => {
  test.runIf(isLong)("is leased once, then open to every member, and blocks other commits and messages", async () => {
    const group = await alice.createGroup([bob.userId, carol.userId])
    await bob.join()
    await carol.join()
    const conversationId = group.id
    const { directive } = await carol.calls.conversations.leaveConversation({ conversationId })
    const directiveId = directive?.id ?? expect.fail("no directive")
    const again = await carol.calls.conversations.leaveConversation({ conversationId })
    expect(again.directive?.id).toBe(directiveId)
    expect(await refusal(carol.send(carol.room(group.id), "still here"))).toBe("NOT_MEMBER")
    expect(await refusal(carol.calls.conversations.leaseDirective({ conversationId, directiveId }))).toBe("NOT_MEMBER")
    expect(await refusal(alice.authorizeCarryOut(group, directiveId))).toBe("DIRECTIVE_LEASED")
    const lease = () => bob.calls.conversations.leaseDirective({ conversationId, directiveId })
    const until = (await lease()).directive?.leasedUntil
    const error = await errorOf(alice.calls.conversations.leaseDirective({ conversationId, directiveId }))
    expect(await refusal(Promise.reject(error))).toBe("DIRECTIVE_LEASED")
    expect(["1", "2"]).toContain(error?.metadata.get("retry-after"))
    const proof = await bob.authorizeCarryOut(bob.room(group.id), directiveId)
    expect(await refusal(alice.authorizeCarryOut(group, directiveId))).toBe("DIRECTIVE_LEASED")
    expect(await refusal(alice.send(group, "within the grace"))).toBe("taken")
    server.advance(1_000)
    expect(await refusal(alice.append(await alice.stageUpdate(group)))).toBe("COMMIT_REQUIRED")
    expect(await refusal(alice.authorizeRemove(group, { userIds: [bob.userId] }))).toBe("COMMIT_REQUIRED")
    expect((await lease()).directive?.leasedUntil).toEqual(until)
    server.advance(1_000)
    await alice.calls.conversations.leaseDirective({ conversationId, directiveId })
    expect(await refusal(alice.authorizeCarryOut(group, directiveId))).toBe("taken")
    server.advance(3_000)
    const waiting = await errorOf(alice.send(group, "after the grace"))
    expect(await refusal(Promise.reject(waiting))).toBe("COMMIT_REQUIRED")
    expect(waiting?.findDetails(CommitRequiredSchema)[0]?.directive?.id).toBe(directiveId)
    const bobsGroup = await bob.sync(bob.room(group.id))
    await bob.commit(await bob.stageChange(bobsGroup, proof))
    await alice.sync(group)
    expect(await refusal(alice.send(group, "after the commit"))).toBe("taken")
    expect(await refusal(bob.calls.conversations.leaseDirective({ conversationId, directiveId }))).toBe("NOT_FOUND")
  })

  test.runIf(isLong)("lets a member renew its credential first, once for each credential", async () => {
    const group = await alice.createGroup([bob.userId, carol.userId])
    await carol.join()
    const { directive } = await carol.calls.conversations.leaveConversation({ conversationId: group.id })
    server.advance(1_000)
    const update = async () => refusal(alice.append(await alice.stageUpdate(group)))
    expect(await update()).toBe("COMMIT_REQUIRED")
    await alice.renew(newLeafKey())
    await alice.commit(await alice.stageUpdate(group, alice.identity))
    expect(await update()).toBe("COMMIT_REQUIRED")
    await alice.carryOut(group, directive?.id ?? "")
    expect(await update()).toBe("taken")
  })

  test("is never created for a direct conversation: its members are fixed", async () => {
    const { conversation } = await alice.create({ case: "direct", value: { peerUserId: dave.userId } })
    const conversationId = conversation?.id ?? expect.fail("not created")
    const again = await dave.create({ case: "direct", value: { peerUserId: alice.userId } })
    expect(again.conversation?.id).toBe(conversationId)
    expect(await refusal(alice.calls.conversations.leaveConversation({ conversationId }))).toBe("NOT_MEMBER")
    const add = { case: "add" as const, value: { userIds: [bob.userId], claimId: newClaimId() } }
    expect(await refusal(alice.calls.conversations.authorizeMembership({ conversationId, change: add }))).toBe(
      "NOT_MEMBER",
    )
    expect(await refusal(alice.create({ case: "direct", value: { peerUserId: alice.userId } }))).toBe("INVALID_FIELD")
  })
})
