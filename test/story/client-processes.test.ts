// Processes of one person that share one sign-in in a folder, and are killed at any moment.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest"
import type { FaultKind } from "../../clients/core/testing/fault.ts"
import type { Job } from "../support/client-process.ts"
import { effort, isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { noPostgres } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

let server: TestServer
beforeAll(async () => {
  // PostgreSQL if it is available, because only there do transactions run concurrently.
  server = await startTestServer({ store: noPostgres === undefined ? "postgres" : "pglite" })
})
afterAll(() => server?.close())

const program = join(import.meta.dirname, "../support/client-process.ts")

async function run(
  job: Omit<Job, "appId" | "authBaseUrl">,
): Promise<{ tokens: string[]; signal: unknown; error: string }> {
  const whole: Job = { appId: server.app.id, authBaseUrl: server.url, ...job }
  const child = spawn(process.execPath, [program, JSON.stringify(whole)], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: join(import.meta.dirname, "../../node_modules/.cache/signet/compiled"),
    },
  })
  const said = { stdout: "", stderr: "" }
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      said[name] += text
    })
  }
  const [, signal] = await once(child, "close")
  return { tokens: said.stdout === "" ? [] : JSON.parse(said.stdout), signal, error: said.stderr }
}

async function signedInFolder(subject: string): Promise<string> {
  const folder = mkdtempSync(join(fastTmpdir(), "signet-client-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const { credential } = await server.login(subject)
  const { error } = await run({ folder, idToken: credential?.case === "idToken" ? credential.value : "", refreshes: 0 })
  expect(error).toBe("")
  return folder
}

test.runIf(isLong)(
  "two processes refresh one sign-in at the same time, repeatedly, and both stay signed in",
  async () => {
    const folder = await signedInFolder("two")
    const refreshes = effort(3, 40, 400)
    const [here, there] = await Promise.all([
      run({ folder, refreshes }),
      run({ folder, refreshes, skewMs: 86_400_000 }),
    ])
    expect([here.error, there.error]).toEqual(["", ""])
    expect(new Set([...here.tokens, ...there.tokens]).size).toBe(2 * refreshes)
  },
)

test.runIf(isLong)(
  "a process killed at any step of a refresh leaves a sign-in that the next process can use",
  async () => {
    const folder = await signedInFolder("killed")
    // In the short form only one: after the answer was stored and before the caller had it.
    const kinds: readonly FaultKind[] = ["stops before", "stops after"]
    for (const killKind of kinds.slice(effort(1, 0, 0))) {
      for (let killAt = effort(1, 0, 0), isKilled = true; isKilled; killAt++) {
        const killed = await run({ folder, killAt, killKind })
        isKilled = killed.signal === "SIGKILL"
        const { tokens, error } = await run({ folder, refreshes: 2 })
        expect([tokens.length, error]).toEqual([2, ""])
        if (effort(true, false, false)) break
      }
    }
  },
)

test.runIf(isLong)("only the owner can access the folder, and no token can be read from it", async () => {
  const folder = await signedInFolder("folder")
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name))
  expect(paths.length).toBeGreaterThan(3)
  for (const path of paths) {
    expect(statSync(path).mode & 0o077, path).toBe(0)
    if (statSync(path).isFile()) expect(readFileSync(path, "latin1")).not.toMatch(/sgrt_|eyJ[\w-]+\.eyJ/)
  }
})
