import { Refused } from "@signet/kernel/errors"
import { placeHeld } from "@signet/kernel/messaging/moving"
import { isHeldFault } from "./moving/residence.ts"

const tries = 3

/**
 * Asks an object. What the runtime says may be asked again, is: an object that moved or whose machine went away. Only
 * for what may be done twice.
 *
 * @throws Refused PLACE_HELD where its place is being moved, or was. UNAVAILABLE when it does not come to an answer. What the object itself throws is a bug, and is thrown.
 */
export async function ask<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (let tried = 1; ; tried++) {
    try {
      return await call()
    } catch (fault) {
      if (isHeldFault(fault)) throw placeHeld()
      const { retryable, overloaded } = marksOf(fault)
      // Asking an object again that has too much to do would give it more.
      if (overloaded || (retryable && tried === tries)) throw new Refused("UNAVAILABLE", { cause: fault })
      if (!retryable) throw fault
      await new Promise((resolve) => setTimeout(resolve, 20 * 2 ** tried))
    }
  }
}

/** What the runtime writes on the errors that it makes; none of it on those that an object throws. */
function marksOf(fault: unknown): { retryable: boolean; overloaded: boolean } {
  const has = (mark: string) => typeof fault === "object" && fault !== null && Reflect.get(fault, mark) === true
  return { retryable: has("retryable") || has("durableObjectReset"), overloaded: has("overloaded") }
}
