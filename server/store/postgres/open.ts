// Opens the database: PostgreSQL, or PGlite in a folder (pglite/open.ts). Both are used through `pg`, so that
// statements, types, error codes and transactions are the same.
import { Kysely, PostgresDialect } from "kysely"
import { type Client, Pool, type PoolConfig, types } from "pg"
import { namedStatements } from "./named-statements.ts"
import { hostsOf, primaryClient } from "./primary.ts"
import type { Tables } from "./schema.ts"
import { type Database, sendDirectly } from "./sql.ts"

export interface OpenDatabase {
  db: Database
  /** The number of connections, of idle connections, and of callers that wait for one. */
  connections(): { readonly total: number; readonly idle: number; readonly waiting: number }
  /** Waits for running statements, then closes connections, folder and timers. */
  close(): Promise<void>
}

export interface OpenOptions {
  /** The most connections to PostgreSQL; 10 by default. */
  maxConnections?: number
  /**
   * The statement timeout in seconds. The lock timeout is half of it, and the timeout of an idle transaction a third: a
   * stopped process loses its locks before others give up waiting. No timeouts by default.
   */
  statementSeconds?: number
  /** False behind a pooler that does not know prepared statements: each statement is parsed at every call. */
  namesStatements?: boolean
  /** Called for background errors that are retried: an idle connection that broke, a round of housekeeping. */
  onError?: (error: unknown) => void
}

/**
 * Opens PostgreSQL at a `postgres://` address. Connects with the first statement. Of several hosts, which commas
 * separate, each connection is made to the one that accepts writes.
 */
export function openPostgres(databaseUrl: string, options: OpenOptions = {}): OpenDatabase {
  const [first = databaseUrl, ...others] = hostsOf(databaseUrl)
  const config = {
    connectionString: first,
    max: options.maxConnections ?? 10,
    connectionTimeoutMillis: 5_000,
    application_name: "signet",
    keepAlive: true,
    ...timeouts(options.statementSeconds),
  }
  const { onError, namesStatements } = options
  const pooling = {
    ...(namesStatements === false && { namesStatements }),
    ...(others.length > 0 && { Client: primaryClient(databaseUrl) }),
  }
  const { db, connections } = kyselyOn(config, onError, pooling)
  return { db, connections, close: () => db.destroy() }
}

/** The timeouts of each session, in milliseconds. */
function timeouts(seconds: number | undefined): PoolConfig {
  if (seconds === undefined) return {}
  const ms = seconds * 1_000
  return {
    statement_timeout: ms,
    lock_timeout: Math.ceil(ms / 2),
    idle_in_transaction_session_timeout: Math.ceil(ms / 3),
  }
}

interface Pooling {
  readonly Client?: typeof Client
  readonly namesStatements?: boolean
}

/** Opens kysely on a pool. Without an 'error' listener the loss of an idle connection would end the process. */
export function kyselyOn(
  config: PoolConfig,
  onError: (error: unknown) => void = () => {},
  { Client, namesStatements = true }: Pooling = {},
): Pick<OpenDatabase, "db" | "connections"> {
  const pool = new Pool({ ...config, ...(Client && { Client }), types: { getTypeParser } })
  pool.on("error", onError)
  const named = namedStatements(pool, onError, namesStatements)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: named }) })
  sendDirectly(db, async (text, values) => {
    const client = await named.connect()
    try {
      return await client.query(text, values)
    } finally {
      client.release()
    }
  })
  return {
    db,
    connections: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
  }
}

const getTypeParser: typeof types.getTypeParser = (oid: number, format?: "text" | "binary") =>
  oid === types.builtins.INT8 ? parseInt8 : types.getTypeParser(oid, format ?? "text")

/** A 64-bit integer as a number. @throws RangeError beyond 2^53 - 1 */
function parseInt8(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError("a 64-bit integer does not fit a number")
  return value
}
