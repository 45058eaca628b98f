import { createContextValues, createHandlerContext } from "@connectrpc/connect"
import { kAuth } from "@signet/guard/connect"
import { contextOf } from "@signet/kernel/authz/context"
import { parseId } from "@signet/kernel/ids"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import { directive } from "@signet/kernel/messaging/testing/records"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import { expect, test } from "vitest"
import { isLong } from "../../../../../test/support/effort.ts"
import type { SignedIn } from "../../../../../test/support/messaging/world.ts"
import { claimsOf } from "../../../../../test/support/people.ts"
import { describeOnPostgres, openTestStore } from "../../../../../test/support/postgres.ts"
import { kDevice } from "../../../../serving/call/calling-device.ts"
import { newDevice, place, putGroup } from "../../../../store/postgres/messaging/testing/world.ts"
import { freshId } from "../../../../store/postgres/testing/people.ts"
import { createAttendance } from "../../attendance.ts"
import { openMessagingWorld } from "../../testing/world.ts"
import { realAfter, separateBeats } from "../../timers.ts"
import { createStreams } from "./streams.ts"
import { subscribe } from "./subscribe.ts"

/** The context of a call by the device in its session. */
function calledBy(device: MessagingDevice, session: SignedIn) {
  return createHandlerContext({
    service: ConversationService,
    method: ConversationService.method.subscribe,
    protocolName: "grpc",
    requestMethod: "POST",
    url: "https://auth.example",
    contextValues: createContextValues()
      .set(kAuth, contextOf(JSON.parse(JSON.stringify(claimsOf(session.accessToken)))))
      .set(kDevice, { ...device, ...place }),
  })
}

describeOnPostgres("many streams", () => {
  test.runIf(isLong)("two hundred streams that open at once on a group of 250 are all answered", async () => {
    const store = await openTestStore("postgres")
    const world = await openMessagingWorld(store)
    try {
      const { deps, newDevice: registered } = world
      const { id, session } = await registered({ packages: 0 })
      const device =
        (await store.messaging.devices.find(parseId("dev", id) ?? expect.fail("no id"))) ?? expect.fail("no device")
      const others = Array.from({ length: 249 }, () => newDevice(freshId("prn")))
      const group = await putGroup(store.messaging, [device, ...others])
      const context = calledBy(device, session)
      const streaming = {
        ...deps,
        attendance: createAttendance(deps),
        after: realAfter,
        beats: separateBeats(realAfter),
        endingOf: async () => undefined,
        streams: createStreams({ most: 200 }),
      }
      const streams = Array.from({ length: 200 }, () => subscribe(streaming, context, { includeEnvelopes: false }))
      const told = await Promise.all(streams.map(async (stream) => (await stream.next()).value?.event))
      const { id: conversationId } = group
      for (const event of told) {
        expect(event).toMatchObject({ case: "envelopeAvailable", value: { conversationId, headSeq: 1n } })
      }
      await Promise.all(streams.map((stream) => stream.return(undefined)))
    } finally {
      await world.close()
      await store.close()
    }
  })
})

describeOnPostgres("a stream", () => {
  test("reports nothing of other users, even when a wakeup is misrouted", async () => {
    const store = await openTestStore("postgres")
    const world = await openMessagingWorld(store)
    try {
      const { deps, newDevice: registered } = world
      const { id, session } = await registered({ packages: 20 })
      const found = await store.messaging.devices.find(parseId("dev", id) ?? expect.fail("no id"))
      const device = found ?? expect.fail("no device")
      const other = newDevice(freshId("prn"))
      const group = await putGroup(store.messaging, [device, other])
      const elsewhere = await putGroup(store.messaging, [other])
      for (const conversationId of [group.id, elsewhere.id]) {
        await store.messaging.conversations.decideDirective(
          conversationId,
          () => ({ is: "issue", directive: { ...directive, userId: other.userId, deviceId: other.id } }),
          () => null,
        )
      }
      let tell: (hint: Hint) => void = () => expect.fail("nobody listens")
      const streaming = {
        ...deps,
        wakeups: {
          ...deps.wakeups,
          subscribe: (...[interest, hear]: Parameters<typeof deps.wakeups.subscribe>) => {
            tell = hear
            return deps.wakeups.subscribe(interest, hear)
          },
        },
        attendance: createAttendance(deps),
        after: realAfter,
        beats: separateBeats(realAfter),
        endingOf: async () => undefined,
        streams: createStreams({ most: 1 }),
      }
      const stream = subscribe(streaming, calledBy(device, session), { includeEnvelopes: false })
      const next = async () => (await stream.next()).value?.event
      expect(await next()).toMatchObject({ case: "envelopeAvailable", value: { conversationId: group.id } })
      const own: Hint = { is: "deviceList", userId: device.userId, version: 7n }
      const strange: Hint[] = [
        { is: "envelopes", conversationId: elsewhere.id, headSeq: 9n },
        { is: "directive", conversationId: elsewhere.id, directiveId: directive.id },
        { is: "directive", conversationId: group.id, directiveId: freshId("dir") },
        { is: "deviceList", userId: freshId("prn"), version: 9n },
        { is: "keyPackageLow", deviceId: other.id },
        { is: "revoked", deviceId: other.id },
      ]
      for (const hint of [...strange, own]) tell(hint)
      expect(await next()).toMatchObject({
        case: "deviceListChanged",
        value: { userId: device.userId, listVersion: 7n },
      })
      await stream.return(undefined)
    } finally {
      await world.close()
      await store.close()
    }
  })
})
