// Runs a Worker on workerd, the platform's runtime, in a child process.
import { execFile } from "node:child_process"
import { join } from "node:path"
import type { Readable } from "node:stream"
import { promisify } from "node:util"
import { Log, LogLevel, Miniflare, type MiniflareOptions } from "miniflare"
import { buckets, compatibility, keyValueNamespaces, objects } from "./bindings.ts"

interface WorkerdOptions {
  /** An ES module. */
  readonly code: string
  /** A second Worker with the same settings, bound to the same objects. */
  readonly besideCode?: string
  /** Settings and secrets, by name. */
  readonly texts?: Readonly<Record<string, string>>
  /**
   * The folder of the objects, of the key-value store and of the bucket. Without one, the data ends with the process.
   */
  readonly persist?: string
  /** Runs without objects, store and bucket: for tests of parts. */
  readonly isBare?: boolean
  /** A loopback port; 0 selects a free one. */
  readonly port?: number
  /** Called with the lines of the Worker's console and of the runtime. */
  readonly onLine?: (line: string) => void
}

export interface Workerd {
  readonly url: string
  /** The URL of the second Worker. */
  readonly besideUrl: string | undefined
  readonly pid: number
  /** Kills the process as a crash would, without draining. */
  kill(): Promise<void>
  /** Drains calls briefly, then stops the process. */
  close(): Promise<void>
}

/** How long calls may continue after a stop: the runtime would wait for open streams indefinitely. */
const graceMs = 300

export async function startWorkerd(options: WorkerdOptions): Promise<Workerd> {
  const { worker, pid } = await started(() => new Miniflare(workerOptions(options)))
  const url = (await worker.unsafeGetDirectURL(name)).origin
  const hasBeside = options.besideCode !== undefined
  const besideUrl = hasBeside ? (await worker.unsafeGetDirectURL(besideName)).origin : undefined
  let ended: Promise<void> | undefined
  // The library kills its process with SIGKILL, and mistakes the closed port for the process's end.
  const end = () => {
    ended ??= worker.dispose()
    return ended
  }
  return {
    url,
    besideUrl,
    pid,
    kill: end,
    async close() {
      await new Promise((resolve) => setTimeout(resolve, graceMs))
      await end()
    },
  }
}

const name = "signet"
const besideName = "signet-transfer"

function workerOptions(options: WorkerdOptions): MiniflareOptions {
  const { code, besideCode, persist, port = 0, onLine } = options
  const kept = (what: string) => (persist === undefined ? false : join(persist, what))
  const main = oneWorker(name, code, options, port)
  return {
    host: "127.0.0.1",
    port: 0,
    cf: false,
    log: new Log(LogLevel.ERROR),
    handleRuntimeStdio(stdout: Readable, stderr: Readable) {
      for (const stream of [stdout, stderr]) {
        stream.setEncoding("utf8")
        stream.on("data", (text: string) => onLine?.(text.trimEnd()))
      }
    },
    ...(options.isBare
      ? {}
      : { durableObjectsPersist: kept("objects"), kvPersist: kept("keys"), r2Persist: kept("blobs") }),
    workers: besideCode === undefined ? [main] : [main, oneWorker(besideName, besideCode, options, 0)],
  }
}

function oneWorker(of: string, code: string, { texts = {}, isBare = false }: WorkerdOptions, port: number) {
  // The second Worker uses the classes of the first.
  const from = of === name ? {} : { scriptName: name }
  return {
    name: of,
    modules: [{ type: "ESModule" as const, path: "worker.mjs", contents: code }],
    compatibilityDate: compatibility.date,
    compatibilityFlags: [...compatibility.flags],
    // Bypasses the library's own Worker, which compresses answers and so delays streams.
    unsafeDirectSockets: [{ host: "127.0.0.1", port }],
    bindings: { ...texts },
    ...(isBare
      ? {}
      : {
          durableObjects: Object.fromEntries(
            Object.entries(objects).map(([binding, className]) => [binding, { className, useSQLite: true, ...from }]),
          ),
          kvNamespaces: [...keyValueNamespaces],
          r2Buckets: [...buckets],
        }),
  }
}

/** One start at a time: the library does not report its process id, so a new child process is the started one. */
let starting: Promise<unknown> = Promise.resolve()

function started(start: () => Miniflare): Promise<{ worker: Miniflare; pid: number }> {
  const next = starting.then(async () => {
    const before = new Set(await runtimes())
    const worker = start()
    try {
      await worker.ready
      const [pid, another] = (await runtimes()).filter((one) => !before.has(one))
      if (pid === undefined || another !== undefined) throw new Error("the runtime's process was not found")
      return { worker, pid }
    } catch (error) {
      await worker.dispose()
      throw error
    }
  })
  starting = next.catch(() => undefined)
  return next
}

/** The ids of this process's workerd children. */
async function runtimes(): Promise<number[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid=,comm="])
  return stdout.split("\n").flatMap((line) => {
    const [pid, parent, name = ""] = line.trim().split(/\s+/)
    return Number(parent) === process.pid && name.includes("workerd") ? [Number(pid)] : []
  })
}
