import { isFailure, needsSignIn } from "../../errors.ts"
import { followBlocks } from "../blocking.ts"
import type { Context } from "../context.ts"
import { pause, pauseUnless, retryDelayMs } from "../conversation/backoff.ts"
import { addDevicesOf, addNewOwnDevices } from "../device/own-devices.ts"
import { isMessagingError } from "../errors.ts"
import { answeredId } from "../ids.ts"
import { keepAdvancing } from "../joining/first-contact.ts"
import { refillKeyPackages } from "../joining/key-packages.ts"
import { askForLostWelcome } from "../joining/lost-welcomes.ts"
import { askAfterMs, askForUnjoined } from "../joining/unjoined.ts"
import { joinAll } from "../joining/welcomes.ts"
import { applyEnvelopes } from "../receiving/apply.ts"
import { catchUp } from "../receiving/log.ts"
import { carryOutIfActive } from "../sending/directives.ts"
import { flushIfActive } from "../sending/queue.ts"
import { lookAgain } from "../verification/verification.ts"
import { inBackground, tryingAlone } from "./background.ts"
import { createHintTurns, type Hint } from "./hint-turns.ts"
import { sync } from "./sync.ts"

/** A stream without any message for this long is closed. Heartbeats arrive every 20 seconds. */
const silentMs = 60_000
/** A stream that lasted this long resets the backoff. */
const settledMs = 30_000

/**
 * Syncs, and then follows hints. A hint only announces that there is something to fetch, so a lost hint causes only a
 * delay.
 */
export async function run(context: Context, signal: AbortSignal): Promise<void> {
  const { clock } = context
  inBackground(context, undefined, () => keepAdvancing(context, signal))
  inBackground(context, undefined, async () => {
    await pauseUnless(clock, signal, askAfterMs)
    if (!signal.aborted) await askForUnjoined(context)
  })
  const turns = createHintTurns((hint) => tryingAlone(context, undefined, () => follow(context, hint)))
  for (let failures = 0; !signal.aborted; ) {
    const startedMs = clock.nowMs()
    try {
      await sync(context)
      for await (const hint of listen(context, signal)) await turns.take(hint)
    } catch (error) {
      if (signal.aborted) return
      if (isOver(error)) throw error
      context.emit({ is: "failed", conversationId: undefined, error })
    }
    // A stream that ends soon after its first message counts as a failure too.
    failures = clock.nowMs() - startedMs < settledMs ? failures + 1 : 1
    if (!signal.aborted) await pause(context.clock, retryDelayMs(context.random, failures))
  }
}

/**
 * Yields the hints of one stream. A stream without messages and heartbeats is closed, because its connection is lost.
 */
async function* listen({ calls, clock }: Context, signal: AbortSignal): AsyncGenerator<Hint> {
  const silence = new AbortController()
  let cancel = () => {}
  const wait = () => {
    cancel()
    cancel = clock.after(silentMs, () => silence.abort())
  }
  try {
    wait()
    const ended = AbortSignal.any([signal, silence.signal])
    for await (const { event } of calls.conversations.subscribe({ includeEnvelopes: true }, { signal: ended })) {
      cancel()
      yield event
      wait()
    }
  } finally {
    cancel()
  }
}

/** True if a reconnect cannot help: the device or session has ended, or the app has closed the messenger. */
const isOver = (error: unknown): boolean =>
  isMessagingError(error, "DEVICE_ENDED", "CLOSED") || needsSignIn(error) || isFailure(error, "DEVICE_REVOKED")

/**
 * Fetches the object of a hint. Hints about unknown conversations are ignored: a device joins only by a welcome.
 *
 * @throws MessagingError ANSWER_REFUSED for a malformed id.
 */
export async function follow(context: Context, event: Hint): Promise<void> {
  switch (event.case) {
    case "envelopeAvailable": {
      const { headSeq, envelopes } = event.value
      const conversationId = answeredId("cnv", event.value.conversationId)
      if (!(await context.has(conversationId))) return
      const conversation = context.conversation(conversationId)
      const { processedSeq } = await applyEnvelopes(conversation, envelopes)
      if (processedSeq !== undefined && processedSeq < headSeq) await catchUp(conversation)
      return
    }
    case "welcomeAvailable": {
      const conversationId = answeredId("cnv", event.value.conversationId)
      await joinAll(context)
      await askForLostWelcome(context, conversationId)
      if (!(await context.has(conversationId))) return
      const conversation = context.conversation(conversationId)
      await catchUp(conversation)
      return conversation.inTurn(() => flushIfActive(conversation))
    }
    case "keyPackageLow":
      return refillKeyPackages(context)
    case "deviceListChanged": {
      const userId = answeredId("prn", event.value.userId)
      inBackground(context, undefined, () => lookAgain(context, userId))
      return userId === context.owner.userId ? addNewOwnDevices(context) : addDevicesOf(context, userId)
    }
    case "directiveIssued": {
      const conversationId = answeredId("cnv", event.value.conversationId)
      if (!(await context.has(conversationId))) return
      return carryOutIfActive(context.conversation(conversationId))
    }
    case "blockListChanged":
      return followBlocks(context, event.value.version)
    case "heartbeat":
    case undefined:
      return
  }
}
