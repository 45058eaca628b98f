// Records the statements that a call sends to PostgreSQL: every wait for a result is a round trip.
import { Client } from "pg"

export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

/** The round trips of `work`, one text each: the shortest list of several runs. */
export async function roundTrips(work: () => Promise<unknown>, { runs = 9 } = {}): Promise<readonly string[]> {
  let fewest: readonly Statement[] | undefined
  for (let run = 0; run < runs; run++) {
    const statements = await recorded(work)
    // The server's own periodic work may add statements.
    if (fewest === undefined || statements.length < fewest.length) fewest = statements
  }
  return fewest?.map(({ text }) => text) ?? []
}

/** Records the statements of every client of this process; they are sent unchanged. */
export async function recorded(work: () => Promise<unknown>): Promise<readonly Statement[]> {
  const statements: Statement[] = []
  const { query } = Client.prototype
  Client.prototype.query = function listening(this: Client, ...of: unknown[]) {
    const [first] = of
    const text = typeof first === "object" && first !== null && "text" in first ? String(first.text) : String(first)
    const values = typeof first === "object" && first !== null && "values" in first ? first.values : undefined
    statements.push({ text, values: Array.isArray(values) ? values : [] })
    return Reflect.apply(query, this, of)
  }
  try {
    await work()
  } finally {
    Client.prototype.query = query
  }
  return statements
}
