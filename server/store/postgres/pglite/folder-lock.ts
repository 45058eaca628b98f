// Locks a PGlite folder for one process: a second one would corrupt it, and PGlite itself does not check.
import { randomUUID } from "node:crypto"
import fs from "node:fs"
import os from "node:os"

const heartbeatMs = 5_000
/** A holder on another machine or in another container counts as ended after this long without a heartbeat. */
const silentMs = 30_000

interface Holder {
  host: string
  pid: number
  /**
   * The process's start time in the kernel's units. Process ids are reused; together with the start time they are
   * unique.
   */
  started: string
  token: string
}

/**
 * Locks the folder until released, or until this process ends in any way.
 *
 * @returns The release.
 * @throws Error naming the process that holds it.
 */
export function lockFolder(folder: string): () => void {
  const file = `${folder}.lock`
  const holder: Holder = { host: os.hostname(), pid: process.pid, started: startOf(process.pid), token: randomUUID() }
  const own = `${file}.${holder.token}`
  fs.writeFileSync(own, JSON.stringify(holder), { mode: 0o600 })
  try {
    take(folder, file, own)
  } finally {
    fs.rmSync(own, { force: true })
  }
  const heartbeat = setInterval(() => touch(file), heartbeatMs).unref()
  const release = () => {
    clearInterval(heartbeat)
    process.off("exit", release)
    if (readHolder(file)?.token === holder.token) fs.rmSync(file, { force: true })
  }
  process.on("exit", release)
  return release
}

/** Linking is atomic and includes the content, so no process reads a partial lock. */
function take(folder: string, file: string, own: string): void {
  for (let attempt = 0; attempt < 10; attempt++) {
    if (tryLink(own, file)) return
    const found = readHolder(file)
    if (found === undefined) continue
    if (isAlive(found, file)) {
      throw new Error(`the database folder ${folder} is in use by process ${found.pid} on ${found.host}`)
    }
    removeStale(file, `${own}.stale`, found)
  }
  throw new Error(`the lock of the database folder ${folder} cannot be taken: remove ${file} if nothing uses it`)
}

/** Renames the lock before removing it: if another process has replaced it meanwhile, the rename is undone. */
function removeStale(file: string, aside: string, stale: Holder): void {
  try {
    fs.renameSync(file, aside)
  } catch {
    return
  }
  if (readHolder(aside)?.token !== stale.token) tryLink(aside, file)
  fs.rmSync(aside, { force: true })
}

function tryLink(from: string, to: string): boolean {
  try {
    fs.linkSync(from, to)
    return true
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false
    throw error
  }
}

function isAlive(holder: Holder, file: string): boolean {
  if (holder.host !== os.hostname()) return Date.now() - modifiedMs(file) < silentMs
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return false
  }
  return holder.started === startOf(holder.pid)
}

/** Field 22 of /proc/PID/stat, the start in ticks since boot; empty without /proc. */
function startOf(pid: number): string {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""
  } catch {
    return ""
  }
}

/** Undefined without a lock file. An unreadable file counts as stale. */
function readHolder(file: string): Holder | undefined {
  let text: string
  try {
    text = fs.readFileSync(file, "utf8")
  } catch {
    return undefined
  }
  try {
    const { host, pid, started, token } = JSON.parse(text)
    if (Number.isInteger(pid) && pid > 0) {
      return { host: String(host), pid, started: String(started), token: String(token) }
    }
  } catch {}
  return { host: os.hostname(), pid: process.pid, started: "none", token: "undefined" }
}

function modifiedMs(file: string): number {
  return fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function touch(file: string): void {
  try {
    fs.utimesSync(file, new Date(), new Date())
  } catch {}
}
