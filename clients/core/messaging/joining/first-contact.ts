// Advances waiting conversations by their creation, a welcome, or a reset.
import type { Context, Conversation } from "../context.ts"
import { pauseUnless } from "../conversation/backoff.ts"
import { isAway, rejoinsByItself } from "../conversation/status.ts"
import { rejoinIfDue } from "../receiving/equivocation.ts"
import { catchUp } from "../receiving/log.ts"
import { carryOutCreationOf, isWaitingForKeyPackages } from "../sending/creation.ts"
import { flushIfActive } from "../sending/queue.ts"
import { isWanted, resetIfAllowed } from "../sending/reset.ts"
import { deviceSpace } from "../store/store.ts"
import { trying } from "../sync/background.ts"
import { joinAll } from "./welcomes.ts"

/**
 * Tries once to make a conversation active and to send its queued messages. Changes nothing if another member must act.
 */
export async function advance(conversation: Conversation): Promise<void> {
  await conversation.inTurn(() => rejoinIfDue(conversation))
  const record = await conversation.record()
  if (record === undefined) return
  if (isWaitingForKeyPackages(record)) await carryOutCreationOf(conversation, record.creationId)
  else if (isWanted({ record })) {
    await joinAll(conversation)
    await conversation.inTurn(() => readAndReset(conversation))
  }
  await conversation.inTurn(() => flushIfActive(conversation))
}

/**
 * Reads the log to its end and resets the group. A reset drops the keys of unread messages. Runs in the conversation's
 * turn.
 */
export async function readAndReset(conversation: Conversation): Promise<void> {
  await catchUp(conversation)
  await resetIfAllowed(conversation)
}

/** No hint reports uploaded key packages or a member's departure, so the client polls. */
const firstMs = 2_000
const againMs = 20_000
const groupRounds = 15

/** Retries each waiting conversation until the signal aborts. */
export async function keepAdvancing(context: Context, signal: AbortSignal): Promise<void> {
  /** Conversations whose rejoin was requested, and that did not wait since. */
  const asked = new Set<string>()
  for (let round = 1; !signal.aborted; round++) {
    await pauseUnless(context.clock, signal, Math.min(firstMs * 2 ** (round - 1), againMs))
    if (signal.aborted) return
    for (const id of await context.store.spaces()) {
      if (id === deviceSpace) continue
      await trying(context, id, async () => {
        const record = await context.conversation(id).record()
        // Retried less often: a group's claim counts against the limit of each of its users, and a request for a rejoin
        // that was refused once is refused again.
        const isSlow = record?.isDirect === false || (asked.has(id) && !isAway(record))
        if (isSlow && round % groupRounds > 0) return
        asked.delete(id)
        if (rejoinsByItself(record)) asked.add(id)
        if (isAway(record) || rejoinsByItself(record)) await advance(context.conversation(id))
      })
    }
  }
}
