// Describes migrations before they run: which locks they take, on how many rows, and for about how long.
import { type Database, run } from "../sql.ts"
import { indexOf, kindOf, type MigrationKind, type SqlFile, statementsOf } from "./files.ts"

interface PlannedStatement {
  readonly statement: string
  readonly table: string
  /** Estimated by the database's statistics. */
  readonly rows: number
  /** The calls that wait while the statement runs. */
  readonly blocks: "nothing" | "writes" | "reads and writes" | "writes of changed rows"
  readonly seconds: number
}

export interface PlannedMigration {
  readonly name: string
  readonly kind: MigrationKind
  readonly statements: readonly PlannedStatement[]
}

/** Seconds for each row, on two busy cores with PostgreSQL 18 (docs/how-to/upgrade.md has the measurement). */
const perRow = { index: 5e-6, scan: 2e-6, change: 500e-6 }
/** Of a statement that changes the catalog only. */
const briefly = 0.01

const statistics = `select pg_class.relname as table, greatest(reltuples, coalesce(n_live_tup, 0))::float8 as rows
  from pg_class left join pg_stat_user_tables s on s.relid = pg_class.oid
  where relkind = 'r' and relnamespace = current_schema()::regnamespace`

export async function planMigrations(db: Database, files: readonly SqlFile[]): Promise<readonly PlannedMigration[]> {
  const found = await run<{ table: string; rows: number }>(db, statistics, [])
  const rows = new Map(found.map((row) => [row.table, Math.max(0, row.rows)]))
  return files.map(({ name, text }) => {
    const statements = statementsOf(text)
    const created = new Set(statements.map((statement) => /^create table (\w+)/i.exec(statement)?.[1]))
    const isIndexesOnly = statements.every((statement) => indexOf(statement) !== undefined)
    const planned = statements.map((statement) => {
      const table = tableOf(statement)
      // Nobody uses a new table yet.
      if (created.has(table)) return { statement, table, rows: 0, blocks: "nothing" as const, seconds: briefly }
      const count = rows.get(table) ?? 0
      return { statement, table, rows: count, ...costOf(statement, count, isIndexesOnly) }
    })
    return { name, kind: kindOf(name), statements: planned }
  })
}

function tableOf(statement: string): string {
  const named = /^(?:create table|alter table|drop table|insert into|update|delete from)(?: if (?:not )?exists)? (\w+)/i
  return indexOf(statement)?.table ?? named.exec(statement)?.[1] ?? ""
}

function costOf(statement: string, rows: number, isIndexesOnly: boolean): Pick<PlannedStatement, "blocks" | "seconds"> {
  const seconds = (each: number) => briefly + rows * each
  if (indexOf(statement) !== undefined) {
    // A concurrent build reads the table twice.
    if (isIndexesOnly) return { blocks: "nothing", seconds: seconds(2 * perRow.index) }
    return { blocks: "writes", seconds: seconds(perRow.index) }
  }
  if (/^(insert|update|delete)/i.test(statement)) {
    return { blocks: "writes of changed rows", seconds: seconds(perRow.change) }
  }
  if (/ add (constraint \w+ )?(unique|primary key)/i.test(statement)) {
    return { blocks: "reads and writes", seconds: seconds(perRow.index) }
  }
  const isScanned = /set not null| add (constraint \w+ )?(check|foreign key)/i.test(statement)
  if (isScanned && !/not valid$/i.test(statement)) return { blocks: "reads and writes", seconds: seconds(perRow.scan) }
  return { blocks: "reads and writes", seconds: briefly }
}
