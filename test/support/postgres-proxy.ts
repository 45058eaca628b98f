// A proxy between a program and PostgreSQL that stops the traffic at a given moment.
import { connect, createServer, type Socket } from "node:net"

/** Before a COMMIT reaches the database, or after it but before the program receives the answer. */
export type Moment = "before commit" | "after commit"

export interface PostgresProxy {
  /** The database's URL through the proxy. */
  readonly url: string
  /**
   * Resolves at this moment of the next transaction that prepares a statement with these words. Its connection is
   * stopped: stopped data are never forwarded.
   */
  stopAt(moment: Moment, words: string): Promise<void>
  close(): Promise<void>
}

const commit = Buffer.from("commit\0")
/** The command tag of CommandComplete from the database. */
const committed = Buffer.from("COMMIT\0")

/** @param databaseUrl A server that accepts cleartext connections. */
export async function startPostgresProxy(databaseUrl: string): Promise<PostgresProxy> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let armed: { moment: Moment; words: string; reached: () => void } | undefined

  const server = createServer((program) => {
    const database = connect(Number(target.port || 5432), target.hostname)
    let isAwaited = false
    /** False if the chunk is the awaited one, which is then dropped. Background jobs commit, too. */
    const mayPass = (moment: Moment, chunk: Buffer): boolean => {
      if (armed === undefined) return true
      if (chunk.includes(armed.words)) isAwaited = true
      if (!isAwaited || armed.moment !== moment) return true
      if (!chunk.includes(moment === "before commit" ? commit : committed)) return true
      armed.reached()
      armed = undefined
      return false
    }
    for (const [from, to, moment] of [
      [program, database, "before commit"],
      [database, program, "after commit"],
    ] as const) {
      sockets.add(from)
      from.on("data", (chunk: Buffer) => {
        if (mayPass(moment, chunk)) to.write(chunk)
      })
      from.on("error", () => to.destroy())
      from.on("close", () => {
        sockets.delete(from)
        to.end()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the proxy has no port")
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${address.port}`
  return {
    url: url.href,
    stopAt: (moment, words) =>
      new Promise((resolve) => {
        armed = { moment, words, reached: resolve }
      }),
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
