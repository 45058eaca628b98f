// A statement that is sent with its transaction's BEGIN or COMMIT: one round trip instead of two or three. All messages
// precede one Sync, so the server skips the rest after a failure. This is the only file that overrides private methods
// of `pg` (decision 0044); its test pins the driver's version.
import { type PoolClient, Query, type QueryConfig, type Submittable } from "pg"

/** Marks a transaction's last statement, which is committed in the same round trip. */
export const commitMarker = "/* last */ "

interface Batch {
  /** The statement that opens the transaction; undefined if it is open. */
  readonly opens: string | undefined
  /** True to commit after the statement. */
  readonly commits: boolean
}

/** The messages of the extended query protocol that `pg` sends. */
interface Wire {
  parse(message: { text: string; name: string; types: readonly number[] }): void
  bind(message: { portal: string; statement: string; values: readonly unknown[] }): void
  execute(message: { portal: string; rows: number }): void
  sync(): void
  readonly submittedNamedStatements: Record<string, string>
}

/** The handlers of the answers, in order. The types of `pg` omit them; its version is pinned. */
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

/** @returns The statement's result, after the whole batch has completed. */
export function sendBatch(client: PoolClient, config: QueryConfig, batch: Batch): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const query = new BatchedQuery(config, batch, (error, result) => (error ? reject(error) : resolve(result)))
  client.query(query as unknown as Submittable)
  return promise
}

class BatchedQuery extends Submitted {
  readonly batch: Batch
  /** The parts of the batch that are not complete. */
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
    // `pg` reuses the statement that the server parsed under this name, but BEGIN is parsed first.
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

/** Sends a statement without parameters and rows. */
function command(wire: Wire, text: string): void {
  wire.parse({ text, name: "", types: [] })
  wire.bind({ portal: "", statement: "", values: [] })
  wire.execute({ portal: "", rows: 0 })
}
