import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import type { SubscribeResponse } from "@signet/proto/messaging/v1/conversation_service"
import { isFailure, needsSignIn } from "../../errors.ts"
import type { Context } from "../context.ts"
import { addDevicesOf, addOwnDevices } from "../device/own-devices.ts"
import { isMessagingError } from "../errors.ts"
import { answeredId } from "../ids.ts"
import { refillKeyPackages } from "../joining/key-packages.ts"
import { joinAll } from "../joining/welcomes.ts"
import { takeIn } from "../receiving/inbox.ts"
import { catchUp } from "../receiving/log.ts"
import { carryOutDue } from "../sending/carry-out.ts"
import { lookAgain } from "../verification/verification.ts"
import { pause, retryDelayMs } from "./pause.ts"
import { sync } from "./sync.ts"
import { inBackground } from "./trying.ts"

/**
 * Syncs, and then follows hints. A hint says that there is something to fetch: what counts is what is fetched, so one
 * that is lost costs time only.
 */
export async function run(context: Context, signal: AbortSignal): Promise<void> {
  const { conversations } = context.calls
  for (let failures = 0; !signal.aborted; ) {
    try {
      await sync(context)
      for await (const { event } of conversations.subscribe({ includeEnvelopes: true }, { signal })) {
        failures = 0
        inBackground(context, undefined, () => follow(context, event))
      }
    } catch (error) {
      if (signal.aborted) return
      if (isOver(error)) throw error
      context.emit({ is: "failed", conversationId: undefined, error })
    }
    failures++
    if (!signal.aborted) await pause(context.clock, retryDelayMs(context.random, failures))
  }
}

/** Whether coming back could not help: the device or the session is no more, or the app closed the messenger. */
const isOver = (error: unknown): boolean =>
  isMessagingError(error, "DEVICE_ENDED", "CLOSED") || needsSignIn(error) || isFailure(error, "DEVICE_REVOKED")

/**
 * Fetches what a hint is about. A conversation that is not here gets nothing: what leads into one is a welcome.
 *
 * @throws MessagingError ANSWER_REFUSED for a name that is none.
 */
export async function follow(context: Context, event: SubscribeResponse["event"]): Promise<void> {
  switch (event.case) {
    case "envelopeAvailable": {
      const { headSeq, envelopes } = event.value
      const conversationId = answeredId("cnv", event.value.conversationId)
      if (!(await context.has(conversationId))) return
      const { processedSeq } = await takeIn(context, conversationId, envelopes)
      if (processedSeq !== undefined && processedSeq < headSeq) await catchUp(context, conversationId)
      return
    }
    case "welcomeAvailable": {
      const conversationId = answeredId("cnv", event.value.conversationId)
      await joinAll(context)
      if (await context.has(conversationId)) await catchUp(context, conversationId)
      return
    }
    case "keyPackageLow":
      return refillKeyPackages(context)
    case "deviceListChanged": {
      const userId = answeredId("prn", event.value.userId)
      inBackground(context, undefined, () => lookAgain(context, userId))
      return userId === context.owner.userId ? addOwnDevices(context) : addDevicesOf(context, userId)
    }
    case "directiveIssued": {
      const conversationId = answeredId("cnv", event.value.conversationId)
      if (!(await context.has(conversationId))) return
      const { record } = await context.door(conversationId).held()
      if (record?.status !== Status.ACTIVE) return
      return context.lane(conversationId, () => carryOutDue(context, conversationId))
    }
    case "heartbeat":
    case undefined:
      return
  }
}
