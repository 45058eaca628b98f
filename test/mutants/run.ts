import { spawnSync } from "node:child_process"
import { resolve } from "node:path"
import { mutants } from "./all.ts"

// Runs each mutant's test without the mutant and then with it: node test/mutants/run.ts [number].
const root = resolve(import.meta.dirname, "../..")
const vitest = resolve(root, "node_modules/vitest/vitest.mjs")
const config = resolve(import.meta.dirname, "vitest.config.ts")

function passes(test: string, names: readonly string[], mutant: number | undefined): boolean {
  const pattern = names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")
  const run = spawnSync(process.execPath, [vitest, "run", "--config", config, test, "-t", pattern], {
    cwd: root,
    // Many of the tests are in the long form only.
    env: { SIGNET_EFFORT: "ci", ...process.env, SIGNET_MUTANT: String(mutant), NO_COLOR: "1" },
    encoding: "utf8",
  })
  const passed = Number(/Tests\s.*?(\d+) passed/.exec(run.stdout)?.[1] ?? 0)
  return run.status === 0 && passed >= names.length
}

const only = process.argv[2]
const chosen = [...mutants.entries()].filter(([number]) => only === undefined || number === Number(only))
for (const test of new Set(chosen.map(([, mutant]) => mutant.test))) {
  const names = new Set(chosen.filter(([, mutant]) => mutant.test === test).map(([, mutant]) => mutant.name))
  if (!passes(test, [...names], undefined)) throw new Error(`${test} does not pass without a fault`)
}
let survivors = 0
for (const [number, mutant] of chosen) {
  const survives = passes(mutant.test, [mutant.name], number)
  if (survives) survivors++
  console.log(`${survives ? "SURVIVES" : "killed  "} ${String(number).padStart(2)}  ${mutant.fault}`)
  console.log(`             by: ${mutant.name}`)
}
console.log(`${chosen.length - survivors} of ${chosen.length} mutants killed`)
process.exitCode = survivors === 0 ? 0 : 1
