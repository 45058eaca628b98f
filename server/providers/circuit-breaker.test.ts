import { Refused } from "@signet/kernel/errors"
import { beforeEach, expect, test } from "vitest"
import { type CircuitBreaker, createCircuitBreaker } from "./circuit-breaker.ts"

let nowMs = 0
let ran = 0
let breaker: CircuitBreaker

beforeEach(() => {
  nowMs = 1_800_000_000_000
  ran = 0
  breaker = createCircuitBreaker({ clock: { nowMs: () => nowMs } })
})

type Outcome = "answers" | "answers badly" | "throws"

/** What the caller meets: "answers", "answers badly", the work's own error, or "refused". */
async function call(outcome: Outcome, name = "a"): Promise<string> {
  const work = async () => {
    ran++
    if (outcome === "throws") throw new Error("no answer")
    return outcome
  }
  try {
    return await breaker.run(name, work, (result) => result === "answers")
  } catch (error) {
    return error instanceof Refused ? "refused" : String(error)
  }
}

async function open(outcome: Outcome = "throws"): Promise<void> {
  for (let i = 0; i < 5; i++) await call(outcome)
  ran = 0
}

test.each<Outcome>(["throws", "answers badly"])(
  "five in a row that %s open the circuit, of that name alone",
  async (how) => {
    await open(how)
    expect(await call("answers")).toBe("refused")
    expect(await call("answers", "b")).toBe("answers")
    expect(ran).toBe(1)
  },
)

test("an answer in between closes it again", async () => {
  for (let i = 0; i < 4; i++) await call("throws")
  await call("answers")
  for (let i = 0; i < 4; i++) await call("throws")
  expect(await call("answers")).toBe("answers")
})

test("after ten seconds one request tries, while the others are refused", async () => {
  await open()
  nowMs += 9_999
  expect(await call("answers")).toBe("refused")
  nowMs += 1
  const gate = Promise.withResolvers<string>()
  const probe = breaker.run(
    "a",
    () => gate.promise,
    () => true,
  )
  expect(await call("answers")).toBe("refused")
  gate.resolve("answers")
  expect(await probe).toBe("answers")
  expect(await call("answers")).toBe("answers")
})

test("a try without an answer keeps it open for another ten seconds", async () => {
  await open()
  nowMs += 10_000
  expect(await call("throws")).toBe("Error: no answer")
  expect(await call("answers")).toBe("refused")
  nowMs += 10_000
  expect(await call("answers")).toBe("answers")
})

test("a call that began before the circuit opened does not prolong it", async () => {
  const late = Promise.withResolvers<never>()
  const underWay = breaker
    .run(
      "a",
      () => late.promise,
      () => true,
    )
    .catch(String)
  await open()
  nowMs += 9_000
  late.reject(new Error("late"))
  await underWay
  nowMs += 1_000
  expect(await call("answers")).toBe("answers")
})

test("the caller gets the error of the call", async () => {
  expect(await call("throws")).toBe("Error: no answer")
})

test("no more than a hundred names are remembered", async () => {
  await open()
  for (let i = 0; i < 100; i++) await call("answers", `other-${i}`)
  expect(await call("answers")).toBe("answers")
})
