// A real PostgreSQL for the duration of the tests: without a container, service or new user, even as root.
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { promisify } from "node:util"
import { fastTmpdir } from "./fast-tmpdir.ts"
import { freePort } from "./free-port.ts"
import { findPostgresBinaries } from "./postgres-binaries.ts"

export interface PostgresServer {
  /** URL of its administration database. */
  url: string
  /** The same by Unix socket, where a statement takes less CPU time than by TCP. */
  socketUrl: string
  stop(): Promise<void>
}

// Stops PostgreSQL and removes its folders when standard input closes, even if the tests were killed.
export const keeper = `"$@" & server=$!
read _
kill -INT $server
wait $server
rm -rf -- "$SIGNET_TEST_FOLDER" "$SIGNET_TEST_DATA"`

/**
 * @param settings Settings of postgresql.conf, such as fsync.
 * @param version Exactly this version of the system.
 * @returns Undefined if there is no PostgreSQL.
 */
export async function startPostgres(
  settings: Record<string, string> = {},
  version?: number,
): Promise<PostgresServer | undefined> {
  const found = findPostgresBinaries(version)
  if (found === undefined) return undefined
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "signet-postgres-"))
  // Only data: programs in a memory file system may not be executable.
  const data = fs.mkdtempSync(path.join(settings.fsync === undefined ? fastTmpdir() : folder, "signet-postgres-data-"))
  const user = unprivilegedUser()
  if (user) for (const own of [folder, data]) fs.chownSync(own, user.uid, user.gid)
  const binaries = user ? readableBinaries(found, folder) : found
  const env = { ...process.env, LC_ALL: "C", TZ: "UTC", SIGNET_TEST_FOLDER: folder, SIGNET_TEST_DATA: data }
  const options = { ...user, env, cwd: folder }

  const initdb = ["-D", data, "-U", "postgres", "-A", "trust", "--locale=C", "-E", "UTF8", "--no-sync"]
  await promisify(execFile)(path.join(binaries, "initdb"), initdb, options)
  const port = await freePort()
  const all = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: folder,
    max_connections: "300",
    shared_buffers: "64MB",
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
    autovacuum: "off",
    jit: "off",
    max_wal_size: "128MB",
    ...settings,
  }
  const flags = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])
  const command = [path.join(binaries, "postgres"), "-D", data, ...flags]
  const child = spawn("/bin/sh", ["-c", keeper, "sh", ...command], { ...options, stdio: ["pipe", "ignore", "pipe"] })
  await untilReady(child)
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  return {
    url,
    socketUrl: `${url}?host=${encodeURIComponent(folder)}`,
    async stop() {
      const ended = child.exitCode === null ? once(child, "exit") : undefined
      child.stdin?.end()
      await ended
    },
  }
}

export async function untilReady(child: ChildProcess): Promise<void> {
  let log = ""
  const ready = new Promise<void>((resolve, reject) => {
    child.stderr?.on("data", (chunk) => {
      log = (log + chunk).slice(-4_000)
      if (/ready to accept (read-only )?connections/.test(log)) resolve()
      // The keeper stays until its standard input closes.
      if (/database system is shut down/.test(log)) reject(new Error(`PostgreSQL did not start:\n${log}`))
    })
  })
  const ended = once(child, "exit").then(() => Promise.reject(new Error(`PostgreSQL did not start:\n${log}`)))
  ended.catch(() => {})
  await Promise.race([ready, ended])
}

/** PostgreSQL refuses to run as root; one of these two users exists on every system. */
export function unprivilegedUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = fs.readFileSync("/etc/passwd", "utf8").split("\n")
  for (const name of ["postgres", "nobody"]) {
    const [, , uid, gid] = users.find((line) => line.startsWith(`${name}:`))?.split(":") ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error("as root, PostgreSQL needs a user postgres or nobody")
}

/** Another user cannot read a checkout in a private home folder, so a copy is run. */
export function readableBinaries(binaries: string, folder: string): string {
  for (let at = binaries; ; at = path.dirname(at)) {
    if ((fs.statSync(at).mode & 0o005) !== 0o005) break
    if (at === path.dirname(at)) return binaries
  }
  const copy = path.join(folder, "native")
  fs.cpSync(path.dirname(binaries), copy, { recursive: true, verbatimSymlinks: true })
  return path.join(copy, "bin")
}
