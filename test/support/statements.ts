// What a call asks of PostgreSQL: every wait for its answer is a round trip.
import { Client } from "pg"

/** How the work waited for the database, one text a round trip, at its quietest of several runs. */
export async function roundTrips(work: () => Promise<unknown>, { runs = 3 } = {}): Promise<readonly string[]> {
  let fewest: readonly string[] | undefined
  for (let run = 0; run < runs; run++) {
    const texts = await listened(work)
    // Housekeeping of the server's own may come between.
    if (fewest === undefined || texts.length < fewest.length) fewest = texts
  }
  return fewest ?? []
}

/** Every client of this process is listened to; the statements themselves are sent as ever. */
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
