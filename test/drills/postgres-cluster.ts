// Data folders of PostgreSQL below one folder, and servers on them: drills copy, kill, restore and fill them.
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { chownSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Client } from "pg"
import { findPostgresBinaries } from "../support/postgres-binaries.ts"
import { keeper, readableBinaries, unprivilegedUser, untilReady } from "../support/postgres-server.ts"

const run = promisify(execFile)

export interface PostgresNode {
  readonly port: number
  readonly host: string
  /** URL of a database on this node. */
  url(database: string): string
  /** Over a connection of its own. */
  query<Row extends object>(text: string, database?: string): Promise<readonly Row[]>
  /** Kills all of its processes: nothing is flushed, no connection is closed in order. */
  kill(): void
  /** Stops it with a checkpoint, and removes its data. */
  stop(): Promise<void>
  /** True if it has stopped without a request. */
  hasEnded(): boolean
}

export interface Cluster {
  readonly folder: string
  /** PostgreSQL's programs; packages of npm have initdb, postgres and pg_ctl only. */
  readonly binaries: string
  /** Runs a program as PostgreSQL's user. @returns Its standard output. */
  run(file: string, args: readonly string[]): Promise<string>
  /** Gives a path to PostgreSQL's user. */
  own(path: string): Promise<void>
  /** Creates a data folder. @param options Further options of initdb. */
  initialise(data: string, ...options: string[]): Promise<void>
  copy(from: string, to: string): Promise<void>
  /** Settings of postgresql.conf are added to small defaults. Resolves when it accepts connections. */
  start(data: string, port: number, settings?: Readonly<Record<string, string>>): Promise<PostgresNode>
  /** Stops all nodes and removes the folder. */
  close(): Promise<void>
}

/**
 * @param version Exactly this version of the system.
 * @returns Undefined if there is no such PostgreSQL.
 */
export async function openCluster(version?: number): Promise<Cluster | undefined> {
  const found = findPostgresBinaries(version)
  if (found === undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), "signet-cluster-"))
  const user = unprivilegedUser()
  if (user) chownSync(folder, user.uid, user.gid)
  const binaries = user ? readableBinaries(found, folder) : found
  const options = { ...user, cwd: folder, env: { ...process.env, LC_ALL: "C", TZ: "UTC" } }
  const nodes: PostgresNode[] = []
  // As root, PostgreSQL runs as another user.
  const own = async (path: string) => {
    if (user) await run("chown", ["-R", `${user.uid}:${user.gid}`, path])
  }
  return {
    folder,
    binaries,
    run: async (file, args) => (await run(file, [...args], options)).stdout,
    own,
    async initialise(data, ...more) {
      const flags = ["-D", data, "-U", "postgres", "-A", "trust", "--locale=C", "-E", "UTF8", ...more]
      await run(join(binaries, "initdb"), flags, options)
    },
    async copy(from, to) {
      cpSync(from, to, { recursive: true })
      await own(to)
      await run("chmod", ["700", to])
    },
    async start(data, port, settings = {}) {
      const { listen_addresses: host = "127.0.0.1" } = settings
      const all = {
        ...{ listen_addresses: host, port: String(port), unix_socket_directories: data },
        ...{ max_connections: "100", shared_buffers: "64MB", ...settings },
      }
      const flags = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])
      const env = { ...options.env, SIGNET_TEST_FOLDER: data, SIGNET_TEST_DATA: data }
      const command = ["-c", keeper, "sh", join(binaries, "postgres"), "-D", data, ...flags]
      const child = spawn("/bin/sh", command, { ...options, env, stdio: ["pipe", "ignore", "pipe"] })
      await untilReady(child)
      const postmaster = Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0])
      const node = nodeOf(child, postmaster, { host, port })
      nodes.push(node)
      return node
    },
    async close() {
      await Promise.all(nodes.map((node) => node.stop()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function nodeOf(child: ChildProcess, postmaster: number, { host, port }: { host: string; port: number }): PostgresNode {
  return {
    port,
    host,
    url: (database) => `postgres://postgres@${host}:${port}/${database}`,
    async query<Row extends object>(text: string, database = "postgres") {
      const client = new Client({ host, port, user: "postgres", database })
      client.on("error", () => undefined)
      await client.connect()
      try {
        return (await client.query<Row>(text)).rows
      } finally {
        await client.end()
      }
    },
    kill() {
      const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8").split(" ")
      for (const one of [postmaster, ...children.filter((text) => text !== "").map(Number)]) {
        try {
          process.kill(one, "SIGKILL")
        } catch {
          // It has ended by itself.
        }
      }
    },
    async stop() {
      const ended = child.exitCode === null ? once(child, "exit") : undefined
      child.stdin?.end()
      await ended
    },
    hasEnded: () =>
      !existsSync(`/proc/${postmaster}`) || /^State:\s+Z/m.test(readFileSync(`/proc/${postmaster}/status`, "utf8")),
  }
}
