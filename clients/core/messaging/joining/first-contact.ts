// A conversation that waits is brought one step further: by its creation, by a welcome, or by a reset.
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import type { Context, Conversation } from "../context.ts"
import type { Ambient } from "../deps.ts"
import { catchUp } from "../receiving/log.ts"
import { carryOutCreationOf, isWaitingForKeyPackages } from "../sending/creation.ts"
import { flushIfActive } from "../sending/queue.ts"
import { isWanted, resetIfAllowed } from "../sending/reset.ts"
import { deviceSpace } from "../store/store.ts"
import { trying } from "../sync/background.ts"
import { joinAll } from "./welcomes.ts"

/** Tries once to become active, and sends what waits. Changes nothing where others have to act first. */
export async function advance(conversation: Conversation): Promise<void> {
  const record = await conversation.record()
  if (record === undefined) return
  if (isWaitingForKeyPackages(record)) await carryOutCreationOf(conversation, record.creationId)
  else if (isWanted({ record })) {
    await joinAll(conversation)
    await conversation.inTurn(() => readAndReset(conversation))
  }
  await conversation.inTurn(() => flushIfActive(conversation))
}

/** Reads the log to its end before the reset, which drops the keys of everything that is unread. Runs in the turn of the conversation. */
export async function readAndReset(conversation: Conversation): Promise<void> {
  await catchUp(conversation)
  await resetIfAllowed(conversation)
}

/** Nobody tells when key packages are uploaded, or a member has gone. */
const firstMs = 2_000
const againMs = 20_000
const groupRounds = 15

/** Tries again for each conversation that waits, until the signal ends it. */
export async function keepAdvancing(context: Context, signal: AbortSignal): Promise<void> {
  for (let round = 1; !signal.aborted; round++) {
    await pauseUnless(context, signal, Math.min(firstMs * 2 ** (round - 1), againMs))
    if (signal.aborted) return
    for (const id of await context.store.spaces()) {
      if (id === deviceSpace) continue
      await trying(context, id, async () => {
        const record = await context.conversation(id).record()
        // A group's claim is counted for each of its users.
        if (record?.isDirect === false && round % groupRounds > 0) return
        if (record?.status === Status.WAITING || record?.status === Status.STRANDED)
          await advance(context.conversation(id))
      })
    }
  }
}

/** Ends with the signal: no timer outlives it. */
function pauseUnless({ clock }: Pick<Ambient, "clock">, signal: AbortSignal, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, end)
    signal.addEventListener("abort", end, { once: true })
    function end() {
      cancel()
      signal.removeEventListener("abort", end)
      resolve()
    }
  })
}
