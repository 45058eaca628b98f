// Reads the conversations of a device from the device's object: a call of the Worker may make a bounded number of
// subrequests, and each object call has a bound of its own.
import type { ConversationId } from "@signet/kernel/ids"
import { inParallel } from "../in-parallel.ts"

/** Undefined if the device may not see it. Null without an answer: the Worker then reads it directly. */
export type Seen<One> = One | undefined | null

/** The most conversations in one call of the device's object. */
export const seenAtOnce = 32

export const seeAll = <One>(
  ids: readonly ConversationId[],
  see: (id: ConversationId) => Promise<One | undefined>,
): Promise<readonly Seen<One>[]> => inParallel(ids, (id) => see(id).catch(() => null))
