// npm run drill -- NAME: one drill with its figures.
import { failover } from "./failover.ts"
import { paused } from "./paused.ts"
import { throughPgBouncer } from "./pooler.ts"
import { restoreToMoment } from "./restore.ts"
import { upgrade } from "./upgrade.ts"

const drills: Readonly<Record<string, () => Promise<object | undefined>>> = {
  failover: () => failover(500),
  pooler: () => throughPgBouncer(500),
  paused: () => paused(500),
  restore: () => restoreToMoment(500),
  upgrade: () => upgrade(500),
}

const name = process.argv[2] ?? ""
const drill = Object.hasOwn(drills, name) ? drills[name] : undefined
if (drill === undefined) {
  console.error(`npm run drill -- ${Object.keys(drills).join("|")}`)
  process.exitCode = 2
} else console.log((await drill()) ?? "PostgreSQL or PgBouncer is missing")
