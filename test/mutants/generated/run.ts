import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { draw, isAmong, maxSurvivors, named, suites } from "./draw.ts"
import { folders, furtherTests, mutatedFiles } from "./folders.ts"
import { hunt } from "./hunt.ts"
import { reasons } from "./reasons/all.ts"
import { openSurvivors } from "./reasons/open.ts"
import { compareSuites } from "./suites.ts"

// Lists the generated mutants that no test kills: npm run mutation -- [folder or file] [--slowest milliseconds], or of
// conditions that a seed draws from all handlers, verifiers and clients: npm run mutation -- --draw 60 --seed 1, or of
// those that a file lists: --named chosen.txt. With --suites, each suite tries the drawn mutants alone, which shows the
// mutants that no other suite kills.
const startedAt = performance.now()
const text = { type: "string" } as const
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { slowest: text, draw: text, seed: text, named: text, suites: { type: "boolean" } },
})
const prefix = positionals[0] ?? ""
const drawn = drawnBy(values)
function drawnBy(asked: { readonly draw?: string; readonly seed?: string; readonly named?: string }) {
  if (asked.named !== undefined) return named(readFileSync(asked.named, "utf8"))
  return asked.draw === undefined ? undefined : draw(Number(asked.draw), Number(asked.seed ?? 1))
}
const slowest = Number(values.slowest ?? Number.POSITIVE_INFINITY)

if (values.suites) {
  if (drawn === undefined) throw new Error("--suites needs --draw or --named")
  const scores = await compareSuites(drawn, slowest, (line) => console.log(line))
  for (const { suite, killed, alone } of scores) {
    console.log(`${suite}: ${killed.size} of ${drawn.length} mutants killed, ${alone.length} by no other suite`)
    for (const name of alone) console.log(`  ${name}`)
  }
  for (const { file, line, change } of drawn) {
    const name = `${file}:${line}  ${change}`
    if (!scores.some(({ killed }) => killed.has(name))) console.log(`SURVIVES every suite: ${name}`)
  }
  process.exit()
}

const nameOf = (mutant: { file: string; change: string }) => `${mutant.file}  ${mutant.change}`
const explained = new Set(reasons.flatMap(({ file, changes }) => changes.map((change) => nameOf({ file, change }))))
const { mutants, survivors } = await hunt(
  {
    ...(drawn === undefined
      ? {
          sources: mutatedFiles().filter((file) => file.startsWith(prefix)),
          tests: [...folders.map((folder) => `${folder}/**/*.test.ts`), ...furtherTests],
        }
      : {
          sources: [...new Set(drawn.map(({ file }) => file))],
          tests: Object.values(suites).flat(),
          isTried: isAmong(drawn),
        }),
    isExplained: (mutant) => explained.has(nameOf(mutant)),
    slowest,
  },
  (line) => console.log(line),
)

const unexplained = survivors.filter((mutant) => !explained.has(nameOf(mutant)))
for (const { file, line, change, isReached } of unexplained) {
  console.log(`${isReached ? "SURVIVES " : "UNREACHED"} ${file}:${line}  ${change}`)
}
const surviving = new Set(survivors.map(nameOf))
// A draw tries some mutants of a file only, and a full run tries the files of the four folders.
const tried = new Set(drawn === undefined ? mutants.map(nameOf) : [])
const stale = [...explained].filter((name) => tried.has(name) && !surviving.has(name))
for (const name of stale) console.log(`KILLED, so its reason is stale: ${name}`)

const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0)
const killed = mutants.length - survivors.length
const score = ((100 * killed) / mutants.length).toFixed(1)
console.log(`${killed} of ${mutants.length} mutants killed (${score} %) in ${seconds} s`)
console.log(`${survivors.length - unexplained.length} survive for a reason, ${unexplained.length} without one`)
if (drawn !== undefined) process.exit(unexplained.length > maxSurvivors ? 1 : 0)
const tooMany = Object.entries(openSurvivors).filter(([folder, most]) => {
  const open = unexplained.filter(({ file }) => file.startsWith(folder)).length
  if (open > 0) console.log(`${folder}: ${open} survivors without a reason, of at most ${most}`)
  return open > most
})
process.exitCode = tooMany.length === 0 && stale.length === 0 ? 0 : 1
