// Finds the primary among several hosts of one URL, after a failover too: `postgres://user@one:5432,two:5432/name`.
import { Client } from "pg"

/** A host that does not answer must leave time for the others: the pool waits five seconds for a connection. */
const probeMs = 1_500

/** A URL for each host, in order. */
export function hostsOf(databaseUrl: string): readonly string[] {
  const [, before = "", hosts = "", after = ""] = /^(\w+:\/\/(?:[^@/?]*@)?)([^/?]*)(.*)$/s.exec(databaseUrl) ?? []
  return hosts.includes(",") ? hosts.split(",").map((host) => before + host + after) : [databaseUrl]
}

/**
 * Returns a function that finds the URL of the host that accepts writes. It tries the last primary first. A URL with one
 * host is returned as it is, without a connection.
 *
 * The function throws the last error if no host accepts writes.
 */
export function primaryOf(databaseUrl: string): () => Promise<string> {
  let urls = hostsOf(databaseUrl)
  return async () => {
    const [first = databaseUrl] = urls
    if (urls.length <= 1) return first
    let failure: unknown
    for (const url of urls) {
      try {
        if (!(await isWritable(url))) {
          failure = new Error("no host of the database accepts writes")
          continue
        }
        urls = [url, ...urls.filter((other) => other !== url)]
        return url
      } catch (error) {
        failure = error
      }
    }
    throw failure
  }
}

async function isWritable(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: probeMs, query_timeout: probeMs })
  // A connection that breaks later also fails the query.
  client.on("error", () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ transaction_read_only: string }>("show transaction_read_only")
    return rows[0]?.transaction_read_only === "off"
  } finally {
    client.end().catch(() => {})
  }
}

/**
 * A client for pools, which connects to the host that accepts writes at that moment. The driver knows one host only, so
 * the client gets its address before it connects.
 */
export function primaryClient(databaseUrl: string): typeof Client {
  const find = primaryOf(databaseUrl)
  return class extends Client {
    override connect(): Promise<this>
    override connect(callback: (error?: Error) => void): void
    override connect(callback?: (error?: Error) => void): Promise<this> | undefined {
      const connected = find().then(async (url) => {
        const { host, port } = new Client({ connectionString: url })
        Object.assign(this, { host, port })
        await super.connect()
        return this
      })
      if (callback === undefined) return connected
      connected.then(
        () => callback(),
        (error: unknown) => callback(error instanceof Error ? error : new Error("the connection failed")),
      )
      return undefined
    }
  }
}
