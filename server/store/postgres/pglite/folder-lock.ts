// One process at a time may open a PGlite folder: a second one would destroy it, and PGlite itself does not look.
import { randomUUID } from "node:crypto"
import fs from "node:fs"
import os from "node:os"

const heartbeatMs = 5_000
/** After this long without a heartbeat, a holder on another machine (or in another container) counts as gone. */
const silentMs = 30_000

interface Holder {
  host: string
  pid: number
  /** When the process started, in the kernel's own count: a pid is used again, the two together are not. */
  started: string
  token: string
}

/**
 * Locks the folder until released, or until this process is gone, however it went.
 *
 * @returns The release.
 * @throws Error naming the process that has it.
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

/** Linking is atomic and brings the content with it: nobody ever reads half a lock. */
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

/** Moved away before it is removed: if another process was faster, what was moved is its lock and goes back. */
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

/** Field 22 of /proc/PID/stat, the start in ticks since boot; empty where there is no /proc. */
function startOf(pid: number): string {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""
  } catch {
    return ""
  }
}

/** Undefined when there is none. What is there but no lock of ours counts as stale. */
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
