// Sends hints between processes: each has one connection that listens and notifies, and reconnects after a loss.
import { Client } from "pg"
import { decode, encode, type News } from "./payload.ts"

const channel = "signet_wakeups"
const pauseMs = { first: 100, longest: 5_000 }
/** Maximum number of hints that wait for a connection. The poll finds further ones. */
const mostWaiting = 10_000

export interface Bus {
  /** Returns at once. Hints of the same few milliseconds share a notification. */
  send(hints: readonly News[]): void
  isListening(): boolean
  close(): Promise<void>
}

export interface BusOptions {
  /** Returns the URL of the primary, at each connection. */
  readonly findDatabase: () => Promise<string>
  /** Identifies this process: letters and digits, unique among the processes. */
  readonly origin: string
  onHints(hints: readonly News[]): void
  /** Called when the connection starts to listen. Earlier hints may be lost. */
  onListening(): void
  onError(error: unknown): void
  /** How long a hint waits for others to share its notification, in milliseconds. Default: 10. */
  readonly gatherMs?: number
}

export function createPostgresBus(options: BusOptions): Bus {
  const { findDatabase, origin, onError } = options
  let client: Client | undefined
  let isClosed = false
  let failures = 0
  let waiting: News[] = []
  let gathering: NodeJS.Timeout | undefined
  let reconnecting: NodeJS.Timeout | undefined

  const lost = (which: Client, error: unknown) => {
    if (client !== which || isClosed) return
    client = undefined
    onError(error)
    which.removeAllListeners("end")
    which.end().catch(() => {})
    retry()
  }
  const retry = () => {
    if (isClosed) return
    const pause = Math.min(pauseMs.longest, pauseMs.first * 2 ** failures++)
    reconnecting = setTimeout(() => {
      underWay = connect()
    }, pause).unref()
  }
  const open = (connectionString: string): Client => {
    const next = new Client({
      connectionString,
      application_name: "signet wakeups",
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    })
    next.on("error", (error) => lost(next, error))
    next.on("end", () => lost(next, new Error("the connection for wake-ups ended")))
    next.on("notification", ({ payload = "" }) => {
      const received = decode(payload)
      if (received.origin !== origin) options.onHints(received.hints)
    })
    return next
  }
  const connect = async () => {
    let next: Client | undefined
    try {
      next = open(await findDatabase())
      await next.connect()
      await next.query(`listen ${channel}`)
      if (isClosed) return await next.end()
      client = next
      failures = 0
      options.onListening()
      gather()
    } catch (error) {
      onError(error)
      next?.removeAllListeners("end")
      next?.end().catch(() => {})
      retry()
    }
  }
  const gather = () => {
    if (waiting.length > 0) gathering ??= setTimeout(flush, options.gatherMs ?? 10).unref()
  }
  const flush = async () => {
    gathering = undefined
    const [to, hints] = [client, waiting]
    if (to === undefined || hints.length === 0) return
    waiting = []
    const text = "select pg_notify($1, payload) from unnest($2::text[]) as payload"
    await to.query({ name: "notify", text, values: [channel, encode(origin, hints)] }).catch((error) => lost(to, error))
  }
  let underWay = connect()

  return {
    send(hints) {
      if (isClosed || waiting.length + hints.length > mostWaiting) return
      waiting.push(...hints)
      gather()
    },

    isListening: () => client !== undefined,

    async close() {
      isClosed = true
      clearTimeout(gathering)
      clearTimeout(reconnecting)
      await flush()
      const last = client
      client = undefined
      await underWay
      await last?.end().catch(() => {})
    },
  }
}
