// npm run test:loaded [-- --runs 10 --load 8 file…]: `npm test`, or some of its files, over and over while other processes
// want the processor. A test that depends on how fast the machine is fails here. Ends at the first run that fails.
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { parseArgs } from "node:util"

const { values, positionals } = parseArgs({
  options: { runs: { type: "string", default: "10" }, load: { type: "string", default: "8" } },
  allowPositionals: true,
})
const [runs, load] = [Number(values.runs), Number(values.load)]
if (!(Number.isSafeInteger(runs) && runs > 0 && Number.isSafeInteger(load) && load >= 0)) {
  console.error("--runs is a whole number of at least 1, --load one of at least 0")
  process.exit(2)
}

// Each ends with the pipe of its standard input, however this process ends.
const idle =
  "process.stdin.on('close', () => process.exit()).resume(); (function spin() { for (let i = 0; i < 1e8; i++); setImmediate(spin) })()"
const busy: ChildProcess[] = Array.from({ length: load }, () =>
  spawn(process.execPath, ["-e", idle], { stdio: ["pipe", "ignore", "ignore"] }),
)
let status = 0
for (let run = 1; run <= runs && status === 0; run++) {
  const began = performance.now()
  console.log(`\nRun ${run} of ${runs} under load ${load}`)
  const vitest = [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--testTimeout=600000",
    "--hookTimeout=600000",
    ...positionals,
  ]
  status = spawnSync(process.execPath, vitest, { stdio: "inherit" }).status ?? 1
  console.log(
    `Run ${run} ${status === 0 ? "passed" : "failed"} in ${((performance.now() - began) / 1_000).toFixed(0)} s`,
  )
}
for (const child of busy) child.kill()
process.exitCode = status
