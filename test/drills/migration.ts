// Migrations of a large table under writers: the four indexes of 0031, a new column, a check, and a backfill. A server
// refreshes sessions meanwhile, and each refresh writes an event to the table.
import { loadavg } from "node:os"
import { setTimeout as sleep } from "node:timers/promises"
import { migrate, pendingOf, readMigrations } from "../../server/store/postgres/migrate.ts"
import type { SqlFile } from "../../server/store/postgres/migrating/files.ts"
import { planMigrations } from "../../server/store/postgres/migrating/plan.ts"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { type Database, run } from "../../server/store/postgres/sql.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { startProgram } from "../support/program.ts"
import { settings } from "./failover.ts"
import { addEvents, drillFiles, oneBatch, withoutMigration } from "./large-table.ts"
import { lockWaits } from "./lock-waits.ts"
import { compareWithDatabase, startWriters, type Writers } from "./writers.ts"

interface StepFigures {
  readonly seconds: number
  /** As `admin migrate --plan` estimates. */
  readonly plannedSeconds: number
  /** Milliseconds of the writers' refreshes during the step. */
  readonly writers: WriterFigures
  /** The longest wait for a lock that was seen, in milliseconds. */
  readonly longestLockWaitMs: number
}

interface WriterFigures {
  readonly refreshes: number
  readonly p50: number
  readonly p99: number
  readonly most: number
}

export interface MigrationFigures {
  readonly rows: number
  readonly loadSeconds: number
  readonly gigabytes: { readonly before: number; readonly after: number }
  /** Writers without a migration. */
  readonly quiet: WriterFigures
  readonly steps: Readonly<Record<string, StepFigures>>
  readonly backfill: {
    readonly rows: number
    readonly batchMs: { readonly p50: number; readonly p99: number; readonly most: number }
    /** One batch that looks for its rows without an index, after the rows before them are done. */
    readonly batchWithoutIndexMs: number
  }
  /** Rows that were due after the backfill: the writers added them. */
  readonly left: number
  readonly failures: Readonly<Record<string, number>>
  readonly lost: number
  readonly extra: number
  /** Load of the machine, a mean of one minute, at the end of each step. */
  readonly load: readonly number[]
}

/** As a server of an operator: durable, with autovacuum, memory of a small machine, and parallel builds of indexes. */
const durable = {
  ...{ fsync: "on", synchronous_commit: "on", full_page_writes: "on", autovacuum: "on" },
  ...{ shared_buffers: "512MB", maintenance_work_mem: "512MB", max_wal_size: "4GB" },
  max_parallel_maintenance_workers: "4",
}

const leftRows = "select count(*)::int as left from audit_event where drill is null"

/**
 * @param rows Of the table, before the writers.
 * @param due Rows that the backfill changes: the others count as done by an interrupted run.
 * @returns Undefined if there is no PostgreSQL.
 */
export async function migration(rows: number, due: number): Promise<MigrationFigures | undefined> {
  const postgres = await startPostgres(durable)
  if (postgres === undefined) return undefined
  const { db, close } = openPostgres(postgres.url, { maxConnections: 8 })
  const watch = openPostgres(postgres.url, { maxConnections: 1 })
  try {
    // Before its migration is undone, because a start would apply it.
    const program = await startProgram(settings(postgres.url))
    try {
      const indexes = "0031_audit_filters"
      await withoutMigration(db, indexes)
      const loadSeconds = await timed(() => addEvents(db, rows, due))
      const before = await gigabytesOf(db)
      say(`${rows} rows are there after ${loadSeconds.toFixed(0)} s`)
      const writers = await startWriters(program.url, 2)
      await sleep(10_000)
      const quiet = figuresOf(writers.durations())
      const load: number[] = []
      const steps: Record<string, StepFigures> = {}
      const batches: number[] = []
      const step = async (name: string, files: readonly SqlFile[]) => {
        steps[name] = await measure(db, watch.db, { files, writers, batches })
        load.push(machineLoad())
        say(`${name}: ${JSON.stringify(steps[name])}`)
      }
      const shipped = await readMigrations()
      const [column, check, todo, backfill] = drillFiles
      await step(indexes, shipped)
      await step("column", [...shipped, column])
      await step("check", [...shipped, column, check])
      const batchWithoutIndexMs = (await timed(() => run(db, oneBatch, []))) * 1_000
      await step("index of the backfill", [...shipped, column, check, todo])
      await step("backfill", [...shipped, column, check, todo, backfill])
      const [{ left } = { left: Number.NaN }] = await run<{ left: number }>(db, leftRows, [])
      await writers.stop()
      return {
        ...{
          rows,
          loadSeconds: rounded(loadSeconds),
          gigabytes: { before, after: await gigabytesOf(db) },
          quiet,
          steps,
        },
        backfill: { rows: due, batchMs: percentiles(batches), batchWithoutIndexMs },
        left,
        ...{ failures: writers.failures(), ...(await compareWithDatabase(db, writers)), load },
      }
    } finally {
      await program.end("SIGTERM")
    }
  } finally {
    await close()
    await watch.close()
    await postgres.stop()
  }
}

interface Measured {
  readonly files: readonly SqlFile[]
  readonly writers: Writers
  /** Gets the milliseconds of each batch of a backfill. */
  readonly batches: number[]
}

/** Applies the files that the database lacks. */
async function measure(db: Database, watch: Database, { files, writers, batches }: Measured): Promise<StepFigures> {
  const due = (await pendingOf(db, files, "backfill")).due
  const planned = (await planMigrations(db, due)).flatMap(({ statements }) => statements)
  const stopSampling = lockWaits(watch)
  writers.durations()
  let batchAt = performance.now()
  const onBatch = () => {
    const now = performance.now()
    batches.push(now - batchAt)
    batchAt = now
  }
  const seconds = await timed(() => migrate(db, { files, scope: "backfill", onBatch }))
  // The writers that the step delayed get their answers.
  await writers.each(1)
  return {
    seconds: rounded(seconds),
    plannedSeconds: rounded(planned.reduce((sum, statement) => sum + statement.seconds, 0)),
    writers: figuresOf(writers.durations()),
    longestLockWaitMs: await stopSampling(),
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return (performance.now() - startedAt) / 1_000
}

const rounded = (seconds: number) => Math.round(seconds * 100) / 100

function percentiles(values: readonly number[]): { readonly p50: number; readonly p99: number; readonly most: number } {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0)
  return { p50: at(0.5), p99: at(0.99), most: at(1) }
}

const figuresOf = (durations: readonly number[]): WriterFigures => ({
  refreshes: durations.length,
  ...percentiles(durations),
})

async function gigabytesOf(db: Database): Promise<number> {
  const [row] = await run<{ bytes: number }>(db, "select pg_total_relation_size('audit_event')::float8 as bytes", [])
  return rounded((row?.bytes ?? 0) / 1e9)
}

const machineLoad = () => Math.round(loadavg()[0] ?? 0)

/** A drill of this size takes long: each figure is printed when it is known. */
const say = (line: string) => console.error(line)
