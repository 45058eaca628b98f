// The summary of .ci/run: counts of its vitest reports, and every test that no report ran. allowed-skips.json must list
// each skip by the beginning of its name, so that a missing program cannot disable its tests unnoticed.
import { readFileSync } from "node:fs"
import { relative } from "node:path"
import { notesOf, type ReportNotes } from "./report-notes.ts"

export interface Report {
  readonly numPassedTests: number
  readonly testResults: readonly {
    /** Path of the file. */
    readonly name: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly status: string
      readonly failureMessages?: readonly string[]
    }[]
    /** Why the file itself failed. */
    readonly message?: string
    readonly status?: string
    /** It ran in the short form, because the time for the longer one was over. */
    readonly isShortened?: boolean
  }[]
}

type FileResult = Report["testResults"][number]
type TestResult = FileResult["assertionResults"][number]

interface AllowedSkip {
  /** `file: beginning of the test's full name`. */
  readonly test: string
  readonly reason: string
}

export interface Summary {
  readonly passed: number
  readonly failed: number
  /** Failed tests, and files that failed before their tests, each with the beginning of its message. */
  readonly failures: readonly { readonly name: string; readonly message: string }[]
  /** Tests that passed at their second attempt only, with the beginning of the first one's message. */
  readonly retried: readonly { readonly name: string; readonly message: string }[]
  /** Tests that no report ran, as `file: full name`. */
  readonly skipped: readonly string[]
  /** Skipped tests that are not on the list. */
  readonly notAllowed: readonly string[]
  /** Entries of the list that are no longer skipped. */
  readonly stale: readonly AllowedSkip[]
  /** Files that ran in the short form only. What they skip counts as allowed. */
  readonly shortened: readonly string[]
}

/** The name without parts that differ between runs: the reason of a skip, and the store. */
const commonName = (name: string) =>
  name.replace(/ \([^()]*\b(?:skipped|npm run test:long)\b[^()]*\)/g, "").replace(/ \((?:PostgreSQL|PGlite)\)/g, "")
const pointsToLong = /npm run test:long/

/** Lines of a failure that the summary repeats: a log that is cut at its beginning still names what failed. */
const linesOfFailure = 12

const beginningOf = (message = "") =>
  message
    .split("\n")
    .filter((line) => !line.includes("/node_modules/"))
    .slice(0, linesOfFailure)
    .join("\n")

const isRetried = ({ status, failureMessages }: TestResult) => status === "passed" && (failureMessages ?? []).length > 0

function messagesOf({ name, assertionResults }: FileResult, root: string, isMeant: (result: TestResult) => boolean) {
  return assertionResults.filter(isMeant).map(({ fullName, failureMessages }) => ({
    name: `${relative(root, name)}: ${fullName}`,
    message: beginningOf(failureMessages?.[0]),
  }))
}

function failuresOf(result: FileResult, root: string) {
  const { name, message, status } = result
  const file = relative(root, name)
  const failed = messagesOf(result, root, (test) => test.status === "failed")
  // A failed hook skips tests, and is in no test's result.
  return status === "failed" && failed.length === 0 ? [{ name: file, message: beginningOf(message) }] : failed
}

/** @param root The repository, which file names begin with. */
export function summaryOf(reports: readonly Report[], allowed: readonly AllowedSkip[], root: string): Summary {
  const ran = new Set<string>()
  const shortened = new Set<string>()
  const filesThatRan = new Set<string>()
  const left = new Map<string, { file: string; fullName: string }>()
  for (const { testResults } of reports) {
    for (const { name, assertionResults, isShortened } of testResults) {
      const file = relative(root, name)
      if (isShortened === true) shortened.add(file)
      for (const { fullName, status } of assertionResults) {
        const key = `${file}: ${commonName(fullName)}`
        if (status === "passed" || status === "failed") {
          ran.add(key)
          filesThatRan.add(file)
        } else left.set(key, { file, fullName })
      }
    }
  }
  const skipped = [...left]
    .filter(([key, { file, fullName }]) => !ran.has(key) && !(pointsToLong.test(fullName) && filesThatRan.has(file)))
    .map(([key]) => key)
    .toSorted()
  const failures = reports.flatMap(({ testResults }) => testResults.flatMap((result) => failuresOf(result, root)))
  const fileOf = (name: string) => name.slice(0, name.indexOf(": "))
  const isFor = ({ test }: AllowedSkip, name: string) => name.startsWith(test)
  return {
    passed: reports.reduce((sum, { numPassedTests }) => sum + numPassedTests, 0),
    failures,
    retried: reports.flatMap(({ testResults }) => testResults.flatMap((result) => messagesOf(result, root, isRetried))),
    failed: failures.length,
    skipped,
    notAllowed: skipped.filter((name) => !allowed.some((one) => isFor(one, name)) && !shortened.has(fileOf(name))),
    stale: allowed.filter((one) => !skipped.some((name) => isFor(one, name))),
    shortened: [...shortened].toSorted(),
  }
}

/** A run without a report has failed. */
function readReport(path: string): Report {
  try {
    const report: Report = JSON.parse(readFileSync(path, "utf8"))
    const { errors, shortened }: ReportNotes = JSON.parse(readFileSync(notesOf(path), "utf8"))
    const messageOf = (file: string) => errors.find((one) => one.file === file)?.message
    return {
      ...report,
      testResults: report.testResults.map((result) => ({
        ...result,
        message: result.message || (messageOf(result.name) ?? ""),
        isShortened: shortened.includes(result.name),
      })),
    }
  } catch {
    const message = "there is no report: its run broke off"
    return { numPassedTests: 0, testResults: [{ name: path, assertionResults: [], status: "failed", message }] }
  }
}

if (import.meta.main) {
  const allowed: AllowedSkip[] = JSON.parse(readFileSync(new URL("allowed-skips.json", import.meta.url), "utf8"))
  const summary = summaryOf(process.argv.slice(2).map(readReport), allowed, process.cwd())
  for (const { name, message } of summary.retried) console.log(`\nPassed at its second attempt: ${name}\n${message}`)
  for (const { name, message } of summary.failures) console.log(`\nFailed: ${name}\n${message}`)
  for (const name of summary.notAllowed) console.log(`Skipped, and not in test/support/allowed-skips.json: ${name}`)
  for (const { test } of summary.stale)
    console.log(`In test/support/allowed-skips.json, and not skipped any more: ${test}`)
  if (summary.shortened.length > 0)
    console.log(`In the short form, because the time for the longer one was over: ${summary.shortened.join(", ")}`)
  const failed = summary.failed + summary.notAllowed.length
  const skipped = summary.skipped.length - summary.notAllowed.length
  console.log(`${summary.passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`)
  process.exitCode = failed > 0 ? 1 : 0
}
