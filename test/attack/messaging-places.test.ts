// One user in two places of an app: outside its tenants and in a tenant. A resource of one place cannot be reached from
// the other, although the user is a member of the conversation and owns the device.
import { newId } from "@signet/kernel/ids"
import { ReportForkRequest_Fault } from "@signet/proto/messaging/v1/conversation_service"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { newClaimId } from "../support/messaging/committing.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { randomBytes } from "../support/messaging/device-parts.ts"
import type { Room } from "../support/messaging/room.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"
import { refusal } from "./messaging-scene.ts"

let server: MessagingServer
/** Two devices of one user, and a friend's device in each place. */
let outside: TestDevice
let inside: TestDevice
let friendOutside: TestDevice
let friendInside: TestDevice
let room: Room
let attachmentId: string
let welcomeId: string
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  const tenantId = newId("ten", Date.now(), randomBytes(10))
  const registered = async (name: string, place = {}) => {
    const device = await newDevice(server.transport, await server.person(name, place))
    await device.register()
    await device.upload(3)
    return device
  }
  outside = await registered("somebody")
  inside = await registered("somebody", { tenantId })
  friendOutside = await registered("friend")
  friendInside = await registered("colleague", { tenantId })
  expect(inside.userId).toBe(outside.userId)
  room = await outside.createGroup([friendOutside.userId])
  const value = { size: 3n, sha256: randomBytes(32), idempotencyKey: randomBytes(16) }
  const { attachment } = await outside.calls.attachments.createAttachment({ conversationId: room.id, ...value })
  attachmentId = attachment?.id ?? expect.fail("no attachment")
  const [welcome] = await friendOutside.welcomes()
  welcomeId = welcome?.id ?? expect.fail("no welcome")
})
afterAll(() => server?.close())

type Call = () => Promise<unknown>

describe("from the other place", () => {
  const change = (value: object) => ({ conversationId: room.id, change: value }) as never
  test.each<[string, Call]>([
    ["its record", () => inside.calls.conversations.getConversation({ conversationId: room.id })],
    ["its log", () => inside.calls.conversations.listMessages({ conversationId: room.id })],
    ["its GroupInfo", () => inside.calls.conversations.getGroupInfo({ conversationId: room.id })],
    ["its tree", () => inside.calls.conversations.getTree({ conversationId: room.id, treeHash: "0".repeat(64) })],
    ["its directives", () => inside.calls.conversations.listDirectives({ conversationId: room.id })],
    ["an acknowledgement", () => inside.calls.conversations.ackMessages({ conversationId: room.id })],
    ["leaving", () => inside.calls.conversations.leaveConversation({ conversationId: room.id })],
    ["coming back", () => inside.calls.conversations.requestRejoin({ conversationId: room.id })],
    ["a message", async () => inside.append(await outside.stageText(room, "hello"))],
    ["a commit", async () => inside.append(await outside.stageUpdate(room))],
    [
      "an addition",
      () =>
        inside.calls.conversations.authorizeMembership(
          change({ case: "add", value: { userIds: [friendInside.userId], claimId: newClaimId() } }),
        ),
    ],
    [
      "a removal",
      () =>
        inside.calls.conversations.authorizeMembership(
          change({ case: "remove", value: { userIds: [friendOutside.userId] } }),
        ),
    ],
    [
      "a claim",
      () =>
        inside.calls.keyPackages.claimKeyPackages({
          conversationId: room.id,
          userIds: [friendInside.userId],
          claimId: newClaimId(),
        }),
    ],
    [
      "a report",
      () =>
        inside.calls.conversations.reportFork({
          ...{ conversationId: room.id, epoch: 0n, seq: 1n, stateTag: randomBytes(32) },
          fault: ReportForkRequest_Fault.STATE_TAG_MISMATCH,
        }),
    ],
    [
      "an upload",
      () =>
        inside.calls.attachments.createAttachment({
          ...{ conversationId: room.id, size: 3n, sha256: randomBytes(32), idempotencyKey: randomBytes(16) },
        }),
    ],
    ["its attachment", () => inside.calls.attachments.getAttachment({ attachmentId })],
    ["a part of it", () => inside.calls.attachments.uploadPart({ attachmentId, index: 0, data: randomBytes(3) })],
    ["its deletion", () => inside.calls.attachments.deleteAttachment({ attachmentId })],
  ])("%s is not there", async (_, call) => {
    expect(await refusal(call())).toBe("RESOURCE_UNRESOLVED")
  })

  test("no list contains the conversation or the other device", async () => {
    expect((await inside.calls.conversations.listConversations({})).conversations).toEqual([])
    const { devices } = await friendInside.calls.devices.listDevices({ userId: outside.userId })
    expect(devices.map(({ id }) => id)).toEqual([inside.id])
  })

  test("a user and their device are not found in a place where they are not", async () => {
    const claim = (targets: { userIds?: string[]; deviceIds?: string[] }) => {
      const value = { ...targets, claimId: newClaimId() }
      return outside.calls.keyPackages.claimKeyPackages({ conversationId: room.id, ...value })
    }
    // A user of both places whose only device is in the other place.
    expect(await refusal(claim({ userIds: [friendInside.userId] }))).toBe("NO_KEY_PACKAGE")
    expect(await refusal(claim({ deviceIds: [friendInside.id] }))).toBe("RESOURCE_UNRESOLVED")
    expect(await refusal(claim({ deviceIds: [inside.id] }))).toBe("RESOURCE_UNRESOLVED")
    expect(await refusal(claim({ deviceIds: ["dev_00000000000000000000000000"] }))).toBe("RESOURCE_UNRESOLVED")
    expect(await refusal(claim({ deviceIds: [friendOutside.id] }))).toBe("taken")
  })

  test("the other device can be neither revoked nor renewed", async () => {
    expect(await refusal(inside.calls.devices.revokeDevice({ deviceId: outside.id }))).not.toBe("taken")
    expect(await refusal(outside.calls.keyPackages.getInventory({}))).toBe("taken")
  })

  test("another device's welcome is not found", async () => {
    const consume = { welcomeId, idempotencyKey: randomBytes(16) }
    expect(await refusal(inside.calls.welcomes.consumeWelcome(consume))).toBe("NOT_FOUND")
  })
})

test("the conversation is unchanged", async () => {
  const { conversation } = await outside.calls.conversations.getConversation({ conversationId: room.id })
  expect([conversation?.epoch, conversation?.headSeq, conversation?.directives]).toEqual([room.epoch, room.seq, []])
  expect((await outside.calls.attachments.getAttachment({ attachmentId })).attachment?.missingParts).toEqual([0])
  expect((await outside.update(room)).epoch).toBe(room.epoch)
})
