// A hostile service that joins a user to unrequested conversations, or shows another welcome than the one that was
// sent.
import { hash } from "@signet/canonical/hash"
import type { ConversationId } from "@signet/kernel/ids"
import { newId } from "@signet/kernel/ids"
import type { CreateConversationResponse, GetGroupInfoResponse } from "@signet/proto/messaging/v1/conversation_service"
import type { Welcome } from "@signet/proto/messaging/v1/records"
import type { ListWelcomesResponse } from "@signet/proto/messaging/v1/welcome_service"
import { afterAll, beforeAll, expect, test } from "vitest"
import { isLong, sample } from "../support/effort.ts"
import type { TestDevice } from "../support/messaging/device.ts"
import { randomBytes } from "../support/messaging/device-parts.ts"
import { type HostileWorld, newKeyPackage, noEvidence, startHostileWorld } from "../support/messaging/hostile.ts"
import type { LyingTransport } from "../support/messaging/lying-transport.ts"
import type { OpenedMessenger } from "../support/messaging/messengers.ts"
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

test.each<[string, boolean]>([
  ["with the proof that was asked for", false],
  ["with a proof for it", true],
])("the service cannot add a device that was not requested, %s", async (_, hasProof) => {
  const { keyPackage, reference } = await newKeyPackage(ghost)
  const { devices } = await mallory.calls.devices.listDevices({ userId: ann.person.userId })
  transport.bend = {
    method: "CreateConversation",
    async answer(truth) {
      const { authorization, conversation } = truth as CreateConversationResponse
      const [claimed] = authorization?.claim?.keyPackages ?? []
      if (authorization === undefined || conversation === undefined || claimed === undefined) return
      Object.assign(claimed, { deviceId: ghost.id, userId: ghost.userId, keyPackage, keyPackageRef: reference })
      authorization.keyPackageRefs = [reference]
      if (!hasProof) return
      const added = [{ credentialHash: hash("device-credential", ghost.identity.credential), keyPackageRef: reference }]
      const { bytes } = await server.messaging.deps.authority.issueProof(
        {
          place: { appId: server.app.id, tenantId: null },
          conversationId: conversation.id as ConversationId,
          mlsGroupId: conversation.mlsGroupId,
          op: "CREATE",
          baseEpoch: 0n,
          baseStateTag: null,
          added,
          removed: [],
          requester: devices[0]?.credentialHash ?? randomBytes(32),
          decisionId: newId("dcn", Date.now(), randomBytes(10)),
          issuedAtMs: Date.now(),
          policyVersion: 1n,
        },
        noEvidence,
      )
      authorization.proof = bytes
    },
  }
  const making = ann.messenger.createGroupConversation([mallory.userId])
  await expect(making).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
  transport.bend = undefined
})

test.runIf(isLong)("a replayed welcome adds no device again", async () => {
  transport.lie = undefined
  let kept: Welcome[] = []
  transport.bend = {
    method: "ListWelcomes",
    answer(truth) {
      kept = (truth as ListWelcomesResponse).welcomes.map((welcome) => ({ ...welcome }))
    },
  }
  const room = await mallory.createGroup([ann.person.userId])
  await ann.messenger.sync()
  transport.bend = { method: "ListWelcomes", answer: (truth) => Object.assign(truth, { welcomes: kept }) }
  await mallory.remove(room, { userIds: [ann.person.userId] })
  const refused: unknown[] = []
  const stop = ann.messenger.subscribe((event) => {
    if (event.is === "failed" && event.conversationId === room.id) refused.push(event.error)
  })
  await ann.messenger.sync()
  await ann.messenger.sync()
  stop()
  transport.bend = undefined
  expect((await ann.messenger.conversation(room.id))?.status).toBe("removed")
  expect(refused).toContainEqual(expect.objectContaining({ reason: "KEY_PACKAGE_REUSED" }))
})

test("a welcome to a later epoch does not replace the state of a member", async () => {
  let kept: Welcome[] = []
  transport.bend = {
    method: "ListWelcomes",
    answer(truth) {
      kept = (truth as ListWelcomesResponse).welcomes.map((one) => ({ ...one, commitSeq: one.commitSeq + 5n }))
    },
  }
  const room = await mallory.createGroup([ann.person.userId])
  await ann.messenger.sync()
  const before = await ann.messenger.conversation(room.id)
  expect(before?.status).toBe("active")
  transport.bend = { method: "ListWelcomes", answer: (truth) => Object.assign(truth, { welcomes: kept }) }
  const refused: unknown[] = []
  const stop = ann.messenger.subscribe((event) => {
    if (event.is === "failed" && event.conversationId === room.id) refused.push(event.error)
  })
  await ann.messenger.sync()
  stop()
  transport.bend = undefined
  const isIn = { reason: "WELCOME_REFUSED", message: "the device is already a member" }
  expect(refused).toEqual([expect.objectContaining(isIn)])
  expect(await ann.messenger.conversation(room.id)).toEqual(before)
})

test.each(
  sample<[string, (welcome: Welcome) => void]>(2, [
    ["names another proof", (welcome) => Object.assign(welcome, { proof: welcome.proof.slice().fill(0, 40, 50) })],
    [
      "names another receipt",
      (welcome) => Object.assign(welcome, { receipt: welcome.receipt.slice().fill(0, 40, 50) }),
    ],
    ["names another epoch", (welcome) => Object.assign(welcome, { epoch: welcome.epoch + 1n })],
    ["is for another kind of conversation", (welcome) => Object.assign(welcome, { conversationKind: 1 })],
  ]),
)("a welcome that %s is refused, and does not use up its key package", async (_, bend) => {
  transport.bend = {
    method: "ListWelcomes",
    answer: (truth) => (truth as ListWelcomesResponse).welcomes.forEach(bend),
  }
  const room = await mallory.createGroup([ann.person.userId])
  await ann.messenger.sync()
  expect(await ann.messenger.conversation(room.id)).toBeUndefined()
  transport.bend = undefined
  await ann.messenger.sync()
  expect((await ann.messenger.conversation(room.id))?.status).toBe("active")
})

test("a group whose GroupInfo differs from the receipt's is not joined and is reported", async () => {
  transport.bend = {
    method: "GetGroupInfo",
    answer(truth) {
      const { groupInfo } = truth as GetGroupInfoResponse
      groupInfo[groupInfo.length - 1] = 255 - (groupInfo.at(-1) ?? 0)
    },
  }
  const room = await mallory.createGroup([ann.person.userId])
  await ann.messenger.sync()
  transport.bend = undefined
  expect(await ann.messenger.conversation(room.id)).toBeUndefined()
  expect(transport.reports).toContainEqual(expect.objectContaining({ conversationId: room.id, epoch: 0n, seq: 1n }))
})

test.each([
  ["is none", "\ud800 ../.."],
  ["is another's", "wel_01kdvdna00edmtevk5ehj6axhg"],
])("a welcome under an id that %s blocks nothing once its own id is returned", async (_, id) => {
  transport.bend = {
    method: "ListWelcomes",
    answer: (truth) => {
      for (const one of (truth as ListWelcomesResponse).welcomes) one.id = id
    },
  }
  const room = await mallory.createGroup([ann.person.userId])
  await ann.messenger.sync()
  transport.bend = undefined
  await mallory.send(room, "after it")
  await ann.messenger.sync()
  const failures: unknown[] = []
  const stop = ann.messenger.subscribe((event) => {
    if (event.is === "failed" && event.conversationId === room.id) failures.push(event.error)
  })
  await ann.messenger.sync()
  stop()
  expect(failures).toEqual([])
  expect((await ann.messenger.timeline(room.id)).map(({ is }) => is)).toEqual(["message"])
})
