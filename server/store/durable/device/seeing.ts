// What conversations say of themselves to one of their devices, asked from the device's object: what a call of the Worker
// may ask of others is bounded, and each call of an object may ask as much again.
import type { ConversationId } from "@signet/kernel/ids"
import { inParallel } from "../in-parallel.ts"

/** Undefined where it is none of the device's. Null where it did not answer: the Worker asks there itself. */
export type Seen<One> = One | undefined | null

/** In one call of the device's object. */
export const seenAtOnce = 32

export const seeAll = <One>(
  ids: readonly ConversationId[],
  see: (id: ConversationId) => Promise<One | undefined>,
): Promise<readonly Seen<One>[]> => inParallel(ids, (id) => see(id).catch(() => null))
