import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { type Line, type Order, orderVariable, type Planned } from "./exchange.ts"
import { type NumberedMutant, numbered, root } from "./folders.ts"

/** The result of a hunt: all mutants, and the survivors with whether any test reached them. */
export interface Found {
  readonly mutants: readonly NumberedMutant[]
  readonly survivors: readonly (NumberedMutant & { readonly isReached: boolean })[]
}

interface Measured {
  readonly name: string
  readonly file: string
  readonly ms: number
  readonly limit: number
  readonly reached: ReadonlySet<number>
}

interface Run {
  readonly lines: readonly Line[]
  readonly failed: boolean
  /** True if the process was killed because it wrote nothing for too long. */
  readonly hung: boolean
}

const vitest = resolve(root, "node_modules/vitest/vitest.mjs")
const config = resolve(import.meta.dirname, "vitest.config.ts")
const silenceMs = 180_000

/** Limits of a test's duration in milliseconds, one per round. Fast tests run first, since they kill most mutants. */
const rounds = [20, 200, Number.POSITIVE_INFINITY]

/** Milliseconds. Only tests up to this duration run with a mutant that is expected to survive. */
const slowestForExplained = 200

export interface Question {
  /** Paths of the mutated files, from the root of the repository. */
  readonly sources: readonly string[]
  /** Patterns of the test files to run. Vitest skips the files that import no source. */
  readonly tests: readonly string[]
  /** Returns true if the mutant is expected to survive. */
  readonly isExplained: (mutant: NumberedMutant) => boolean
  /** Milliseconds. Slower tests do not run. */
  readonly slowest: number
  /** Returns true if the hunt tries the mutant. Without it, the hunt tries all. */
  readonly isTried?: (mutant: NumberedMutant) => boolean
}

/** Runs the tests with each mutant that they reach, until one test kills it. */
export async function hunt(question: Question, say: (line: string) => void): Promise<Found> {
  const { sources } = question
  const { mutants: generated, firsts, count } = numbered(sources)
  const mutants = generated.filter(question.isTried ?? (() => true))
  const tried = new Set(mutants.map(({ number }) => number))
  const explained = new Set(mutants.filter(question.isExplained).map(({ number }) => number))
  const folder = mkdtempSync(join(tmpdir(), "signet-mutation-"))
  let started = 0
  const run = (order: Partial<Order>, ...words: string[]): Promise<Run> => {
    const report = join(folder, `report-${++started}`)
    writeFileSync(report, "")
    const path = join(folder, `order-${started}.json`)
    const whole: Order = { report, count, files: firsts, tests: question.tests, ...order }
    writeFileSync(path, JSON.stringify(whole))
    return runVitest(words, path, report)
  }
  try {
    const measured = await run({}, "related", "--run", ...sources)
    if (measured.hung) throw new Error("the tests hang without a mutant")
    if (measured.failed) say("a test file failed outside its tests: mutants that only its tests kill survive")
    const { tests, outside } = readMeasured(measured.lines, tried, say)
    const reached = new Set(tests.flatMap((test) => [...test.reached]))
    say(`${mutants.length} mutants, ${reached.size} reached by ${tests.length} tests`)
    const killed = new Set<number>()
    const alone = new Map<number, Set<string>>()
    let fastest = -1
    for (const slowest of rounds.map((round) => Math.min(round, question.slowest))) {
      const spared = slowest > slowestForExplained ? explained : new Set<number>()
      const chosen = tests
        .filter(({ ms }) => ms > fastest && ms <= slowest)
        .map((test) => ({ ...test, reached: new Set([...test.reached].filter((mutant) => !spared.has(mutant))) }))
      await runRound(chosen, killed, alone, run, say)
      fastest = slowest
      say(`${killed.size} killed by tests of up to ${slowest} ms`)
    }
    // Values that a module or a test file computes during its import were computed without the mutant.
    for (const [mutant, where] of outside) alone.set(mutant, new Set([...(alone.get(mutant) ?? []), ...where]))
    // A cache that an earlier run filled hides a mutant. So the few survivors of a draw get processes of their own.
    if (question.isTried !== undefined) {
      for (const { file, reached: those } of tests) {
        for (const mutant of those) {
          if (!killed.has(mutant)) alone.set(mutant, (alone.get(mutant) ?? new Set()).add(file))
        }
      }
    }
    const waiting = [...alone].filter(([mutant]) => !killed.has(mutant) && !explained.has(mutant))
    const runWaiting = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [mutant, where] = next
        const { failed, lines } = await run({ only: mutant }, "run", "--bail=1", ...where)
        if (!failed) continue
        // Under load a file can fail by itself. No mutant has the number that follows the last one.
        const failing = new Set(lines.flatMap((line) => ("kills" in line ? [fileOf(line.kills)] : [])))
        const sound = await run({ only: count }, "run", ...(failing.size > 0 ? failing : where))
        if (!sound.failed) killed.add(mutant)
      }
    }
    await Promise.all(Array.from({ length: availableParallelism() }, runWaiting))
    const survivors = mutants
      .filter(({ number }) => !killed.has(number))
      .map((mutant) => ({ ...mutant, isReached: reached.has(mutant.number) || outside.has(mutant.number) }))
    return { mutants, survivors }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The file of a test's name (runner.ts). */
const fileOf = (test: string): string => test.slice(0, test.indexOf(" > "))

function readMeasured(lines: readonly Line[], tried: ReadonlySet<number>, say: (line: string) => void) {
  const tests: Measured[] = []
  const outside = new Map<number, Set<string>>()
  for (const line of lines) {
    if ("fails" in line) say(`not used, because it fails without a fault: ${line.fails}`)
    if ("outside" in line) {
      for (const mutant of line.outside.filter((one) => tried.has(one)))
        outside.set(mutant, (outside.get(mutant) ?? new Set()).add(line.file))
    }
    if ("test" in line) {
      const { test: name, file, ms, asked } = line
      const reached = new Set(line.reached.filter((one) => tried.has(one)))
      if (reached.size > 0) tests.push({ name, file, ms, limit: asked * 100 + 100_000, reached })
    }
  }
  if (tests.length === 0) throw new Error("no test reaches a mutant")
  return { tests, outside }
}

/** Adds the mutants that the tests kill to `killed`, and those that need a process of their own to `alone`. */
async function runRound(
  tests: readonly Measured[],
  killed: Set<number>,
  alone: Map<number, Set<string>>,
  run: (order: Partial<Order>, ...words: string[]) => Promise<Run>,
  say: (line: string) => void,
): Promise<void> {
  let left = tests.map((test) => ({ ...test, mutants: new Set([...test.reached].filter((one) => !killed.has(one))) }))
  let missedBefore = -1
  for (;;) {
    left = left.filter((test) => {
      for (const mutant of killed) test.mutants.delete(mutant)
      return test.mutants.size > 0
    })
    if (left.length === 0) return
    const plan: Record<string, Planned> = {}
    for (const { name, limit, mutants } of left) plan[name] = { mutants: [...mutants], limit }
    const { lines, hung } = await run({ plan }, "run", ...new Set(left.map(({ file }) => file)))
    const unfit = new Set(lines.flatMap((line) => ("fails" in line ? [line.fails] : [])))
    for (const line of lines) {
      if ("kills" in line && !unfit.has(line.kills)) killed.add(line.mutant)
    }
    for (const test of left.filter(({ name }) => unfit.has(name))) {
      for (const mutant of test.mutants) alone.set(mutant, (alone.get(mutant) ?? new Set()).add(test.file))
    }
    if (!hung) {
      // A crash, or a hook that fails under load, leaves out the other tests of the file.
      const begun = new Set(lines.flatMap((line) => ("begins" in line ? [line.with] : [])))
      const missed = left.filter(
        ({ name, mutants }) => !begun.has(name) && !unfit.has(name) && [...mutants].some((one) => !killed.has(one)),
      )
      if (missed.length === 0 || missed.length === missedBefore) {
        for (const file of new Set(missed.map((test) => test.file))) say(`did not run with mutants: ${file}`)
        return
      }
      missedBefore = missed.length
      // A mutant that its test does not survive either ends the process. It gets a process of its own.
      const ending = new Set(left.filter(({ name }) => unfit.has(name)).flatMap(({ mutants }) => [...mutants]))
      for (const { file, mutants } of missed) {
        for (const one of [...mutants].filter((mutant) => ending.has(mutant))) {
          mutants.delete(one)
          alone.set(one, (alone.get(one) ?? new Set()).add(file))
        }
      }
      left = missed
      continue
    }
    const last = lines.findLast((line) => "begins" in line)
    if (last === undefined || !("begins" in last)) throw new Error("the tests hang without a mutant")
    killed.add(last.begins)
    const done = new Set(lines.flatMap((line) => ("begins" in line ? [`${line.with}\n${line.begins}`] : [])))
    for (const { name, mutants } of left)
      for (const one of mutants) if (done.has(`${name}\n${one}`)) mutants.delete(one)
  }
}

function runVitest(words: readonly string[], order: string, report: string): Promise<Run> {
  return new Promise((done) => {
    const child: ChildProcess = spawn(process.execPath, [vitest, ...words, "--config", config], {
      cwd: root,
      env: { ...process.env, [orderVariable]: order, NO_COLOR: "1" },
      stdio: process.env.SIGNET_MUTATION_DEBUG ? "inherit" : "ignore",
      detached: true,
    })
    let hung = false
    let size = -1
    // A loop that evaluates no switch can only be stopped from outside.
    const watch = setInterval(() => {
      const now = statSync(report).size
      if (now === size) {
        hung = true
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL")
      }
      size = now
    }, silenceMs)
    child.once("close", (status) => {
      clearInterval(watch)
      const text = readFileSync(report, "utf8")
      const lines = text
        .slice(0, text.lastIndexOf("\n") + 1)
        .split("\n")
        .filter(Boolean)
      done({ lines: lines.map((line) => JSON.parse(line)), failed: status !== 0, hung })
    })
  })
}
