import { Refused } from "@signet/kernel/errors"
import { placeHeld } from "@signet/kernel/messaging/moving"
import { isHeldFault } from "./moving/residence.ts"

const tries = 3

/**
 * Calls an object, and retries where the runtime permits it: the object moved, or its machine failed. Only for
 * idempotent calls.
 *
 * @throws Refused PLACE_HELD when its place is being moved or was moved; UNAVAILABLE without an answer. An error of the
 *   object itself is a bug and is rethrown.
 */
export async function ask<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (let tried = 1; ; tried++) {
    try {
      return await call()
    } catch (fault) {
      if (isHeldFault(fault)) throw placeHeld()
      const { retryable, overloaded } = marksOf(fault)
      // A retry would add to the load of an overloaded object.
      if (overloaded || (retryable && tried === tries)) throw new Refused("UNAVAILABLE", { cause: fault })
      if (!retryable) throw fault
      await new Promise((resolve) => setTimeout(resolve, 20 * 2 ** tried))
    }
  }
}

/** The runtime's marks on its own errors; errors that an object throws have none. */
function marksOf(fault: unknown): { retryable: boolean; overloaded: boolean } {
  const has = (mark: string) => typeof fault === "object" && fault !== null && Reflect.get(fault, mark) === true
  return { retryable: has("retryable") || has("durableObjectReset"), overloaded: has("overloaded") }
}
