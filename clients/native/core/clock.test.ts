import { expect, test } from "vitest"
import { clock, tick } from "./clock.ts"
import { output, primitive } from "./host.ts"

let [wallMs, runMs] = [1_000_000, 50]
const wakes: number[] = []
Object.assign(globalThis, {
  host(operation: number, kind: number, id: number) {
    if (operation === primitive.NOW) return wallMs
    if (operation === primitive.MONOTONIC) return runMs * 1_000
    if (operation === primitive.OUTPUT && kind === output.WAKE_AT) wakes.push(id)
    return undefined
  },
})

test("timers run in order by the monotonic clock, and the host is asked for the earliest", () => {
  const ran: string[] = []
  clock.after(300, () => ran.push("late"))
  clock.after(100, () => ran.push("early"))
  const cancel = clock.after(200, () => ran.push("canceled"))
  clock.after(400, () => ran.push("last"))
  cancel()
  expect(wakes).toEqual([1_000_301, 1_000_101])
  // The wall clock jumps: nothing is due by it.
  wallMs += 3_600_000
  tick()
  expect([ran, wakes.at(-1)]).toEqual([[], 4_600_101])
  runMs += 350
  wallMs += 350
  tick()
  expect([ran, wakes.at(-1)]).toEqual([["early", "late"], 4_600_401])
  runMs += 50
  tick()
  expect([ran, wakes.at(-1)]).toEqual([["early", "late", "last"], 0])
})
