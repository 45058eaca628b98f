import { expect, test } from "vitest"
import { rememberByKey } from "./remember-by-key.ts"

const keyOf = (value: number) => new Uint8Array(32).fill(value)

test("the value of a key is derived once for equal bytes", () => {
  const made: number[] = []
  const { of } = rememberByKey((key) => ({ made: made.push(key[0] ?? 0) }))
  expect(of(keyOf(1))).toBe(of(keyOf(1)))
  expect(of(keyOf(2))).not.toBe(of(keyOf(1)))
  expect(made).toEqual([1, 2])
})

test("an invalid key is not cached", () => {
  let asked = 0
  const { of } = rememberByKey(() => {
    asked++
    return undefined
  })
  expect([of(keyOf(1)), of(keyOf(1)), asked]).toEqual([undefined, undefined, 2])
})

test("an invalid key evicts no other", () => {
  const made: number[] = []
  const { of } = rememberByKey((key) => (key[0] === 9 ? undefined : { made: made.push(key[0] ?? 0) }), 1)
  for (const value of [1, 9, 1]) of(keyOf(value))
  expect(made).toEqual([1])
})

test("changed bytes are another key", () => {
  const { of } = rememberByKey((key) => ({ first: key[0] }))
  const key = keyOf(1)
  expect(of(key)).toEqual({ first: 1 })
  key[0] = 2
  expect(of(key)).toEqual({ first: 2 })
})

test("the least recently used key is evicted", () => {
  const made: number[] = []
  const { of } = rememberByKey((key) => ({ made: made.push(key[0] ?? 0) }), 2)
  for (const value of [1, 2, 1, 3, 1, 2]) of(keyOf(value))
  expect(made).toEqual([1, 2, 3, 2])
})
