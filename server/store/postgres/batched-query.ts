// A statement that brings its transaction's BEGIN or COMMIT along: one round trip instead of two or three. All of it goes
// before one Sync, so that the server, where one part fails, does none of what follows. The only file that overrides private
// methods of `pg` (decision 0044); its test holds the version that they were read in.
import { type PoolClient, Query, type QueryConfig, type Submittable } from "pg"

/** Begins a statement that is its transaction's last: it is committed with it, in one round trip. */
export const lastMark = "/* last */ "

export interface Batch {
  /** What opens the transaction; undefined where it is open. */
  readonly opens: string | undefined
  /** Commits after the statement. */
  readonly commits: boolean
}

/** What `pg` sends, of the extended query protocol. */
interface Wire {
  parse(message: { text: string; name: string; types: readonly number[] }): void
  bind(message: { portal: string; statement: string; values: readonly unknown[] }): void
  execute(message: { portal: string; rows: number }): void
  sync(): void
  readonly submittedNamedStatements: Record<string, string>
}

/** What the query does with the answers, in their order; not in the types of `pg`, whose version is pinned. */
interface Submitted {
  name: string | undefined
  portal: string
  submit(wire: Wire): Error | null
  prepare(wire: Wire): void
  _getRows(wire: Wire, rows: number): void
  handleCommandComplete(message: unknown, wire: Wire): void
  handleError(error: Error, wire: Wire): void
}
const Submitted = Query as unknown as new (config: QueryConfig, callback: Callback) => Submitted
type Callback = (error: Error | null, result: unknown) => void

/** @returns The statement's result, once all of the batch is done. */
export function sendBatch(client: PoolClient, config: QueryConfig, batch: Batch): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const query = new BatchedQuery(config, batch, (error, result) => (error ? reject(error) : resolve(result)))
  client.query(query as unknown as Submittable)
  return promise
}

class BatchedQuery extends Submitted {
  readonly batch: Batch
  /** Parts of the batch that are not complete. */
  left: readonly ("begin" | "statement" | "commit")[] = []
  #statement: string | undefined

  constructor(config: QueryConfig, batch: Batch, callback: Callback) {
    super({ ...config, queryMode: "extended" } as QueryConfig, callback)
    this.batch = batch
  }

  override submit(wire: Wire): Error | null {
    const failed = super.submit(wire)
    const { opens, commits } = this.batch
    this.left = [
      ...(opens === undefined ? [] : ["begin" as const]),
      "statement",
      ...(commits ? ["commit" as const] : []),
    ]
    // `pg` takes what the server has parsed for the statement of this name; it has parsed BEGIN first.
    if (opens !== undefined) {
      this.#statement = this.name
      this.name = undefined
    }
    return failed
  }

  override prepare(wire: Wire): void {
    if (this.batch.opens !== undefined) command(wire, this.batch.opens)
    super.prepare(wire)
  }

  override _getRows(wire: Wire, rows: number): void {
    if (this.batch.commits) {
      wire.execute({ portal: this.portal, rows })
      command(wire, "commit")
      wire.sync()
    } else super._getRows(wire, rows)
  }

  override handleCommandComplete(message: unknown, wire: Wire): void {
    const [complete, ...left] = this.left
    this.left = left
    if (complete === "statement") super.handleCommandComplete(message, wire)
    if (complete === "begin") this.name = this.#statement
  }

  override handleError(error: Error, wire: Wire): void {
    if (this.left[0] === "begin" && this.#statement !== undefined) delete wire.submittedNamedStatements[this.#statement]
    super.handleError(error, wire)
  }
}

/** A statement without parameters and rows. */
function command(wire: Wire, text: string): void {
  wire.parse({ text, name: "", types: [] })
  wire.bind({ portal: "", statement: "", values: [] })
  wire.execute({ portal: "", rows: 0 })
}
