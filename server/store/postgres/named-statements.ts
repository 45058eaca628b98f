import { createHash } from "node:crypto"
import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely"
import type { Pool, PoolClient, QueryConfig } from "pg"
import { commitMarker, sendBatch } from "./batched-query.ts"

const mostNames = 500

/**
 * The pool, with statements that have parameters prepared once per connection: the server then neither parses nor plans
 * them again. Behind PgBouncer this needs version 1.21 or later with `max_prepared_statements`; otherwise
 * `mayName` must be false.
 *
 * @param onError Called for a connection that broke between two statements. The next statement fails on its own.
 */
export function namedStatements(pool: Pool, onError: (error: unknown) => void, mayName = true): PostgresPool {
  const names = new Map<string, string>()
  const wrapped = new WeakMap<PoolClient, PostgresPoolClient>()

  // The name is a hash of the text, so that every connection and process uses the same one. The number of statements is
  // bounded for texts with lists of varying length.
  const nameOf = (text: string): string | undefined => {
    const known = names.get(text)
    if (known !== undefined || !mayName || names.size >= mostNames) return known
    const name = `s${createHash("sha256").update(text).digest("base64url").slice(0, 22)}`
    names.set(text, name)
    return name
  }

  const wrap = (client: PoolClient): PostgresPoolClient => {
    // The pool listens only to idle connections. Without a listener, the loss of a used one would end the process.
    client.on("error", onError)
    let opens: string | undefined
    let isCommitted = false
    let isDemoted = false

    const send = async (config: QueryConfig): Promise<unknown> => {
      const batch = { opens, commits: config.text.startsWith(commitMarker) }
      opens = undefined
      if (batch.opens === undefined && !batch.commits) return client.query(config)
      const result = await sendBatch(client, config, batch)
      isCommitted = batch.commits
      return result
    }

    /** The answer of a command that need not be sent; undefined for any other command. */
    const answered = (text: string): { command: string; rowCount: number; rows: never[] } | undefined => {
      const isOpening = text.startsWith("start transaction")
      const isOver = (text === "commit" && isCommitted) || ((text === "commit" || text === "rollback") && opens)
      isCommitted = false
      if (!isOpening && !isOver) return undefined
      opens = isOpening ? text : undefined
      return { command: isOpening ? "START" : text.toUpperCase(), rowCount: 0, rows: [] }
    }

    function query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>
    function query(): never
    function query(text?: string, values: readonly unknown[] = []): unknown {
      if (typeof text !== "string") throw new TypeError("this store does not support streaming")
      const known = answered(text)
      if (known !== undefined) return Promise.resolve(known)
      const name = values.length > 0 ? nameOf(text) : undefined
      const config = { text, values: [...values] }
      return send(name === undefined ? config : { name, ...config }).catch((error: unknown) => {
        if (isReadOnly(error)) isDemoted = true
        return withoutRow(error)
      })
    }
    // A primary that became a standby stays reachable: its connections must not return to the pool.
    return { query, release: (destroy) => client.release(destroy || isDemoted) }
  }

  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect()
      const known = wrapped.get(client) ?? wrap(client)
      wrapped.set(client, known)
      return known
    },
  }
}

/** A write on a standby: SQLSTATE 25006. */
const isReadOnly = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "25006"

/** PostgreSQL quotes the refused row with all its values, which must reach neither logs nor callers. */
function withoutRow(error: unknown): never {
  // By its shape, because PGlite has its own error class.
  if (error instanceof Error && "detail" in error) error.detail = undefined
  if (error instanceof Error && "where" in error) error.where = undefined
  throw error
}
