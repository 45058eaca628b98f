import { Refused } from "@signet/kernel/errors"
import type { LimitCounts } from "@signet/kernel/limits/ports"
import { hex } from "@signet/kernel/messaging/bytes"
import type { Objects } from "../env.ts"
import type { CounterObject } from "./object.ts"

/** Counts in one object per key, for the calls of all locations. */
export function createCounts(counters: Objects<CounterObject>): LimitCounts {
  const of = (key: Uint8Array) => counters.getByName(hex(key))
  return {
    take: (asks, locks, nowMs) =>
      counting(async () => {
        const [counted, locked] = await Promise.all([
          Promise.all(asks.map(({ key, window }) => of(key).take(window, nowMs))),
          Promise.all(locks.map((key) => of(key).lockedUntil(nowMs))),
        ])
        const untils = locked.filter((untilMs) => untilMs !== null)
        return { counted, lockedUntilMs: untils.length === 0 ? null : Math.max(...untils) }
      }),

    giveBack: (asks) =>
      counting(async () => {
        await Promise.all(asks.map(({ key }) => of(key).giveBack()))
      }),

    fail: (key, policy, nowMs) => counting(() => of(key).fail(policy, nowMs)),
  }
}

/** A call that cannot be counted is refused. */
async function counting<T>(count: () => Promise<T>): Promise<T> {
  try {
    return await count()
  } catch (cause) {
    throw new Refused("UNAVAILABLE", { cause })
  }
}
