import { parseArgs } from "node:util"
import { draw, isAmong, maxSurvivors, testsOfDrawn } from "./draw.ts"
import { folders, furtherTests, mutatedFiles } from "./folders.ts"
import { hunt } from "./hunt.ts"
import { reasons } from "./reasons/all.ts"
import { openSurvivors } from "./reasons/open.ts"

// Lists the generated mutants that no test kills: npm run mutation -- [folder or file] [--slowest milliseconds], or of
// conditions that a seed draws from all handlers, verifiers and clients: npm run mutation -- --draw 60 --seed 1.
const startedAt = performance.now()
const text = { type: "string" } as const
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { slowest: text, draw: text, seed: text },
})
const prefix = positionals[0] ?? ""
const drawn = values.draw === undefined ? undefined : draw(Number(values.draw), Number(values.seed ?? 1))

const nameOf = (mutant: { file: string; change: string }) => `${mutant.file}  ${mutant.change}`
const explained = new Set(reasons.flatMap(({ file, changes }) => changes.map((change) => nameOf({ file, change }))))
const { mutants, survivors } = await hunt(
  {
    ...(drawn === undefined
      ? {
          sources: mutatedFiles().filter((file) => file.startsWith(prefix)),
          tests: [...folders.map((folder) => `${folder}/**/*.test.ts`), ...furtherTests],
        }
      : { sources: [...new Set(drawn.map(({ file }) => file))], tests: testsOfDrawn, isTried: isAmong(drawn) }),
    isExplained: (mutant) => explained.has(nameOf(mutant)),
    slowest: Number(values.slowest ?? Number.POSITIVE_INFINITY),
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
