import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { countFailure, type Lockout } from "./lockout.ts"
import type { LockoutPolicy } from "./policy.ts"

const policy: LockoutPolicy = { failures: 5, seconds: 900, lockSeconds: 900, mostLockSeconds: 86_400 }
const minute = 60_000

/** Failures at these times, in milliseconds. */
function failAt(times: readonly number[], of = policy): Lockout {
  let state: Lockout | undefined
  for (const time of times) state = countFailure(state, of, time).state
  if (state === undefined) throw new Error("no failure")
  return state
}
const five = (at: number) => Array<number>(5).fill(at)

describe("a lock", () => {
  test.each<[string, readonly number[], number]>([
    ["four failures lock nothing", [0, 1, 2, 3], 0],
    ["the fifth within the time locks", [0, 1, 2, 3, 4], 4 + 15 * minute],
    ["failures before the window do not count", [0, 1, 2, 3, 15 * minute], 0],
    ["attempts while it lasts do not prolong it", [...five(0), 1, 2, 3, 4, 5, 6, 7], 15 * minute],
    ["the second in a row is twice as long", [...five(0), ...five(15 * minute)], 45 * minute],
    ["the third four times", [...five(0), ...five(15 * minute), ...five(45 * minute)], 105 * minute],
  ])("%s", (_, times, lockedUntilMs) => {
    expect(failAt(times).lockedUntilMs).toBe(lockedUntilMs)
  })

  test("grows to the maximum lock time and no further", () => {
    let state: Lockout | undefined
    let now = 0
    const lengths: number[] = []
    for (let i = 0; i < 40; i++) {
      for (let j = 0; j < 5; j++) state = countFailure(state, policy, now).state
      lengths.push(((state?.lockedUntilMs ?? 0) - now) / minute)
      now = state?.lockedUntilMs ?? 0
    }
    expect(lengths.slice(0, 8)).toEqual([15, 30, 60, 120, 240, 480, 960, 1_440])
    expect(new Set(lengths.slice(8))).toEqual(new Set([1_440]))
  })

  test("is reset one maximum lock time after it ended", () => {
    const later = 15 * minute + 1_440 * minute
    expect(failAt([...five(0), ...five(later - 1)]).lockedUntilMs).toBe(later - 1 + 30 * minute)
    expect(failAt([...five(0), ...five(later)]).lockedUntilMs).toBe(later + 15 * minute)
  })

  test("never counts more failures than the policy allows", () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 300 })
    const small = { failures: 4, seconds: 60, lockSeconds: 60, mostLockSeconds: 240 }
    fc.assert(
      fc.property(gaps, (gaps) => {
        let state: Lockout | undefined
        let now = 0
        const counted: number[] = []
        for (const gap of gaps) {
          now += gap
          const next = countFailure(state, small, now)
          if (next.counted) counted.push(now)
          state = next.state
        }
        // Two adjacent windows may together count one less than two windows' worth.
        for (const from of counted) {
          const within = counted.filter((at) => at >= from && at < from + 60_000)
          expect(within.length).toBeLessThanOrEqual(2 * small.failures - 1)
        }
      }),
    )
  })
})
