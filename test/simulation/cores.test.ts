// Messengers in an engine have the histories of messengers in Node: npm run simulate -- --core wasm|native repeats a seed.
import { expect, test, vi } from "vitest"
import { effort, isLong, isNightly } from "../support/effort.ts"
import { whyNoLibrary } from "../support/native/library.ts"
import { compare } from "./cores/compare.ts"
import type { Core } from "./cores/core.ts"
import { createHistory, differenceOf } from "./cores/history.ts"
import { nativeCore } from "./cores/native-core.ts"
import { nodeCore } from "./cores/node-core.ts"
import { createTurns } from "./cores/turns.ts"
import { wasmCore } from "./cores/wasm-core.ts"
import { createSchedule } from "./schedule.ts"
import type { Play } from "./simulate.ts"
import { simulate } from "./simulate.ts"
import { first } from "./sound.ts"

vi.setConfig({ testTimeout: effort(180_000, 1_800_000, 7_200_000) })

type Plays = readonly Omit<Play, "core">[]

/** With processes that end, streams and timers. */
const few: Plays = [
  { seed: 1, steps: 25 },
  { seed: 5, steps: 8, features: ["hints"] },
]
const plays: Plays = [
  ...few,
  { seed: 3, steps: 30 },
  { seed: 3, steps: 25, features: ["restored devices"] },
  { seed: 2, steps: 12, features: ["renewal"] },
  { seed: 2, steps: 12, features: ["rejoins"] },
  { seed: 8, steps: 12, features: ["restored service"] },
  { seed: 4, steps: 12, hostility: "equivocation" },
  { seed: 5, steps: 20, hostility: "dropped commit" },
  { seed: 1, steps: 20, hostility: "replay" },
]
/** At night. */
const more: Plays = [
  ...Array.from({ length: 20 }, (_, i) => ({ seed: first + i, steps: 60 })),
  ...(["ghost member", "late messages", "old group info"] as const).map((hostility) => ({
    ...{ seed: 4, steps: 40, hostility },
  })),
  { seed: first, steps: 40, features: ["hints", "renewal", "rejoins", "restored devices"] },
]

test.runIf(isLong)("messengers in WebAssembly have the histories of messengers in Node", async () => {
  await expectEqual(await wasmCore(), [...plays, ...(isNightly ? more : [])])
})

test.skipIf(whyNoLibrary !== undefined)(
  whyNoLibrary ?? "messengers in libsignet have the histories of messengers in Node",
  async () => {
    const native = await nativeCore()
    await expectEqual(native, isNightly ? [...plays, ...more] : few)
    expect((await compare({ seed: 1, steps: 1 }, withAnotherByte(native))).difference).toMatch(/d1 writes device 0 ok/)
  },
)

async function expectEqual(core: Core, all: Plays): Promise<void> {
  const seen: string[] = []
  for (const play of all) {
    const { inNode, history, difference } = await compare(play, core)
    expect(difference, JSON.stringify(play)).toBeUndefined()
    expect(inNode.violations, JSON.stringify(play)).toEqual([])
    seen.push(...history.map(({ text }) => text))
  }
  for (const wanted of [
    /requests AppendMessage/,
    /wakes at/,
    /event .*"entry"/,
    /answer of .*UNREACHABLE/,
    /process has ended/,
  ]) {
    expect(
      seen.some((text) => wanted.test(text)),
      String(wanted),
    ).toBe(true)
  }
}

/** One device draws one more random byte. */
const withAnotherByte = (core: Core): Core => ({
  ...core,
  open(hosting) {
    if (hosting.device === "d1") hosting.random.bytes(1)
    return core.open(hosting)
  },
})

test.runIf(isLong)("one more random byte is a difference", async () => {
  const play = { seed: 1, steps: 1 }
  expect((await compare(play, nodeCore)).difference).toBeUndefined()
  expect((await compare(play, withAnotherByte(nodeCore))).difference).toMatch(
    /d1 writes device 0 ok: +create header store/,
  )
})

test("the first difference is shown, with the entries before it", () => {
  const history = (...texts: string[]) => {
    const made = createHistory(() => 5)
    for (const text of texts) made.add("d0", text, () => `${text} in full`)
    return made.entries
  }
  const shown = differenceOf(history("wakes", "writes a", "answers"), history("wakes", "writes b", "answers"))
  expect(shown?.split("\n")).toEqual([
    "the histories differ at entry 1 of 3 and 3. Before it:",
    "  0 d0 wakes",
    "the one:",
    "writes a in full",
    "  0 d0 writes a",
    "  0 d0 answers",
    "the other:",
    "writes b in full",
    "  0 d0 writes b",
    "  0 d0 answers",
  ])
  expect(differenceOf(history("wakes"), history("wakes"))).toBeUndefined()
  expect(differenceOf(history("wakes"), history("wakes", "writes"))).toContain("entry 1 of 1 and 2")
})

test("after a turn an app gets events, and then answers in the order of its calls", async () => {
  const schedule = createSchedule(0)
  let isOver = false
  const lane = createTurns(schedule).lane({ isOver: () => isOver, bytes: (length) => new Uint8Array(length) })
  const told: string[] = []
  const { promise: entered, resolve: enter } = Promise.withResolvers<void>()
  const call = (name: string, steps: number) => {
    const answered = lane.call(async () => {
      await entered
      for (let i = 0; i < steps; i++) await undefined
      lane.report(() => told.push(`report of ${name}`))
      return name
    })
    return answered.then(
      (answer) => told.push(answer),
      ({ message }) => told.push(message),
    )
  }
  const calls = [call("first", 9), call("second", 0)]
  lane.turn(enter)
  await schedule.until(Promise.all(calls))
  expect(told).toEqual(["report of second", "report of first", "first", "second"])
  const late = call("late", 0)
  isOver = true
  await schedule.until(Promise.all([late, call("later", 0)]))
  expect(told.slice(4)).toEqual(["the process has ended", "the process has ended"])
})

test("a feature that is not compared is refused", async () => {
  const run = simulate({ seed: 1, steps: 1, core: nodeCore, features: ["tabs"] })
  await expect(run).rejects.toThrow("histories are not compared with tabs")
})
