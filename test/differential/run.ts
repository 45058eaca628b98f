// npm run differential -- [--seed N] [--steps N] [--left NAME] [--right NAME] [--verbose]
// One random script on two servers; exit status 1 when a client could tell them apart.
import { parseArgs } from "node:util"
import { backends } from "./backends.ts"
import { play } from "./play.ts"
import { createSide } from "./side.ts"

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    steps: { type: "string", default: "1000" },
    left: { type: "string", default: "postgres" },
    right: { type: "string", default: "edge" },
    verbose: { type: "boolean", default: false },
  },
})
const { seed, left, right, verbose } = values
const count = Number(values.steps)
const unknown = [left, right].filter((name) => !(name in backends))
if (unknown.length > 0 || !Number.isSafeInteger(count) || count < 1) {
  console.error(`npm run differential -- --seed N --steps N --left NAME --right NAME
  names: ${Object.keys(backends).join(", ")}`)
  process.exit(2)
}

const began = performance.now()
const seconds = () => ((performance.now() - began) / 1_000).toFixed(1)
const served = await Promise.all([left, right].map((name) => backends[name]?.()))
const [one, other] = served.map((it, i) => it && createSide([left, right][i] ?? "", it))
if (one === undefined || other === undefined) throw new Error("two servers")
console.log(`${left} | ${right}, seed ${seed}, ${count} steps`)
const played = await play({
  seed,
  steps: count,
  left: one,
  right: other,
  onStep(step, name) {
    if (verbose) console.log(`${seconds()} s: ${step} ${name}`)
    else if (step > 0 && step % 500 === 0) console.log(`  ${step} steps, ${seconds()} s`)
  },
})
await Promise.all(served.map((it) => it?.close()))

const { failure, compared, counts } = played
for (const [name, times] of Object.entries(counts).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
  if (verbose || failure === undefined) console.log(`  ${String(times).padStart(6)}  ${name}`)
}
if (failure === undefined) {
  console.log(`${count} steps, ${compared} answers compared, 0 differences, ${seconds()} s`)
  process.exit(0)
}
const { step, name, what, lines } = failure
console.log(`\n✗ step ${step}, ${name}: ${what}\n`)
for (const line of lines) console.log(`  ${line.slice(0, 3_000)}`)
console.log(
  `\nTo see it again: npm run differential -- --seed ${seed} --steps ${step + 1} --left ${left} --right ${right}`,
)
process.exit(1)
