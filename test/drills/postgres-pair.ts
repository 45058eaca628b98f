// A primary and its synchronous standby, from the PostgreSQL of the tests. A commit is acknowledged when both have flushed
// it.
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { chownSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Client } from "pg"
import { freePort } from "../support/free-port.ts"
import { findPostgresBinaries } from "../support/postgres-binaries.ts"
import { keeper, readableBinaries, unprivilegedUser, untilReady } from "../support/postgres-server.ts"

export interface PostgresPair {
  /** One URL with both hosts. */
  readonly url: string
  /** Kills the primary with all of its processes: nothing is flushed, no connection is closed in order. */
  killPrimary(): void
  /** Promotes the standby. Resolves when it accepts writes. */
  promote(): Promise<void>
  stop(): Promise<void>
}

interface Node {
  readonly child: ChildProcess
  readonly data: string
  readonly port: number
}

/** @returns Undefined if there is no PostgreSQL. */
export async function startPostgresPair(): Promise<PostgresPair | undefined> {
  const found = findPostgresBinaries()
  if (found === undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), "signet-pair-"))
  const user = unprivilegedUser()
  if (user) chownSync(folder, user.uid, user.gid)
  const binaries = user ? readableBinaries(found, folder) : found
  const data = { primary: join(folder, "primary"), standby: join(folder, "standby") }
  const options = { ...user, cwd: folder, env: { ...process.env, LC_ALL: "C", TZ: "UTC" } }
  await promisify(execFile)(
    join(binaries, "initdb"),
    ["-D", data.primary, "-U", "postgres", "-A", "trust", "--locale=C", "-E", "UTF8"],
    options,
  )
  // A copy before the first start is a complete backup.
  cpSync(data.primary, data.standby, { recursive: true })
  writeFileSync(join(data.standby, "standby.signal"), "")
  if (user) await promisify(execFile)("chown", ["-R", `${user.uid}:${user.gid}`, data.standby])
  await promisify(execFile)("chmod", ["700", data.standby])
  const start = async (at: string, port: number, settings: Record<string, string>): Promise<Node> => {
    const all = {
      ...{ listen_addresses: "127.0.0.1", port: String(port), unix_socket_directories: folder },
      ...{ max_connections: "100", shared_buffers: "64MB", ...settings },
    }
    const flags = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])
    const env = { ...options.env, SIGNET_TEST_FOLDER: at, SIGNET_TEST_DATA: at }
    const command = [join(binaries, "postgres"), "-D", at, ...flags]
    const child = spawn("/bin/sh", ["-c", keeper, "sh", ...command], {
      ...options,
      env,
      stdio: ["pipe", "ignore", "pipe"],
    })
    await untilReady(child)
    return { child, data: at, port }
  }
  const ports = [await freePort(), await freePort()] as const
  const primary = await start(data.primary, ports[0], {
    synchronous_standby_names: "standby",
    synchronous_commit: "on",
  })
  const follows = `host=127.0.0.1 port=${ports[0]} user=postgres application_name=standby`
  const standby = await start(data.standby, ports[1], { primary_conninfo: follows })
  await query(ports[0], "create database signet")
  return {
    url: `postgres://postgres@127.0.0.1:${ports[0]},127.0.0.1:${ports[1]}/signet`,
    killPrimary: () => killAll(primary),
    async promote() {
      await query(ports[1], "select pg_promote(true, 30)")
    },
    async stop() {
      await Promise.all([primary, standby].map(stop))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function query(port: number, text: string): Promise<void> {
  const client = new Client({ host: "127.0.0.1", port, user: "postgres", database: "postgres" })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

function killAll({ data }: Node): void {
  const pid = Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0])
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .split(" ")
    .filter((one) => one !== "")
  for (const one of [pid, ...children.map(Number)]) {
    try {
      process.kill(one, "SIGKILL")
    } catch {
      // It has ended by itself.
    }
  }
}

async function stop({ child }: Node): Promise<void> {
  const ended = child.exitCode === null ? once(child, "exit") : undefined
  child.stdin?.end()
  await ended
}
