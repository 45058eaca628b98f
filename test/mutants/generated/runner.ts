import { openSync, readFileSync, writeSync } from "node:fs"
import { relative } from "node:path"
import fc from "fast-check"
import { type RunnerTask, type RunnerTestCase, TestRunner, type TestTryOptions } from "vitest"
import { type Line, type Order, orderVariable, type Planned } from "./exchange.ts"
import { root } from "./folders.ts"

const order: Order = JSON.parse(readFileSync(process.env[orderVariable] ?? "", "utf8"))

// All test files share this process, but each gets a new instance of this module. So the state is on the process.
interface Memory {
  readonly report: number
  readonly reached: Uint8Array
  readonly killed: Set<number>
  readonly seen: Map<string, number>
  chosen: number
  asked: number
  limit: number
}
const shared: typeof globalThis & { $mutation?: Memory } = globalThis
shared.$mutation ??= {
  report: openSync(order.report, "a"),
  reached: new Uint8Array(order.count),
  killed: new Set(),
  seen: new Map(),
  chosen: order.only ?? -1,
  asked: 0,
  limit: Number.POSITIVE_INFINITY,
}
const memory = shared.$mutation

/** True while the mutant of this number is active. */
function isChosen(mutant: number): boolean {
  memory.reached[mutant] = 1
  if (++memory.asked > memory.limit) throw new Error("a loop without an end")
  return mutant === memory.chosen
}
Object.assign(globalThis, { $mutant: isChosen })

const write = (line: Line) => writeSync(memory.report, `${JSON.stringify(line)}\n`)

function takeReached(): number[] {
  const found: number[] = []
  memory.reached.forEach((is, mutant) => {
    if (is === 1) found.push(mutant)
  })
  memory.reached.fill(0)
  return found
}

/** Returns a test's name for all runs. It includes the id, because rows of a table can have the same name. */
function nameOf(task: RunnerTask): string {
  const names: string[] = []
  for (let at: RunnerTask | undefined = task; at !== undefined; at = at.suite) names.unshift(at.name)
  const name = [relative(root, task.file.filepath), ...names].join(" > ")
  return `${name} #${task.id}`
}

/** Runs each test once without a mutant. If there is a plan, it repeats the test with each planned mutant. */
// biome-ignore lint/style/noDefaultExport: Vitest reads the default export
export default class MutantRunner extends TestRunner {
  readonly #plans = new Map<string, Planned>()
  #startedAt = 0
  #mutant = -1

  override async onBeforeRunTask(test: RunnerTask): Promise<void> {
    await super.onBeforeRunTask(test)
    fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true })
    if (test.type !== "test" || order.only !== undefined) return
    if (order.plan === undefined) {
      const outside = takeReached()
      if (outside.length > 0) write({ outside, file: relative(root, test.file.filepath) })
      return
    }
    const planned = order.plan[nameOf(test)]
    const mutants = planned?.mutants.filter((mutant) => !memory.killed.has(mutant)) ?? []
    if (planned === undefined || mutants.length === 0) {
      test.mode = "skip"
      return
    }
    this.#plans.set(test.id, { mutants, limit: planned.limit })
    // The first and the last run are without a mutant: a test that fails in the last one depends on earlier runs.
    test.repeats = mutants.length + 1
    test.retry = 0
  }

  override onBeforeTryTask(test: RunnerTask, options: TestTryOptions): void {
    super.onBeforeTryTask(test, options)
    this.#mutant = this.#plans.get(test.id)?.mutants[options.repeats - 1] ?? -1
    if (this.#mutant >= 0) write({ begins: this.#mutant, with: nameOf(test) })
    memory.asked = 0
    this.#startedAt = performance.now()
  }

  async runTask(test: RunnerTestCase): Promise<void> {
    const run = TestRunner.getTestFn(test)
    if (order.only !== undefined) return run()
    memory.chosen = this.#mutant
    if (this.#mutant >= 0) memory.limit = this.#plans.get(test.id)?.limit ?? memory.limit
    try {
      await run()
      if (memory.asked > memory.limit) throw new Error("a loop without an end")
    } finally {
      memory.chosen = -1
      memory.limit = Number.POSITIVE_INFINITY
    }
  }

  override async onAfterRetryTask(test: RunnerTestCase, options: TestTryOptions): Promise<void> {
    await super.onAfterRetryTask(test, options)
    if (test.result === undefined) return
    const file = relative(root, test.file.filepath)
    const failed = test.result.state === "fail"
    if (order.only !== undefined) {
      if (failed) write({ kills: nameOf(test), mutant: order.only })
      return
    }
    if (this.#mutant >= 0) {
      if (failed) write({ kills: nameOf(test), mutant: this.#mutant })
      if (failed) memory.killed.add(this.#mutant)
    } else if (failed) write({ fails: nameOf(test), file })
    else if (order.plan === undefined) {
      const ms = performance.now() - this.#startedAt
      write({ test: nameOf(test), file, ms, asked: memory.asked, reached: takeReached() })
    }
    test.result.state = "pass"
    test.result.errors = undefined
    test.result.attempts = []
  }
}
