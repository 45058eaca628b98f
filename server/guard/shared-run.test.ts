import { expect, onTestFinished, test, vi } from "vitest"
import { createSharedRun } from "./shared-run.ts"

const clock = { nowMs: () => performance.now() }

test("concurrent callers share one run, and all of them get its failure", async () => {
  const shared = createSharedRun<number>(clock, 1_000)
  let runs = 0
  const run = async () => {
    await Promise.resolve()
    if (++runs === 1) throw new Error("down")
    return runs
  }
  const first = await Promise.allSettled([shared("a", run), shared("a", run)])
  expect(first.map(({ status }) => status)).toEqual(["rejected", "rejected"])
  expect(await Promise.all([shared("a", run), shared("a", run), shared("b", run)])).toEqual([2, 2, 3])
})

test("a run without an outcome does not block callers forever", async () => {
  const shared = createSharedRun<string>(clock, 20)
  let runs = 0
  const run = () => (++runs === 1 ? new Promise<string>(() => {}) : Promise.resolve("answered"))
  shared("a", run)
  expect(await Promise.all([shared("a", run), shared("a", run)])).toEqual(["answered", "answered"])
  expect(await shared("a", run)).toBe("answered")
})

test("a late outcome does not replace that of the newer run", async () => {
  const shared = createSharedRun<string>(clock, 100)
  const late = Promise.withResolvers<string>()
  const first = shared("a", () => late.promise)
  const next = Promise.withResolvers<string>()
  const joined = shared("a", () => next.promise)
  await new Promise((resolve) => setTimeout(resolve, 130))
  late.resolve("late")
  expect(await first).toBe("late")
  const third = shared("a", async () => "not run")
  next.resolve("next")
  expect(await Promise.all([joined, third])).toEqual(["next", "next"])
})

test("a caller who arrives after the longest time does not wait for the old run", async () => {
  let nowMs = 0
  const shared = createSharedRun<string>({ nowMs: () => nowMs }, 2_000_000)
  shared("a", () => new Promise(() => undefined))
  nowMs += 2_000_000
  expect(await shared("a", async () => "answered")).toBe("answered")
})

test("callers who give up waiting together share one newer run", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] })
  onTestFinished(() => void vi.useRealTimers())
  const shared = createSharedRun<number>({ nowMs: () => 0 }, 20)
  const newer = Promise.withResolvers<number>()
  let runs = 0
  const run = () => (++runs === 1 ? new Promise<number>(() => undefined) : newer.promise)
  shared("a", run)
  const joined = [shared("a", run), shared("a", run)]
  await vi.advanceTimersByTimeAsync(20)
  newer.resolve(7)
  expect(await Promise.all(joined)).toEqual([7, 7])
  expect(runs).toBe(2)
})
