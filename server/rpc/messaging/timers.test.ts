import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { type After, createBeatWheel, separateBeats } from "./timers.ts"

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test("a stream beats once in each heartbeat's time, the first time at most one slot late", () => {
  const beats = createBeatWheel(20_000)
  const times: number[] = []
  const began = Date.now()
  beats(() => times.push(Date.now() - began))
  vi.advanceTimersByTime(61_000)
  expect(times).toHaveLength(3)
  expect(times[0]).toBeGreaterThanOrEqual(20_000)
  expect(times[0]).toBeLessThanOrEqual(21_000)
  expect(times.slice(1).map((at, i) => at - (times[i] ?? 0))).toEqual([20_000, 20_000])
})

test("ten thousand streams have one timer, and none once they are closed", () => {
  const beats = createBeatWheel(20_000)
  let heard = 0
  const stops = Array.from({ length: 10_000 }, (_, i) => {
    if (i % 100 === 0) vi.advanceTimersByTime(10)
    return beats(() => heard++)
  })
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(20_000)
  expect(heard).toBe(10_000)
  for (const stop of stops) stop()
  expect(vi.getTimerCount()).toBe(0)
})

test("a stream that closes twice, or during a beat, affects no other stream", () => {
  const beats = createBeatWheel(20_000)
  const heard: string[] = []
  const stopFirst = beats(() => {
    heard.push("first")
    stopFirst()
    stopSecond()
  })
  const stopSecond = beats(() => heard.push("second"))
  beats(() => heard.push("third"))
  vi.advanceTimersByTime(41_000)
  stopFirst()
  // "second" was due in the same turn, which had begun.
  expect(heard.filter((name) => name !== "second")).toEqual(["first", "third", "third"])
  expect(vi.getTimerCount()).toBe(1)
})

test("where calls share no timers, a stream waits for one timer at a time", () => {
  const waiting = new Map<object, () => void>()
  const after: After = (_ms, call) => {
    const timer = {}
    waiting.set(timer, call)
    return () => waiting.delete(timer)
  }
  let heard = 0
  const stop = separateBeats(after)(() => heard++)
  for (let beat = 1; beat <= 3; beat++) {
    const [[timer, call] = expect.unreachable()] = waiting
    waiting.delete(timer)
    call()
    expect([heard, waiting.size]).toEqual([beat, 1])
  }
  stop()
  expect(waiting.size).toBe(0)
})
