import { expect, test } from "vitest"
import { createRefusalCache } from "./refusal-cache.ts"

test("a refusal is remembered until it ends", () => {
  const memory = createRefusalCache()
  memory.remember("a", 1_000)
  expect([memory.until("a", 999), memory.until("a", 1_000), memory.until("a", 0), memory.until("b", 0)]).toEqual([
    1_000,
    null,
    null,
    null,
  ])
})

test("the oldest key is evicted, and remembering a key again renews it", () => {
  const memory = createRefusalCache(2)
  for (const key of ["a", "b", "a", "c"]) memory.remember(key, 1_000)
  expect(["a", "b", "c"].map((key) => memory.until(key, 0))).toEqual([1_000, null, 1_000])
})
