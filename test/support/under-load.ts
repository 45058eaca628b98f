// npm run test:loaded [-- --runs 10 --load 8 file…]: repeats `npm test`, or some of its files, while other processes
// use the CPU. Tests that depend on the machine's speed fail here. Stops at the first failing run.
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { loadavg } from "node:os"
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

// Each process ends when its standard input closes, however this process ends.
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
    `Run ${run} ${status === 0 ? "passed" : "failed"} in ${((performance.now() - began) / 1_000).toFixed(0)} s, load at its end: ${loadavg()[0]?.toFixed(1)}`,
  )
}
for (const child of busy) child.kill()
process.exitCode = status
