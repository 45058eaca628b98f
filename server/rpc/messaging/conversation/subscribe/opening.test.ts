import { timestampMs } from "@bufbuild/protobuf/wkt"
import { createContextValues, createHandlerContext } from "@connectrpc/connect"
import { kAuth } from "@signet/guard/connect"
import { contextOf } from "@signet/kernel/authz/context"
import { parseId } from "@signet/kernel/ids"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import { directive } from "@signet/kernel/messaging/testing/records"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import {
  ConversationService,
  type SubscribeResponse,
  type SubscribeResponse_Heartbeat,
} from "@signet/proto/messaging/v1/conversation_service"
import { expect, test, vi } from "vitest"
import { isLong } from "../../../../../test/support/effort.ts"
import type { SignedIn } from "../../../../../test/support/messaging/world.ts"
import { claimsOf } from "../../../../../test/support/people.ts"
import { describeOnPostgres, openTestStore } from "../../../../../test/support/postgres.ts"
import { kDevice } from "../../../../serving/call/calling-device.ts"
import { kDirectWrite } from "../../../../serving/direct-write.ts"
import { newDevice, place, putGroup } from "../../../../store/postgres/messaging/testing/world.ts"
import { freshId } from "../../../../store/postgres/testing/people.ts"
import { createAttendance } from "../../attendance.ts"
import { openMessagingWorld } from "../../testing/world.ts"
import { realAfter, separateBeats } from "../../timers.ts"
import { createRosters } from "./rosters.ts"
import { createStreams } from "./streams.ts"
import { subscribe } from "./subscribe.ts"
import { separateTails } from "./tails.ts"

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
        rosters: createRosters(),
        readTail: separateTails(deps),
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
        rosters: createRosters(),
        readTail: separateTails(deps),
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

  test("writes heartbeats directly while its handler waits, and ends once three were taken by nobody", async () => {
    const store = await openTestStore("postgres")
    const world = await openMessagingWorld(store)
    try {
      const { id, session } = await world.newDevice({ packages: 3 })
      const found = await store.messaging.devices.find(parseId("dev", id) ?? expect.fail("no id"))
      let beat: () => void = () => expect.fail("there are no heartbeats")
      const streaming = {
        ...world.deps,
        attendance: createAttendance(world.deps),
        after: realAfter,
        beats: (call: () => void) => {
          beat = call
          return () => undefined
        },
        endingOf: async () => undefined,
        rosters: createRosters(),
        readTail: separateTails(world.deps),
        streams: createStreams({ most: 1 }),
      }
      const written: unknown[] = []
      let isSlow = false
      const context = calledBy(found ?? expect.fail("no device"), session)
      context.values.set(kDirectWrite, { isOpen: true, write: (message) => !isSlow && written.push(message) > 0 })
      const stream = subscribe(streaming, context, { includeEnvelopes: false })
      expect((await stream.next()).value?.event.case).toBe("keyPackageLow")

      // The reader has not asked for the next event: the handler does not wait.
      beat()
      expect(written).toEqual([])
      expect((await stream.next()).value?.event.case).toBe("heartbeat")

      const next = stream.next()
      // More than the number after which an untaken heartbeat ends the stream.
      for (let count = 1; count <= 10; count++) {
        await vi.waitFor(() => {
          beat()
          expect(written.length).toBeGreaterThanOrEqual(count)
        })
      }
      const { at } = (written[0] as SubscribeResponse).event.value as SubscribeResponse_Heartbeat
      expect(Math.abs(timestampMs(at ?? expect.fail("no time")) - Date.now())).toBeLessThan(60_000)

      isSlow = true
      beat()
      expect((await next).value?.event.case).toBe("heartbeat")
      for (let count = 1; count <= 4; count++) beat()
      await expect(stream.next()).rejects.toMatchObject({ reason: "UNAVAILABLE" })
    } finally {
      await world.close()
      await store.close()
    }
  })
})
