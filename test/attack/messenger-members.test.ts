// A hostile service tries to get a device added: it attributes a device to another user, directs that a device rejoin,
// or replays an old request. The messenger adds nobody whom its user did not ask for.
import { randomBytes } from "node:crypto"
import { create } from "@bufbuild/protobuf"
import {
  LeaseDirectiveResponseSchema,
  ListDirectivesResponseSchema,
} from "@signet/proto/messaging/v1/conversation_service"
import type { ListDevicesResponse } from "@signet/proto/messaging/v1/device_service"
import { DirectiveKind, DirectiveSchema } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import type { Context } from "../../clients/core/messaging/context.ts"
import { addDevicesOf } from "../../clients/core/messaging/device/own-devices.ts"
import type { MessengerEvent, Person } from "../../clients/core/messaging/events.ts"
import { idOf } from "../../clients/core/messaging/ids.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { carryOutDirectives } from "../../clients/core/messaging/sending/directives.ts"
import { newIntent, putIntent } from "../../clients/core/messaging/sending/intent-rows.ts"
import { isLong } from "../support/effort.ts"
import { type LyingTransport, lyingTransport } from "../support/messaging/lying-transport.ts"
import { type Messengers, messengersOn, type OpenedMessenger, systemClock } from "../support/messaging/messengers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let messengers: Messengers
let transport: LyingTransport
let ben: OpenedMessenger
let mallory: OpenedMessenger
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server)
  transport = lyingTransport(messengers.transport)
  ben = await messengers.newcomer("ben")
  mallory = await messengers.newcomer("mallory")
})
beforeEach(() => {
  transport.bend = undefined
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

test.each([
  ["one's own", true],
  ["another member's", false],
])("a device that the service calls %s, and that is somebody else's, is let in by nobody", async (_, isOwn) => {
  const gil = await messengers.newcomer("gil", { transport })
  const { id } = await gil.messenger.createGroupConversation([ben.person.userId])
  const { context } = await openContext(...messengers.optionsFor(mallory.person, mallory))
  const { devices: theirs } = await context.calls.devices.listDevices({})
  transport.bend = {
    method: "ListDevices",
    answer: (truth) => void (truth as ListDevicesResponse).devices.push(...theirs),
  }
  const failures: unknown[] = []
  const hear = (event: MessengerEvent) => event.is === "failed" && failures.push(event.error)
  if (isOwn) {
    gil.messenger.subscribe(hear)
    await gil.messenger.sync()
  } else {
    const clock = { ...systemClock, after: (_: number, run: () => void) => systemClock.after(0, run) }
    const setup = { store: gil.store, box: gil.box, clock, transport }
    const opened = await openContext(...messengers.optionsFor(gil.person, setup))
    opened.events.subscribe(hear)
    await addDevicesOf(opened.context, ben.person.userId)
  }
  transport.bend = undefined
  await gil.messenger.sync()
  expect((await gil.messenger.conversation(id))?.memberUserIds.toSorted()).toEqual(
    [gil.person.userId, ben.person.userId].toSorted(),
  )
  expect(failures).toContainEqual(expect.objectContaining({ name: "MessagingError", reason: "ANSWER_REFUSED" }))
})

/** Shows a messenger a directive to add a device again. @returns The failures that it reports. */
async function showRejoin(by: OpenedMessenger, id: string, target: Person): Promise<unknown[]> {
  const { context } = await openContext(...messengers.optionsFor(by.person, { ...by, transport }))
  const directive = create(DirectiveSchema, { id: "drv_1", kind: DirectiveKind.REJOIN, ...target })
  // A backend may have a proof signed in a member's name, so it answers with the proof of an addition that was
  // requested.
  const failures: unknown[] = []
  const asDirective: Context = {
    ...context,
    emit: (event) => event.is === "failed" && failures.push(event.error),
    calls: {
      ...context.calls,
      conversations: {
        ...context.calls.conversations,
        listDirectives: async () => create(ListDirectivesResponseSchema, { directives: [directive] }),
        leaseDirective: async () => create(LeaseDirectiveResponseSchema),
        authorizeMembership: ({ conversationId = "", baseEpoch = 0n, baseStateTag = new Uint8Array() }) => {
          const value = { deviceIds: [target.deviceId], claimId: idOf("clm", randomBytes(16)) }
          const change = { case: "add", value } as const
          const base = { conversationId, baseEpoch, baseStateTag }
          return context.calls.conversations.authorizeMembership({ ...base, change })
        },
      },
    },
  }
  await carryOutDirectives({ ...context.conversation(id), ...asDirective })
  return failures
}
const answerRefused = expect.objectContaining({ name: "MessagingError", reason: "ANSWER_REFUSED" })

test.runIf(isLong)("a rejoin directive adds no device that was never a member", async () => {
  const hal = await messengers.newcomer("hal", { transport })
  const { id } = await hal.messenger.createGroupConversation([ben.person.userId])
  const { userId } = mallory.person
  expect(await showRejoin(hal, id, { userId, deviceId: mallory.messenger.deviceId })).toEqual([answerRefused])
  expect((await hal.messenger.conversation(id))?.memberUserIds).not.toContain(userId)
})

test.runIf(isLong)("a rejoin directive adds no other device of a user whose device was removed", async () => {
  const ivy = await messengers.newcomer("ivy", { transport })
  const kim = await messengers.newcomer("kim")
  const { userId } = kim.person
  const { id } = await ivy.messenger.createGroupConversation([ben.person.userId, userId])
  await ivy.messenger.removeMembers(id, [userId])
  const ghost = await messengers.open(await kim.person.again())
  await ghost.messenger.sync()
  expect(await showRejoin(ivy, id, { userId, deviceId: ghost.messenger.deviceId })).toEqual([answerRefused])
  expect((await ivy.messenger.conversation(id))?.memberUserIds).not.toContain(userId)
})

test.runIf(isLong)(
  "a request from before a user's removal does not add the user's other device afterwards",
  async () => {
    const ida = await messengers.newcomer("ida", { transport })
    const jon = await messengers.newcomer("jon")
    const { id } = await ida.messenger.createGroupConversation([ben.person.userId, jon.person.userId])
    await ben.messenger.sync()
    const second = await messengers.open(await jon.person.again())
    await second.messenger.sync()
    const { context } = await openContext(...messengers.optionsFor(ida.person, { ...ida, transport }))
    // Requested when the device was new, but not done, because the service could not be reached.
    const waiting = newIntent(context, { case: "add", value: { deviceIds: [second.messenger.deviceId] } })
    await context.conversation(id).change(async () => ({ due: [putIntent(waiting)], result: undefined }))
    await ben.messenger.removeMembers(id, [jon.person.userId])
    await ida.messenger.sync()
    const left = [ida.person.userId, ben.person.userId].toSorted()
    expect((await ida.messenger.conversation(id))?.memberUserIds.toSorted()).toEqual(left)
  },
)

test.each<[string, (before: Uint8Array) => Uint8Array]>([
  ["from before", (before) => before],
  ["that is none", () => new Uint8Array(5)],
  ["that is not there", () => new Uint8Array()],
])("a lost device has not ended because the service says so, with a list %s", async (_, listOf) => {
  const lou = await messengers.newcomer("lou", { transport })
  const lost = await messengers.open(await lou.person.again())
  const { context } = await openContext(...messengers.optionsFor(lou.person, lou))
  const { deviceLists } = await context.calls.devices.listDeviceLists({ userId: lou.person.userId, limit: 20 })
  transport.bend = {
    method: "RevokeDevice",
    answer: (truth) => Object.assign(truth, { deviceList: listOf(deviceLists.at(-1) ?? expect.fail("no list")) }),
  }
  const { deviceId } = lost.messenger
  await expect(lou.messenger.revokeDevice(deviceId)).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
  transport.bend = undefined
  await lou.messenger.revokeDevice(deviceId)
  expect((await lou.messenger.devices()).find(({ id }) => id === deviceId)?.isRevoked).toBe(true)
})
