// npm run admin -- migrate: migrates the database as a server start does, for a role that owns it if the server's does
// not.
import { migrate as migrateDatabase } from "../../store/postgres/migrate.ts"
import { openDatabase } from "../open-database.ts"
import { type Command, UsageError } from "./command.ts"

export const migrateUsage = `migrate
    Applies the pending migrations, as each start does. Use it if the server's database role does not own the tables.`

export const migrate: Command = async (args, config) => {
  if (args.length > 0) throw new UsageError(migrateUsage)
  const database = await openDatabase(config, () => undefined)
  try {
    const applied = await migrateDatabase(database.db)
    const what = applied.length === 0 ? "nothing: the database is up to date" : applied.join(", ")
    return { text: `Applied ${what}.`, json: { applied } }
  } finally {
    await database.close()
  }
}
