// npm run drill -- NAME: one drill with its figures. `--writes N` sets the writes of a phase, and `--rows N` the size of
// `migration`.

import { availableParallelism, getPriority, loadavg } from "node:os"
import { parseArgs } from "node:util"
import { jumpingClock } from "./clock.ts"
import { failover } from "./failover.ts"
import { fullDisk } from "./full-disk.ts"
import { migration } from "./migration.ts"
import { movedDatabase } from "./moved-database.ts"
import { paused } from "./paused.ts"
import { throughPgBouncer } from "./pooler.ts"
import { restoreToMoment } from "./restore.ts"
import { rotation } from "./rotation.ts"
import { storm } from "./storm.ts"
import { upgrade } from "./upgrade.ts"

const { values, positionals } = parseArgs({
  options: { rows: { type: "string" }, writes: { type: "string" } },
  allowPositionals: true,
})
const rows = Number(values.rows ?? 200_000)
/** @param usual The acknowledged writes of a phase by default. */
const writes = (usual = 500) => Number(values.writes ?? usual)

const drills: Readonly<Record<string, () => Promise<object | undefined>>> = {
  failover: () => failover(writes()),
  haproxy: () => failover(writes(), "haproxy"),
  pooler: () => throughPgBouncer(writes()),
  "full-tables": () => fullDisk("tables", writes()),
  "full-log": () => fullDisk("log", writes()),
  storm: () => storm(3_000, writes(200)),
  clock: () => jumpingClock(writes()),
  dns: () => movedDatabase(writes()),
  paused: () => paused(writes()),
  restore: () => restoreToMoment(writes()),
  rotation: () => rotation(writes(200)),
  upgrade: () => upgrade(writes()),
  migration: () => migration(rows, Math.min(100_000, rows / 2)),
}

const name = positionals[0] ?? ""
const drill = Object.hasOwn(drills, name) ? drills[name] : undefined
if (drill === undefined || !(rows >= 10_000 && writes() >= 1)) {
  console.error(`npm run drill -- ${Object.keys(drills).join("|")} [--writes N] [--rows N, at least 10000]`)
  process.exitCode = 2
} else {
  // A figure means nothing without what else ran: load is the mean of one minute.
  const load = () => Math.round(loadavg()[0] ?? 0)
  const before = load()
  const figures = await drill()
  const machine = { cores: availableParallelism(), load: [before, load()], nice: getPriority() }
  console.dir(figures ? { ...figures, machine } : "PostgreSQL, another program or a right is missing", { depth: null })
}
