// PgBouncer of the system in transaction mode, in front of the PostgreSQL of the tests: eight writers on four connections.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { freePort } from "../support/free-port.ts"
import { startPostgres, unprivilegedUser } from "../support/postgres-server.ts"
import { startProgram } from "../support/program.ts"
import { settings } from "./failover.ts"
import { compareWithDatabase, startWriters } from "./writers.ts"

interface PoolerFigures {
  readonly acknowledged: number
  readonly failedCalls: number
  readonly lost: number
  readonly extra: number
}

const program = "/usr/sbin/pgbouncer"
export const hasPgBouncer = existsSync(program)

/**
 * @param more Settings of the server, beside those of docs/explanation/scale-out.md.
 * @returns Undefined if PostgreSQL or PgBouncer is missing.
 */
export async function throughPgBouncer(
  writes: number,
  more: Readonly<Record<string, string>> = {},
): Promise<PoolerFigures | undefined> {
  const postgres = hasPgBouncer ? await startPostgres() : undefined
  if (postgres === undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), "signet-pooler-"))
  try {
    const direct = new URL(postgres.url)
    const { url, stop } = await startPgBouncer(folder, direct.port)
    try {
      const server = await startProgram({
        ...settings(url),
        ...{ DATABASE_NAMED_STATEMENTS: "off", DATABASE_DIRECT_URL: direct.href, ...more },
      })
      try {
        const writers = await startWriters(server.url, 8)
        await writers.more(writes)
        await writers.stop()
        const { db, close } = openPostgres(direct.href, { maxConnections: 1 })
        const compared = await compareWithDatabase(db, writers)
        await close()
        const failedCalls = writers.all.reduce((sum, { failed }) => sum + failed, 0)
        return { acknowledged: writers.acknowledged(), failedCalls, ...compared }
      } finally {
        await server.end("SIGTERM")
      }
    } finally {
      await stop()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await postgres.stop()
  }
}

async function startPgBouncer(folder: string, database: string) {
  const port = await freePort()
  const file = join(folder, "pgbouncer.ini")
  const lines = [
    "[databases]",
    // `auth_type = any` needs the name of the database's user.
    `* = host=127.0.0.1 port=${database} user=postgres`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    "pool_mode = transaction",
    "default_pool_size = 4",
    "ignore_startup_parameters = statement_timeout, lock_timeout, idle_in_transaction_session_timeout",
  ]
  writeFileSync(file, lines.join("\n"), { mode: 0o644 })
  chmodSync(folder, 0o755)
  const child = spawn(program, [file], { ...unprivilegedUser(), stdio: ["ignore", "ignore", "pipe"] })
  let log = ""
  child.stderr?.on("data", (chunk) => {
    log = (log + chunk).slice(-4_000)
  })
  for (let attempt = 0; ; attempt++) {
    const socket = connect(port, "127.0.0.1")
    const isOpen = await once(socket, "connect").then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) break
    if (attempt > 100 || child.exitCode !== null) throw new Error(`PgBouncer did not start:\n${log}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async stop() {
      const ended = once(child, "exit")
      child.kill("SIGTERM")
      await ended
    },
  }
}
