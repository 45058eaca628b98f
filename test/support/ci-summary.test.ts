import { describe, expect, test } from "vitest"
import { type Report, summaryOf } from "./ci-summary.ts"

type Status = "passed" | "failed" | "skipped"

const report = (file: string, tests: Readonly<Record<string, Status>>): Report => ({
  numPassedTests: Object.values(tests).filter((status) => status === "passed").length,
  testResults: [
    {
      name: `/repository/${file}`,
      assertionResults: Object.entries(tests).map(([fullName, status]) => ({ fullName, status })),
    },
  ],
})
const of = (reports: readonly Report[], allowed: readonly string[] = []) =>
  summaryOf(
    reports,
    allowed.map((name) => ({ test: name, reason: "a reason" })),
    "/repository",
  )

describe("the summary of a run of .ci/run", () => {
  test("names a skip that is not on the list", () => {
    const { notAllowed, skipped } = of([report("a.test.ts", { "needs Go": "skipped", "needs nothing": "passed" })])
    expect(notAllowed).toEqual(["a.test.ts: needs Go"])
    expect(skipped).toEqual(notAllowed)
  })

  test("takes a skip that is on the list, and counts it", () => {
    const reports = [report("a.test.ts", { "the vectors, 1": "skipped", "the vectors, 2": "skipped" })]
    const { notAllowed, skipped } = of(reports, ["a.test.ts: the vectors"])
    expect([notAllowed, skipped.length]).toEqual([[], 2])
  })

  test("matches a skipped test with another report's run whose title lacks the reason", () => {
    const short = report("a.test.ts", {
      "the guide (skipped: npm run test:long runs it) Go": "skipped",
      other: "skipped",
    })
    const long = report("a.test.ts", { "the guide Go": "failed", other: "passed" })
    expect(of([short, long])).toMatchObject({ skipped: [], failed: 1, passed: 1 })
  })

  test("takes a placeholder for the longer form when the longer form ran the file, and not otherwise", () => {
    const short = report("a.test.ts", { "OpenMLS as a member: npm run test:long runs it": "skipped" })
    expect(of([short, report("a.test.ts", { "OpenMLS as a member joins": "passed" })]).skipped).toEqual([])
    expect(of([short, report("b.test.ts", { "something else": "passed" })]).notAllowed).toHaveLength(1)
    expect(of([short, report("a.test.ts", { "OpenMLS as a member: no Rust": "skipped" })]).notAllowed).toHaveLength(2)
  })

  test("takes what a file skips that ran in the short form because of the time, and names the file", () => {
    const [result] = report("a.test.ts", { "needs minutes": "skipped", other: "passed" }).testResults
    const shortened: Report = { numPassedTests: 1, testResults: result ? [{ ...result, isShortened: true }] : [] }
    expect(of([shortened])).toMatchObject({ skipped: ["a.test.ts: needs minutes"], notAllowed: [] })
    const { notAllowed } = of([shortened, report("b.test.ts", { "needs Go": "skipped" })])
    expect([of([shortened]).shortened, notAllowed]).toEqual([["a.test.ts"], ["b.test.ts: needs Go"]])
  })

  test("takes a test that another report ran on another store", () => {
    const short = report("a.test.ts", { "signing in (PostgreSQL) works": "skipped" })
    expect(of([short, report("a.test.ts", { "signing in (PGlite) works": "passed" })]).skipped).toEqual([])
    const missing = report("a.test.ts", { "races (PostgreSQL: skipped, none was found) one wins": "skipped" })
    expect(of([missing]).notAllowed).toEqual(["a.test.ts: races one wins"])
  })

  test("names each failed test and each file that failed before its tests, with their messages", () => {
    const failed = report("a.test.ts", { works: "passed", breaks: "failed" })
    const broken: Report = {
      ...report("b.test.ts", {}),
      testResults: [{ name: "/repository/b.test.ts", assertionResults: [], status: "failed", message: "no module" }],
    }
    expect(of([failed, broken]).failures).toEqual([
      { name: "a.test.ts: breaks", message: "" },
      { name: "b.test.ts", message: "no module" },
    ])
  })

  test("names a test that passed at its second attempt, and counts it as passed", () => {
    const result = { fullName: "waits", status: "passed", failureMessages: ["Error: too late\n    at a.test.ts"] }
    const reports: Report[] = [
      {
        numPassedTests: 1,
        testResults: [{ name: "/repository/a.test.ts", assertionResults: [result] }],
      },
    ]
    expect(of(reports)).toMatchObject({
      passed: 1,
      failed: 0,
      failures: [],
      retried: [{ name: "a.test.ts: waits", message: result.failureMessages[0] }],
    })
  })

  test("does not take the same name in another file for it", () => {
    const reports = [report("a.test.ts", { "needs Go": "skipped" }), report("b.test.ts", { "needs Go": "passed" })]
    expect(of(reports).notAllowed).toEqual(["a.test.ts: needs Go"])
  })

  test("names what is on the list and is not skipped any more", () => {
    const { stale } = of([report("a.test.ts", { "needs Go": "passed" })], ["a.test.ts: needs Go"])
    expect(stale.map(({ test }) => test)).toEqual(["a.test.ts: needs Go"])
  })
})
