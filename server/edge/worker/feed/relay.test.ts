import { expect, test } from "vitest"
import { createRelay, freshMs } from "./relay.ts"

const end = "/auth/revocations?after=7&wait=0"

function setUp() {
  const state = { nowMs: 1_000, asked: [] as string[], isUp: true }
  const relay = createRelay({
    clock: { nowMs: () => state.nowMs },
    ask: async (path) => {
      state.asked.push(path)
      if (!state.isUp) throw new Error("down")
      return `${path} ${state.asked.length}`
    },
  })
  return { state, relay }
}

test("readers at the same sequence number share one answer for half a second", async () => {
  const { state, relay } = setUp()
  const answers = await Promise.all(Array.from({ length: 50 }, () => relay(end)))
  expect(new Set(answers)).toEqual(new Set([`${end} 1`]))
  state.nowMs += freshMs - 1
  expect(await relay(end)).toBe(`${end} 1`)
  state.nowMs += 1
  expect(await relay(end)).toBe(`${end} 2`)
})

test("a reader at another sequence number gets its own", async () => {
  const { relay } = setUp()
  expect(await relay(end)).toBe(`${end} 1`)
  expect(await relay("/auth/revocations/snapshot?after=0")).toBe("/auth/revocations/snapshot?after=0 2")
})

test("a failure is not shared", async () => {
  const { state, relay } = setUp()
  state.isUp = false
  await expect(relay(end)).rejects.toThrow("down")
  state.isUp = true
  expect(await relay(end)).toBe(`${end} 2`)
})

test("caches a bounded number of answers", async () => {
  const { state, relay } = setUp()
  for (let i = 0; i < 200; i++) await relay(`/auth/revocations?after=${i}&wait=0`)
  expect(state.asked).toHaveLength(200)
  await relay("/auth/revocations?after=199&wait=0")
  expect(state.asked).toHaveLength(200)
  await relay("/auth/revocations?after=0&wait=0")
  expect(state.asked).toHaveLength(201)
})

test.each([
  "/auth/revocations?after=7&wait=3",
  "/auth/revocations?after=7&wait=0&x=1",
  "/auth/revocations/snapshot?after=1",
  "/auth/token",
  "/auth/revocations/../token?after=1&wait=0",
])("requests nothing else with the service's token: %s", async (path) => {
  const { state, relay } = setUp()
  await expect(relay(path)).rejects.toThrow("not a question")
  expect(state.asked).toEqual([])
})
