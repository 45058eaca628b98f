// Every bench at its smallest size, in a process of its own as `npm run bench` runs it: its numbers say nothing, but a
// bench that no longer runs fails here.
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { effort } from "../support/effort.ts"
import { benchNames } from "./list/benches.ts"

const run = promisify(execFile)
const program = join(import.meta.dirname, "run.ts")
const bench = (...args: string[]) => run(process.execPath, [program, ...args])

describe.skipIf(effort(true, false, false))("npm run bench, at the smallest size", { timeout: 600_000 }, () => {
  test.each(benchNames())("%s gives rows whose numbers are numbers", async (name) => {
    const { stdout } = await bench(name, "--smallest", "--json")
    // A program that a bench starts may write before the report.
    const rows: unknown = JSON.parse(stdout.slice(stdout.indexOf("{\n"))).benches[name]
    expect(rows).toEqual(expect.arrayContaining([expect.any(Object)]))
    const notNumbers = (rows as object[]).filter((row) => Object.values(row).includes(null))
    expect(notNumbers, "JSON has null for NaN").toEqual([])
  })
})

test.each([
  ["a bench that there is not", ["nothing"], "There is no bench nothing."],
  ["an amount that the bench has not", ["framing", "--set", "messages=3"], "No chosen bench has an amount messages."],
  ["an amount that is no number", ["framing", "--set", "members=many"], "--set members=many is no positive number"],
  ["two sizes", ["framing", "--large", "--smallest"], "--large and --smallest exclude each other."],
])("%s is refused, by its name", async (_, args, message) => {
  await expect(bench(...args)).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
})
