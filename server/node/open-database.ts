import { join } from "node:path"
import { type OpenDatabase, openPostgres } from "../store/postgres/open.ts"
import { openPglite } from "../store/postgres/pglite/open.ts"
import type { Config } from "./config.ts"

/**
 * Opens PostgreSQL if a database is configured, else PGlite in the data folder.
 *
 * @param onError Called for errors outside a query, for example when an idle connection breaks.
 */
export function openDatabase(
  config: Pick<
    Config,
    "databaseUrl" | "databaseConnections" | "databaseStatementSeconds" | "databaseNamesStatements" | "dataFolder"
  >,
  onError: (error: unknown) => void,
): OpenDatabase | Promise<OpenDatabase> {
  if (config.databaseUrl === null) return openPglite(join(config.dataFolder, "pglite"), { onError })
  const { databaseConnections: maxConnections, databaseStatementSeconds: statementSeconds } = config
  const { databaseNamesStatements: namesStatements } = config
  return openPostgres(config.databaseUrl, { maxConnections, statementSeconds, namesStatements, onError })
}
