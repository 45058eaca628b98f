import { expect, test } from "vitest"
import { pooledRandomBytes } from "./pooled-random.ts"

test("no bytes are returned twice, within a pool and beyond its end", () => {
  const drawn = Array.from({ length: 2_000 }, () => Buffer.from(pooledRandomBytes(16)).toString("hex"))
  expect(new Set(drawn).size).toBe(drawn.length)
  expect(drawn).not.toContain("00".repeat(16))
})

test("a value has memory of its own", () => {
  const [first, second] = [pooledRandomBytes(16), pooledRandomBytes(16)]
  expect(first.buffer).not.toBe(second.buffer)
  expect(first.buffer.byteLength).toBe(16)
})

test.each([0, 1, 255, 256, 257, 5_000])("%d bytes are %d bytes", (length) => {
  expect(pooledRandomBytes(length)).toHaveLength(length)
})
