// npm run drill -- NAME: one drill with its figures. `migration` has a size: --rows N.

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

const { values, positionals } = parseArgs({ options: { rows: { type: "string" } }, allowPositionals: true })
const rows = Number(values.rows ?? 200_000)

const drills: Readonly<Record<string, () => Promise<object | undefined>>> = {
  failover: () => failover(500),
  haproxy: () => failover(500, "haproxy"),
  pooler: () => throughPgBouncer(500),
  "full-tables": () => fullDisk("tables", 500),
  "full-log": () => fullDisk("log", 500),
  storm: () => storm(3_000, 200),
  clock: () => jumpingClock(500),
  dns: () => movedDatabase(500),
  paused: () => paused(500),
  restore: () => restoreToMoment(500),
  rotation: () => rotation(200),
  upgrade: () => upgrade(500),
  migration: () => migration(rows, Math.min(100_000, rows / 2)),
}

const name = positionals[0] ?? ""
const drill = Object.hasOwn(drills, name) ? drills[name] : undefined
if (drill === undefined || !Number.isInteger(rows) || rows < 10_000) {
  console.error(`npm run drill -- ${Object.keys(drills).join("|")} [--rows N, at least 10000]`)
  process.exitCode = 2
} else {
  console.dir((await drill()) ?? "PostgreSQL, another program or a right is missing", { depth: null })
}
