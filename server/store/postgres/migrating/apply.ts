// Applies one migration file. No lock is waited for longer than two seconds, because calls queue behind the wait.
import { setTimeout as sleep } from "node:timers/promises"
import { CompiledQuery } from "kysely"
import { type Database, run } from "../sql.ts"
import { indexOf, kindOf, type SqlFile, statementsOf } from "./files.ts"

const lockTimeout = "2s"
/** Together about five minutes. */
const attempts = 100
const longestPauseMs = 3_000
const betweenBatchesMs = 20

/** A lock that was not available in time, a deadlock, a serialization failure. */
const retryable: ReadonlySet<unknown> = new Set(["55P03", "40P01", "40001"])

export interface ApplyOptions {
  /** True while other processes use the tables: indexes are then built without blocking writes. */
  readonly isInUse: boolean
  /** True when no server of the release before runs. */
  readonly isFinal: boolean
  /** Called before each further attempt. */
  readonly onRetry?: ((name: string, attempt: number) => void) | undefined
  /** Called after each batch of a backfill, with the rows that it changed. */
  readonly onBatch?: ((name: string, rows: number) => void) | undefined
}

export async function apply(db: Database, file: SqlFile, options: ApplyOptions): Promise<void> {
  const statements = statementsOf(file.text)
  if (kindOf(file.name) === "backfill") return backfill(db, file, options)
  if (options.isInUse && statements.every((statement) => indexOf(statement) !== undefined)) {
    return buildIndexes(db, file, statements)
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await inOneTransaction(db, file)
    } catch (error) {
      const isRetryable = error instanceof Error && "code" in error && retryable.has(error.code)
      if (!isRetryable || attempt === attempts) throw error
      options.onRetry?.(file.name, attempt)
      await sleep(Math.random() * Math.min(longestPauseMs, 100 * 2 ** attempt))
    }
  }
}

function inOneTransaction(db: Database, file: SqlFile): Promise<void> {
  return db.transaction().execute(async (trx) => {
    const bounds = {
      lock_timeout: `'${lockTimeout}'`,
      statement_timeout: "0",
      idle_in_transaction_session_timeout: "0",
    }
    for (const [name, value] of Object.entries(bounds)) {
      await trx.executeQuery(CompiledQuery.raw(`set local ${name} = ${value}`))
    }
    await trx.executeQuery(CompiledQuery.raw(file.text))
    await record(trx, file)
  })
}

/**
 * Each batch is a transaction of its own, so an interrupted run goes on where it stopped. Servers of the release before
 * add rows meanwhile: the run ends with a batch that is half empty, and the final run changes and records the rest.
 */
async function backfill(db: Database, file: SqlFile, { isFinal, onBatch }: ApplyOptions): Promise<void> {
  const enough = isFinal ? 1 : batchOf(file) / 2
  for (;;) {
    const { numAffectedRows = 0n } = await db.executeQuery(CompiledQuery.raw(file.text))
    const rows = Number(numAffectedRows)
    if (rows > 0) onBatch?.(file.name, rows)
    if (rows < enough) break
    await sleep(betweenBatchesMs)
  }
  if (isFinal) await record(db, file)
}

function batchOf({ name, text }: SqlFile): number {
  const limit = /\blimit (\d+)/i.exec(text)?.[1]
  if (limit === undefined) throw new Error(`the backfill ${name} has no limit: it changes one batch of rows`)
  return Number(limit)
}

const invalid = `select 1 from pg_class join pg_index on indexrelid = oid
  where relname = $1 and relnamespace = current_schema()::regnamespace and not indisvalid`

/** An interrupted build leaves an invalid index, which the next run drops first. */
async function buildIndexes(db: Database, file: SqlFile, statements: readonly string[]): Promise<void> {
  await db.connection().execute(async (session) => {
    await session.executeQuery(CompiledQuery.raw("set statement_timeout = 0"))
    // A build waits for all older transactions, such as a dump, and no call queues behind that wait.
    await session.executeQuery(CompiledQuery.raw("set lock_timeout = 0"))
    try {
      for (const statement of statements) {
        const { index = "" } = indexOf(statement) ?? {}
        if ((await run(session, invalid, [index])).length > 0) {
          await session.executeQuery(CompiledQuery.raw(`drop index concurrently ${index}`))
        }
        const concurrent = statement.replace(/ index /i, " index concurrently if not exists ")
        await session.executeQuery(CompiledQuery.raw(concurrent))
      }
    } finally {
      for (const name of ["statement_timeout", "lock_timeout"]) {
        await session.executeQuery(CompiledQuery.raw(`reset ${name}`)).catch(() => undefined)
      }
    }
  })
  await record(db, file)
}

async function record(db: Database, { name, sha256 }: SqlFile): Promise<void> {
  await db.insertInto("migration_checksum").values({ name, sha256 }).execute()
}
