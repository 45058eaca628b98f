// A program whose workers hang in their start, until one does not. The workers are a fake: fake-worker.ts.

import cluster from "node:cluster"
import { join } from "node:path"
import { createLog } from "../../log.ts"
import { createPool } from "../pool.ts"

/** Longer than the fake needs to start on a busy machine. It hangs from its report on, which shortens the bound. */
const patient = 1_000_000
const timing = { tickMs: 5, silentTicks: patient, startTicks: patient, endTicks: 4, earlyMs: 0, firstPauseMs: 20 }
const willBe = (what: "ready" | "hangs") =>
  cluster.setupPrimary({ exec: join(import.meta.dirname, "fake-worker.ts"), args: [what] })

let hung = 0
let endedAt = 0
willBe("hangs")
const pool = createPool({
  log: createLog("error", (line) => void process.stdout.write(line)),
  env: process.env,
  onMessage() {
    timing.startTicks = 4
  },
  greeting: () => ({ is: "listening", listening: true }),
  onReady: () => console.log(`ready: ${pool.ready()}`),
  onEnded() {
    endedAt = performance.now()
  },
  onReplaced() {
    console.log(`pause ${performance.now() - endedAt}`)
    timing.startTicks = patient
    if (hung === 3) willBe("ready")
  },
  onHung: () => hung++,
  timing,
})
console.log(`first: ${(await pool.start(1)).is}`)
timing.startTicks = patient
pool.keep()
console.log(`second: ${(await pool.start(2)).is}`)
process.stdin.resume().once("end", () => pool.stop().then(() => process.exit(hung)))
