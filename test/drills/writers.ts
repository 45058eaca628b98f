// Devices that refresh their sessions without pause, and retry a refresh without an answer under its key. Each refresh
// writes a token, a session and an audit event, so the database shows which were lost or done twice.
import { randomBytes } from "node:crypto"
import { Code, ConnectError } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-node"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { sql } from "kysely"
import type { Database } from "../../server/store/postgres/sql.ts"
import { type Clients, clientsOver } from "../support/clients.ts"

export interface SignedIn {
  readonly sessionId: string
  readonly accessToken: string
  readonly refreshToken: string
}

interface Writer {
  readonly sessionId: string
  /** Refreshes with an answer. */
  acknowledged: number
  failed: number
  /** The next call: a token that no call has presented, and the key of its retries. */
  next: { readonly refreshToken: string; readonly retryKey: string }
}

export interface Writers {
  readonly all: readonly Writer[]
  acknowledged(): number
  /** Resolves after that many more refreshes have answers. */
  more(count: number): Promise<void>
  /** Resolves after that many more refreshes of each writer have answers. */
  each(count: number): Promise<void>
  /** @returns The milliseconds of each refresh with an answer since the last call. */
  durations(): readonly number[]
  /** Sends further refreshes to another server. */
  moveTo(url: string): void
  /** Waits for the running refreshes. */
  stop(): Promise<void>
  /** Failed calls by the code of Connect and the reason. */
  failures(): Readonly<Record<string, number>>
  /** After the stop: refreshes each session one more time. @returns The number of sessions that the server refuses. */
  refused(): Promise<number>
}

const clientsOf = (baseUrl: string, ca: string | undefined): Clients =>
  clientsOver(createConnectTransport({ baseUrl, httpVersion: "1.1", ...(ca && { nodeOptions: { ca } }) }))

/** Signs in at the stand-in provider of a server's development profile. Retries, because a busy machine cuts connections. */
export async function signInAtStandIn(url: string, index: number): Promise<SignedIn> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await signInOnce(url, index)
    } catch (error) {
      if (attempt === 5) throw error
    }
  }
}

async function signInOnce(url: string, index: number): Promise<SignedIn> {
  const email = JSON.stringify({ email: `writer-${index}@example.com` })
  const asked = await fetch(`${url}/dev/idp-a/login-request`, { method: "POST", body: email })
  const headers = { "content-type": "application/json" }
  const response = await fetch(`${url}/auth/login/idp-a`, { method: "POST", headers, body: await asked.text() })
  type Answer = { session: { id: string }; accessToken: string; refreshToken: string }
  const { session, ...tokens } = (await response.json()) as Answer
  return { sessionId: session.id, accessToken: tokens.accessToken, refreshToken: tokens.refreshToken }
}

/** Calls until a call succeeds, at most two minutes. */
export async function retried<T>(call: () => Promise<T>): Promise<T> {
  for (const endsAt = performance.now() + 120_000; ; ) {
    try {
      return await call()
    } catch (error) {
      if (performance.now() > endsAt) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

/**
 * @param signIn Default: at the server's own stand-in provider.
 * @param ca The certificate of a proxy in front.
 */
export async function startWriters(
  url: string,
  count: number,
  signIn: (index: number) => Promise<SignedIn> = (index) => signInAtStandIn(url, index),
  ca?: string,
): Promise<Writers> {
  let isStopping = false
  const failures = new Map<string, number>()
  let listeners: (() => void)[] = []
  let durations: number[] = []
  let { auth } = clientsOf(url, ca)
  const begin = async (index: number) => {
    const { sessionId, refreshToken } = await signIn(index)
    const next = { refreshToken, retryKey: newKey() }
    const writer: Writer = { sessionId, acknowledged: 0, failed: 0, next }
    return { writer, running: write(writer) }
  }
  const refresh = async (writer: Writer): Promise<void> => {
    const startedAt = performance.now()
    const { refreshToken } = await auth.refresh(writer.next)
    durations.push(performance.now() - startedAt)
    writer.next = { refreshToken, retryKey: newKey() }
    writer.acknowledged++
  }
  const write = async (writer: Writer): Promise<void> => {
    while (!isStopping) {
      try {
        await refresh(writer)
        for (const listener of listeners) listener()
      } catch (error) {
        writer.failed++
        const reason = reasonOf(error)
        failures.set(reason, (failures.get(reason) ?? 0) + 1)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }
  const begun = await Promise.all(Array.from({ length: count }, (_, index) => begin(index)))
  const all = begun.map(({ writer }) => writer)
  const acknowledged = () => all.reduce((sum, writer) => sum + writer.acknowledged, 0)
  const until = async (isReached: () => boolean) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const listener = () => isReached() && resolve()
    listeners.push(listener)
    await promise
    listeners = listeners.filter((one) => one !== listener)
  }
  return {
    all,
    acknowledged,
    more(count) {
      const goal = acknowledged() + count
      return until(() => acknowledged() >= goal)
    },
    each(count) {
      const goals = all.map((writer) => writer.acknowledged + count)
      return until(() => all.every((writer, index) => writer.acknowledged >= (goals[index] ?? 0)))
    },
    durations() {
      const taken = durations
      durations = []
      return taken
    },
    moveTo(next) {
      auth = clientsOf(next, ca).auth
    },
    async stop() {
      isStopping = true
      await Promise.all(begun.map(({ running }) => running))
    },
    failures: () => Object.fromEntries(failures),
    async refused() {
      const refreshed = await Promise.allSettled(all.map(refresh))
      return refreshed.filter(({ status }) => status === "rejected").length
    },
  }
}

function reasonOf(error: unknown): string {
  const refused = ConnectError.from(error)
  return `${Code[refused.code]} ${refused.findDetails(ErrorInfoSchema)[0]?.reason ?? "without a reason"}`
}

const newKey = () => randomBytes(16).toString("base64url")

/** The number of refresh tokens of each session. */
export async function tokensBySession(db: Database): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ session_id: string; tokens: number }>`
    select session_id, count(*)::int as tokens from refresh_token group by session_id`.execute(db)
  return new Map(rows.map((row) => [row.session_id, row.tokens]))
}

/** Refreshes that were acknowledged and are missing, and refreshes that were done without or twice for one answer. */
export async function compareWithDatabase(
  db: Database,
  { all }: Writers,
): Promise<{ readonly lost: number; readonly extra: number }> {
  const tokens = await tokensBySession(db)
  // The sign-in issues the first token.
  const differences = all.map(({ sessionId, acknowledged }) => (tokens.get(sessionId) ?? 0) - 1 - acknowledged)
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  return {
    lost: sum(differences.filter((difference) => difference < 0).map(Math.abs)),
    extra: sum(differences.filter((difference) => difference > 0)),
  }
}
