// npm run admin -- migrate: migrates the database beyond what a server start does.
import { migrate as migrateDatabase, pendingOf, readMigrations } from "../../store/postgres/migrate.ts"
import { type PlannedMigration, planMigrations } from "../../store/postgres/migrating/plan.ts"
import { openDatabase } from "../open-database.ts"
import { type Command, type CommandOutput, UsageError } from "./command.ts"

export const migrateUsage = `migrate
    Applies the pending migrations that servers of the release before tolerate, and backfills. A start applies the same
    without backfills. Use it if the server's database role does not own the tables. A backfill changes the rows that
    are there, and reports its progress.
migrate --plan
    Prints the pending migrations with tables, rows, locks and estimated time. Changes nothing.
migrate --finish
    Also backfills the rows that servers of the release before added since, and drops what only they use. Run it after
    they have stopped: there is no way back.`

const progressEveryMs = 10_000

export const migrate: Command = async (args, config) => {
  const [option = "", ...others] = args
  if (others.length > 0 || !["", "--plan", "--finish"].includes(option)) throw new UsageError(migrateUsage)
  const database = await openDatabase(config, () => undefined)
  try {
    const files = await readMigrations()
    if (option === "--plan") {
      return planOutput(await planMigrations(database.db, (await pendingOf(database.db, files, "finish")).due))
    }
    const onRetry = (name: string, attempt: number) =>
      console.error(`${name} waits for a lock that calls hold: attempt ${attempt + 1}`)
    const scope = option === "--finish" ? "finish" : "backfill"
    const applied = await migrateDatabase(database.db, { files, scope, onRetry, onBatch: progress() })
    const { due } = await pendingOf(database.db, files, "finish")
    const what = applied.length === 0 ? "nothing: the database is up to date" : applied.join(", ")
    const rest = due.length === 0 ? "" : ` Left for --finish: ${due.map(({ name }) => name).join(", ")}.`
    return { text: `Applied ${what}.${rest}`, json: { applied, left: due.map(({ name }) => name) } }
  } finally {
    await database.close()
  }
}

/** Reports the changed rows of backfills every ten seconds. */
function progress(): (name: string, rows: number) => void {
  const changed = new Map<string, number>()
  let reportedAt = performance.now()
  return (name, rows) => {
    changed.set(name, (changed.get(name) ?? 0) + rows)
    if (performance.now() - reportedAt < progressEveryMs) return
    reportedAt = performance.now()
    console.error(`${name} has changed ${changed.get(name)} rows`)
  }
}

function planOutput(migrations: readonly PlannedMigration[]): CommandOutput {
  const lines = migrations.flatMap(({ name, kind, statements }) => [
    `${name} (${kind === "finish" ? "only with --finish" : kind})`,
    ...statements.map(({ statement, table, rows, blocks, seconds }) => {
      const about = seconds < 1 ? "under 1 s" : `about ${Math.ceil(seconds)} s`
      const text = statement.length > 60 ? `${statement.slice(0, 57)}...` : statement
      return `  ${text}\n    ${table}: ${Math.round(rows)} rows, blocks ${blocks}, ${about}`
    }),
  ])
  const text = lines.length === 0 ? "Nothing to migrate: the database is up to date." : lines.join("\n")
  return { text, json: { migrations } }
}
