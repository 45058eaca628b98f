// A lock among the processes of one user: numbered files in a folder, and the highest number has the lock.
//
// A turn begins by making the next number, which only one can. The highest is never removed: so a number is never given
// out twice, and whoever judged an old holder gone too late makes a number that is not the highest, and sees it.
import { randomBytes } from "node:crypto"
import { link, mkdir, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises"
import { hostname } from "node:os"
import { join } from "node:path"
import { setTimeout as later } from "node:timers/promises"
import { type Lock, SignetError } from "@signet/client"

export interface FileLockOptions {
  /** A holder that has not been heard of for so long is overtaken, though it runs. Milliseconds. */
  readonly staleMs?: number
  /** How long a turn is waited for. Milliseconds. */
  readonly waitMs?: number
}

interface Holder {
  readonly host: string
  readonly pid: number
  /** When that process began, where the system tells: numbers of processes come back. */
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

  /** @returns Whether the turn is ours. */
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
        // Overtaken, it is gone, and nobody may have it back.
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
    // Somebody was faster, and there is a higher one now.
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
    // Another user's process runs all the same.
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

/** The 22nd field of /proc/PID/stat; the second may hold anything, in parentheses. */
async function beganOf(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")
  return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? ""
}

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined)
