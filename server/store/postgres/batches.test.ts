import { setTimeout as pause } from "node:timers/promises"
import { Refused } from "@signet/kernel/errors"
import { expect, test } from "vitest"
import { type Batch, batched } from "./batches.ts"

interface Answer {
  readonly of: number
  readonly by: "all" | "alone"
}

/** Runs batches that end when the test says so. */
function controlled(change: Partial<Batch<number, Answer>> = {}) {
  const batches: { readonly calls: readonly number[]; readonly end: () => void }[] = []
  const alone: number[] = []
  const run = batched<number, Answer>({
    runAll: (calls) =>
      new Promise((resolve) => {
        batches.push({ calls, end: () => resolve(calls.map((of) => ({ of, by: "all" }))) })
      }),
    runAlone: async (of) => {
      alone.push(of)
      return { of, by: "alone" }
    },
    ...change,
  })
  return { run, batches, alone, calls: () => batches.map(({ calls }) => calls) }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

test("calls of one turn are one batch, and calls that arrive meanwhile are the next one", async () => {
  const { run, batches, calls } = controlled()
  const first = [run(1), run(2)]
  await turn()
  const second = [run(3), run(4), run(5)]
  await turn()
  expect(calls()).toEqual([[1, 2]])
  batches[0]?.end()
  expect(await Promise.all(first)).toEqual([1, 2].map((of) => ({ of, by: "all" })))
  await turn()
  expect(calls()).toEqual([
    [1, 2],
    [3, 4, 5],
  ])
  batches[1]?.end()
  expect(await Promise.all(second)).toEqual([3, 4, 5].map((of) => ({ of, by: "all" })))
})

test("a batch has at most 64 calls", async () => {
  const { run, batches } = controlled()
  const answers = Array.from({ length: 100 }, (_, i) => run(i))
  for (const size of [64, 36]) {
    await turn()
    expect(batches.at(-1)?.calls).toHaveLength(size)
    batches.at(-1)?.end()
    await turn()
  }
  expect((await Promise.all(answers)).map(({ of }) => of)).toEqual(Array.from({ length: 100 }, (_, i) => i))
})

test("a call that only its own statement can decide runs alone, and its neighbours do not", async () => {
  const { run, alone } = controlled({
    runAll: async (calls) => calls.map((of) => (of === 2 ? "alone" : { of, by: "all" })),
  })
  expect((await Promise.all([run(1), run(2), run(3)])).map(({ by }) => by)).toEqual(["all", "alone", "all"])
  expect(alone).toEqual([2])
})

test("a busy call joins three batches, then runs alone", async () => {
  const seen: (readonly number[])[] = []
  const { run } = controlled({
    runAll: async (calls) => {
      seen.push(calls)
      return calls.map((of) => (of === 1 ? "busy" : { of, by: "all" }))
    },
  })
  expect(await Promise.all([run(1), run(2)])).toEqual([
    { of: 1, by: "alone" },
    { of: 2, by: "all" },
  ])
  expect(seen).toEqual([[1, 2], [1], [1]])
})

test("after a failed statement each call runs alone, and only the failing one fails", async () => {
  const { run } = controlled({
    runAll: () => Promise.reject(new Error("the row is refused")),
    runAlone: async (of) => {
      if (of === 2) throw new Error("the row is refused")
      return { of, by: "alone" }
    },
  })
  const [one, two, three] = await Promise.allSettled([run(1), run(2), run(3)])
  expect(one).toEqual({ status: "fulfilled", value: { of: 1, by: "alone" } })
  expect(two).toMatchObject({ status: "rejected", reason: { message: "the row is refused" } })
  expect(three).toEqual({ status: "fulfilled", value: { of: 3, by: "alone" } })
})

test("after a lost connection no call runs a second time, because the first run may be stored", async () => {
  const lost = new Refused("UNAVAILABLE")
  const { run, alone } = controlled({ runAll: () => Promise.reject(lost) })
  const answers = await Promise.allSettled([run(1), run(2)])
  expect(answers).toEqual([1, 2].map(() => ({ status: "rejected", reason: lost })))
  expect(alone).toEqual([])
})

test("a statement that hangs holds up later calls for a quarter of a second at most", async () => {
  const { run, batches, calls } = controlled()
  const stuck = run(1)
  await turn()
  const later = run(2)
  await expect.poll(calls, { timeout: 20_000 }).toEqual([[1], [2]])
  batches[1]?.end()
  expect(await later).toEqual({ of: 2, by: "all" })
  // The end of the stuck statement starts no further batch beside a running one.
  const next = [run(3), run(4)]
  await turn()
  batches[0]?.end()
  expect(await stuck).toEqual({ of: 1, by: "all" })
  await pause(10)
  expect(calls().slice(2)).toEqual([[3, 4]])
  batches[2]?.end()
  await Promise.all(next)
})

test("a call that is busy in a slow statement is answered, also if no other call arrives", async () => {
  let runs = 0
  const { run } = controlled({
    runAll: async (calls) => {
      runs++
      if (runs > 1) return calls.map((of) => ({ of, by: "all" as const }))
      await pause(300)
      return calls.map(() => "busy" as const)
    },
  })
  expect(await run(1)).toEqual({ of: 1, by: "all" })
  expect(runs).toBe(2)
})
