// npm run admin -- migrate: what a start does to the database, for a role that owns it, where the server's role does not.
import { clearPlainAddresses } from "../../store/postgres/audit-keys.ts"
import { migrate as migrateDatabase } from "../../store/postgres/migrate.ts"
import { openDatabase } from "../open-database.ts"
import { type Command, UsageError } from "./command.ts"

export const migrate: Command = async (args, config) => {
  if (args.length > 0) throw new UsageError("migrate takes nothing.")
  const database = await openDatabase(config, () => undefined)
  try {
    const applied = await migrateDatabase(database.db)
    const cleared = await clearPlainAddresses(database.db)
    const what = applied.length === 0 ? "nothing: all was there" : applied.join(", ")
    return { text: `Applied ${what}. Cleared ${cleared} addresses.`, json: { applied, clearedAddresses: cleared } }
  } finally {
    await database.close()
  }
}
