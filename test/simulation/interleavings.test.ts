import { describe, expect, test, vi } from "vitest"
import { effort, isLong } from "../support/effort.ts"
import { type Order, ordersOf, play, scenarios } from "./interleavings.ts"

vi.setConfig({ testTimeout: effort(180_000, 300_000, 7_200_000) })

const end = Number.POSITIVE_INFINITY
/** In the short form every so many orders with two switches; in the long form every few; at night all. */
const apart = effort(1_200, 40, 1)

describe("two tabs of a device send each message and each commit once, in every order of their steps", () => {
  test.runIf(isLong).each(scenarios)("$name", async (scenario) => {
    const { taken, violations } = await play(scenario, { begins: "left", steps: [end, end] })
    expect(violations).toEqual([])
    // Without steps there would be no orders.
    expect(Math.min(taken.left, taken.right)).toBeGreaterThan(5)
    const all = ordersOf(taken)
    const chosen: Order[] = [...scenario.worst, ...all.filter((_, i) => i % apart === 0)]
    for (const { begins, steps } of chosen) {
      const played = await play(scenario, { begins, steps })
      expect(played.violations, `${begins} begins, ${steps.join(" and ")} steps`).toEqual([])
    }
  })
})
