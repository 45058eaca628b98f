// A database to keep things in: PostgreSQL where there is one, else PGlite in a folder (pglite/open.ts). Both are used
// through `pg`, so that statements, types, error codes and transactions are the same.
import { Kysely, PostgresDialect } from "kysely"
import { Pool, type PoolConfig, types } from "pg"
import { namedStatements } from "./named-statements.ts"
import type { Tables } from "./schema.ts"
import type { Database } from "./sql.ts"

export interface OpenDatabase {
  db: Database
  /** How many connections there are, how many of them nobody uses, and how many callers wait for one. */
  connections(): { readonly total: number; readonly idle: number; readonly waiting: number }
  /** Waits for what is under way, then lets go of connections, folder and timers. */
  close(): Promise<void>
}

export interface OpenOptions {
  /** Connections to PostgreSQL at most; 10 unless told otherwise. */
  maxConnections?: number
  /**
   * Seconds that a statement may take at most; half of them for waiting on a lock, and a third for a transaction that
   * does nothing: a process that has stopped gives up what it has locked before others give up waiting. No bound unless
   * told otherwise.
   */
  statementSeconds?: number
  /**
   * Told of what went wrong behind the scenes and is tried again: a connection that broke while nobody used it, a
   * round of housekeeping.
   */
  onError?: (error: unknown) => void
}

/** Opens PostgreSQL at a `postgres://` address. Connects with the first statement, not before. */
export function openPostgres(databaseUrl: string, options: OpenOptions = {}): OpenDatabase {
  const config = {
    connectionString: databaseUrl,
    max: options.maxConnections ?? 10,
    connectionTimeoutMillis: 5_000,
    application_name: "signet",
    keepAlive: true,
    ...timeouts(options.statementSeconds),
  }
  const { db, connections } = kyselyOn(config, options.onError)
  return { db, connections, close: () => db.destroy() }
}

/** Settings of each session, in milliseconds. */
function timeouts(seconds: number | undefined): PoolConfig {
  if (seconds === undefined) return {}
  const ms = seconds * 1_000
  return {
    statement_timeout: ms,
    lock_timeout: Math.ceil(ms / 2),
    idle_in_transaction_session_timeout: Math.ceil(ms / 3),
  }
}

/** A connection's settings as kysely. Without an 'error' listener a lost idle connection would end the process. */
export function kyselyOn(
  config: PoolConfig,
  onError: (error: unknown) => void = () => {},
): Pick<OpenDatabase, "db" | "connections"> {
  const pool = new Pool({ ...config, types: { getTypeParser } })
  pool.on("error", onError)
  return {
    db: new Kysely<Tables>({ dialect: new PostgresDialect({ pool: namedStatements(pool, onError) }) }),
    connections: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
  }
}

const getTypeParser: typeof types.getTypeParser = (oid: number, format?: "text" | "binary") =>
  oid === types.builtins.INT8 ? parseInt8 : types.getTypeParser(oid, format ?? "text")

/** A 64-bit integer (a count, say) as a number, or an error where a number could not hold it. */
function parseInt8(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError("a 64-bit integer does not fit a number")
  return value
}
