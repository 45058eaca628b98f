// Records the statements that a call sends to PostgreSQL: every wait for a result is a round trip.
import { Client } from "pg"

/** The round trips of `work`, one text each: the shortest list of several runs. */
export async function roundTrips(work: () => Promise<unknown>, { runs = 9 } = {}): Promise<readonly string[]> {
  let fewest: readonly string[] | undefined
  for (let run = 0; run < runs; run++) {
    const texts = await listened(work)
    // The server's own periodic work may add statements.
    if (fewest === undefined || texts.length < fewest.length) fewest = texts
  }
  return fewest ?? []
}

/** Records the statements of every client of this process; they are sent unchanged. */
async function listened(work: () => Promise<unknown>): Promise<readonly string[]> {
  const texts: string[] = []
  const { query } = Client.prototype
  Client.prototype.query = function listening(this: Client, ...of: unknown[]) {
    const [first] = of
    texts.push(typeof first === "object" && first !== null && "text" in first ? String(first.text) : String(first))
    return Reflect.apply(query, this, of)
  }
  try {
    await work()
  } finally {
    Client.prototype.query = query
  }
  return texts
}
