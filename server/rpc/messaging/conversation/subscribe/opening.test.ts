import { createContextValues, createHandlerContext } from "@connectrpc/connect"
import { kAuth } from "@signet/guard/connect"
import { contextOf } from "@signet/kernel/authz/context"
import { parseId } from "@signet/kernel/ids"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import { expect, test } from "vitest"
import { claimsOf } from "../../../../../test/support/people.ts"
import { describeOnPostgres, openTestStore } from "../../../../../test/support/postgres.ts"
import { kDevice } from "../../../../serving/call/calling-device.ts"
import { newDevice, place, putGroup } from "../../../../store/postgres/messaging/testing/world.ts"
import { freshId } from "../../../../store/postgres/testing/people.ts"
import { createAttendance } from "../../attendance.ts"
import { openMessagingWorld } from "../../testing/world.ts"
import { realAfter } from "../../timers.ts"
import { createStreams } from "./streams.ts"
import { subscribe } from "./subscribe.ts"

describeOnPostgres("many streams", () => {
  test("two hundred that open at once on a group of 250 are all answered", async () => {
    const store = await openTestStore("postgres")
    const world = await openMessagingWorld(store)
    try {
      const { deps, newDevice: registered } = world
      const { id, session } = await registered({ packages: 0 })
      const device =
        (await store.messaging.devices.find(parseId("dev", id) ?? expect.fail("no id"))) ?? expect.fail("no device")
      const others = Array.from({ length: 249 }, () => newDevice(freshId("prn")))
      const group = await putGroup(store.messaging, [device, ...others])
      const context = createHandlerContext({
        service: ConversationService,
        method: ConversationService.method.subscribe,
        protocolName: "grpc",
        requestMethod: "POST",
        url: "https://auth.example",
        contextValues: createContextValues()
          .set(kAuth, contextOf(JSON.parse(JSON.stringify(claimsOf(session.accessToken)))))
          .set(kDevice, { ...device, ...place }),
      })
      const streaming = {
        ...deps,
        attendance: createAttendance(deps),
        after: realAfter,
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
