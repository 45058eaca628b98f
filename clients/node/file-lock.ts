// A lock among the processes of one user: numbered files in a folder, of which the highest number holds the lock.
//
// A process takes the lock by creating the next number, which only one process can. The highest number is never
// deleted, so no number is used twice. A process that overtakes an outdated holder creates a number that is not the
// highest, and notices.
import { randomBytes } from "node:crypto"
import { link, mkdir, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises"
import { hostname } from "node:os"
import { join } from "node:path"
import { setTimeout as later } from "node:timers/promises"
import { type Lock, SignetError } from "@signet/client"

export interface FileLockOptions {
  /** A holder that has been silent for so long is overtaken, although it may run. Milliseconds. */
  readonly staleMs?: number
  /** The longest wait for the lock. Milliseconds. */
  readonly waitMs?: number
}

interface Holder {
  readonly host: string
  readonly pid: number
  /** The process's start time, if the system reports it: process ids are reused. */
  readonly began: string
}

const released = "released"
const pollMs = 40

/** @param folder For this lock alone. */
export function createFileLock(folder: string, { staleMs = 60_000, waitMs = 30_000 }: FileLockOptions = {}): Lock {
  const fileOf = (number: number) => join(folder, String(number).padStart(12, "0"))

  async function numbers(): Promise<number[]> {
    const names = await readdir(folder)
    return names.filter((name) => /^\d{12}$/.test(name)).map(Number)
  }

  /** @returns The number, if this process got the lock. */
  async function tryNext(self: string): Promise<number | undefined> {
    const highest = Math.max(0, ...(await numbers()))
    if (highest > 0 && !(await isFree(fileOf(highest), staleMs))) return undefined
    const mine = highest + 1
    const fresh = join(folder, `${randomBytes(12).toString("hex")}.new`)
    await writeFile(fresh, self, { flag: "wx", mode: 0o600 })
    try {
      await link(fresh, fileOf(mine))
    } catch (error) {
      if (codeOf(error) === "EEXIST") return undefined
      throw error
    } finally {
      await rm(fresh, { force: true })
    }
    const all = await numbers()
    if (Math.max(...all) > mine) {
      await rm(fileOf(mine), { force: true })
      return undefined
    }
    for (const old of all) if (old < mine) await rm(fileOf(old), { force: true })
    return mine
  }

  async function turn(): Promise<number> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const self = JSON.stringify(await describeSelf())
    for (let leftMs = waitMs; ; leftMs -= pollMs) {
      const mine = await tryNext(self)
      if (mine !== undefined) return mine
      if (leftMs <= 0) throw new SignetError("LOCK_BUSY", "another process holds this lock")
      await later(pollMs * (0.5 + Math.random()))
    }
  }

  return {
    async run(work) {
      const file = fileOf(await turn())
      const heard = setInterval(() => {
        const now = new Date()
        utimes(file, now, now).catch(() => undefined)
      }, staleMs / 4)
      heard.unref()
      try {
        return await work()
      } finally {
        clearInterval(heard)
        // If overtaken, the file may be deleted, and must not be created again.
        await writeFile(file, released, { flag: "r+" }).catch(() => undefined)
      }
    },
  }
}

async function isFree(file: string, staleMs: number): Promise<boolean> {
  try {
    const text = await readFile(file, "utf8")
    if (text.startsWith(released)) return true
    const holder = parseHolder(text)
    if (holder?.host === hostname() && !(await isRunning(holder))) return true
    return Date.now() - (await stat(file)).mtimeMs > staleMs
  } catch (error) {
    // Another process came first, and has a higher number.
    if (codeOf(error) === "ENOENT") return false
    throw error
  }
}

function parseHolder(text: string): Holder | undefined {
  try {
    const { host, pid, began }: Record<string, unknown> = JSON.parse(text)
    return typeof pid === "number" && pid > 0 ? { host: String(host), pid, began: String(began) } : undefined
  } catch {
    return undefined
  }
}

async function isRunning({ pid, began }: Holder): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // A process of another user is running.
    if (codeOf(error) === "ESRCH") return false
  }
  const now = await beganOf(pid)
  return began === "" || now === "" || now === began
}

const describeSelf = async (): Promise<Holder> => ({
  host: hostname(),
  pid: process.pid,
  began: await beganOf(process.pid),
})

/** Field 22 of /proc/PID/stat; field 2 is in parentheses, and may contain any text. */
async function beganOf(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")
  return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? ""
}

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined)
