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
  return files.map((file) => planMigration(file, (table) => rows.get(table) ?? 0))
}

/** @param rowsOf The rows of a table that is there before the file. */
export function planMigration({ name, text }: SqlFile, rowsOf: (table: string) => number): PlannedMigration {
  const statements = statementsOf(text)
  const created = new Set(statements.map((statement) => /^create (?:unlogged )?table (\w+)/i.exec(statement)?.[1]))
  const isIndexesOnly = statements.every((statement) => indexOf(statement) !== undefined)
  const planned = statements.map((statement) => {
    const table = tableOf(statement)
    // Nobody uses a new table yet, but it may be filled from another one.
    if (created.has(table) && !/^insert .*\bselect\b/i.test(statement)) {
      return { statement, table, rows: 0, blocks: "nothing" as const, seconds: briefly }
    }
    const count = rowsOf(table)
    return { statement, table, rows: count, ...costOf(statement, count, isIndexesOnly) }
  })
  return { name, kind: kindOf(name), statements: planned }
}

function tableOf(statement: string): string {
  const named =
    /^(?:create (?:unlogged )?table|alter table|drop table|insert into|update|delete from)(?: if (?:not )?exists)? (\w+)/i
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
  const each = actionsOf(statement).map(perRowOf)
  return { blocks: "reads and writes", seconds: seconds(each.reduce((sum, one) => sum + one, 0)) }
}

/** A statement without its texts and its parentheses: the rest names its effect on a table. */
function actionsOf(statement: string): readonly string[] {
  let text = statement.replaceAll(/'[^']*'/g, "''")
  for (let before = ""; before !== text; ) {
    before = text
    text = text.replaceAll(/\([^()]+\)/g, "()")
  }
  return text.split(",")
}

/** Seconds that an action takes for each row under the table's lock: 0 if it changes the catalog only. */
function perRowOf(action: string): number {
  if (/ not valid$/i.test(action)) return 0
  if (/ (unique|primary key)\b/i.test(action)) return perRow.index
  // Each row is written again.
  if (/ type | default (?!now\b)\w+ ?\(/i.test(action)) return perRow.index
  return / (set not null|validate|check|foreign key|references)\b/i.test(action) ? perRow.scan : 0
}
