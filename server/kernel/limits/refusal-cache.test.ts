import { expect, test } from "vitest"
import { createRefusalCache, recheckMs } from "./refusal-cache.ts"

test("a refusal is remembered until it ends", () => {
  const memory = createRefusalCache()
  memory.remember("a", 1_000, 0)
  expect([memory.until("a", 999), memory.until("a", 1_000), memory.until("a", 0), memory.until("b", 0)]).toEqual([
    1_000,
    null,
    null,
    null,
  ])
})

test("the oldest key is evicted, and remembering a key again renews it", () => {
  const memory = createRefusalCache(2)
  for (const key of ["a", "b", "a", "c"]) memory.remember(key, 1_000, 0)
  expect(["a", "b", "c"].map((key) => memory.until(key, 0))).toEqual([1_000, null, 1_000])
})

test("a long refusal is asked for again, and all are forgotten after one was lifted", () => {
  const memory = createRefusalCache()
  memory.remember("a", 86_400_000, 500)
  const at = (nowMs: number) => memory.until("a", nowMs)
  expect([at(500 + recheckMs - 1), at(500 + recheckMs)]).toEqual([86_400_000, null])
  memory.remember("a", 86_400_000, 500)
  memory.clear()
  expect(at(500)).toBeNull()
})
