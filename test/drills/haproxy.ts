// HAProxy of the system, with the sample of deploy/database, in front of a primary and its standby.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client } from "pg"
import { freePort } from "../support/free-port.ts"

const program = "/usr/sbin/haproxy"
export const hasHaproxy = existsSync(program)
const sample = join(import.meta.dirname, "../../deploy/database/haproxy.cfg")

export interface Haproxy {
  readonly url: string
  stop(): Promise<void>
}

/** @param hosts Address and port of both, as `127.0.0.1:5432`. */
export async function startHaproxy(hosts: readonly [string, string]): Promise<Haproxy> {
  const folder = mkdtempSync(join(tmpdir(), "signet-haproxy-"))
  const port = await freePort()
  const file = join(folder, "haproxy.cfg")
  const text = readFileSync(sample, "utf8")
    .replace("127.0.0.1:6432\n  option", `127.0.0.1:${port}\n  option`)
    .replace("10.0.0.1:5432", hosts[0])
    .replace("10.0.0.2:5432", hosts[1])
  writeFileSync(file, text)
  const child = spawn(program, ["-db", "-f", file], { stdio: ["ignore", "pipe", "pipe"] })
  let log = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      log = (log + chunk).slice(-4_000)
    })
  }
  const url = `postgres://postgres@127.0.0.1:${port}/signet`
  for (let attempt = 0; !(await accepts(url)); attempt++) {
    if (attempt > 100 || child.exitCode !== null) throw new Error(`HAProxy did not start:\n${log}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return {
    url,
    async stop() {
      const ended = child.exitCode === null ? once(child, "exit") : undefined
      child.kill("SIGKILL")
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function accepts(connectionString: string): Promise<boolean> {
  const client = new Client({ connectionString, connectionTimeoutMillis: 2_000 })
  client.on("error", () => undefined)
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    client.end().catch(() => undefined)
  }
}
