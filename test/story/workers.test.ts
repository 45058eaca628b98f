// Several workers behind one port, in the production profile.
import { readFileSync } from "node:fs"
import { createClient } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-node"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { sql } from "kysely"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { compareWithDatabase, type SignedIn, startWriters, type Writers } from "../drills/writers.ts"
import { effort, isLong } from "../support/effort.ts"
import { freePort } from "../support/free-port.ts"
import { type MetricsCollector, startMetricsCollector } from "../support/metrics-collector.ts"
import { describeOnPostgres, openTestStore, type TestStore } from "../support/postgres.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"
import { startTestServer } from "../support/server.ts"

const writerCount = 8
const loopRuns = "a loop without end runs"
const calls = effort(60, 300, 5_000)

// Each worker starts in seconds.
describe.runIf(isLong)("two workers", () => describeOnPostgres("behind one port", suite))

function suite(): void {
  let store: TestStore
  let program: RunningProgram
  let writers: Writers
  let adminUrl: string
  let collector: MetricsCollector

  /** Sessions exist before the program starts: the production profile has no stand-in provider. */
  async function signIn(): Promise<SignedIn[]> {
    const server = await startTestServer({ store })
    const { auth } = {
      auth: createClient(AuthService, createConnectTransport({ baseUrl: server.url, httpVersion: "1.1" })),
    }
    const all = await Promise.all(
      Array.from({ length: writerCount }, async (_, index) => {
        const { session, ...tokens } = await auth.externalLogin(await server.login(`writer-${index}`))
        return { sessionId: session?.id ?? "", accessToken: tokens.accessToken, refreshToken: tokens.refreshToken }
      }),
    )
    await server.close()
    return all
  }

  beforeAll(async () => {
    store = await openTestStore("postgres")
    const signedIn = await signIn()
    const adminPort = String(await freePort())
    adminUrl = `http://127.0.0.1:${adminPort}/metrics`
    collector = await startMetricsCollector()
    const windows = { refresh: { ip: { limit: 1_000_000 }, session: { limit: 1_000_000 } } }
    program = await startProgram({
      ...{ SIGNET_PROFILE: "production", DATABASE_URL: store.databaseUrl ?? "", SIGNET_ISSUER: "https://auth.example" },
      SIGNET_SEALING_KEY: Buffer.alloc(32, 2).toString("base64"),
      SIGNET_PEPPERS: `1:${Buffer.alloc(32, 1).toString("base64")}`,
      SIGNET_LIMITS: JSON.stringify({ windows }),
      ...{ SIGNET_WORKERS: "2", PORT: "0", ADMIN_PORT: adminPort },
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: collector.endpoint,
      // For a debugger: each worker adds its number.
      NODE_OPTIONS: `--inspect-port=${await freePort()}`,
    })
    writers = await startWriters(program.url, writerCount, async (index) => signedIn[index] as SignedIn)
  }, 240_000)
  afterAll(async () => {
    await writers?.stop()
    await program?.end("SIGTERM")
    await collector?.stop()
    await store?.close()
  })

  const measured = async (pattern: RegExp): Promise<number> =>
    Number(pattern.exec(await (await fetch(adminUrl)).text())?.[1] ?? Number.NaN)
  const refreshes = () => measured(/^signet_rpc_duration_seconds_count\{[^}]*method="Refresh",outcome="OK"\} (\d+)$/m)
  const workers = () =>
    readFileSync(`/proc/${program.pid}/task/${program.pid}/children`, "utf8").trim().split(" ").map(Number)
  /** Of a worker, and of the supervisor. */
  const readiness = () =>
    Promise.all(
      [`${program.url}/readyz`, new URL("/readyz", adminUrl)].map(async (url) =>
        (await fetch(url, { headers: { connection: "close" } })).json(),
      ),
    )
  const [complete, degraded] = [{ status: "ready" }, { status: "ready", degraded: ["workers"] }]
  /** Over a new connection each, so that both workers answer. */
  const keys = async () => {
    const answers = Array.from({ length: 6 }, async () => {
      const headers = { connection: "close" }
      return (await fetch(`${program.url}/.well-known/jwks.json`, { headers })).text()
    })
    return new Set(await Promise.all(answers))
  }

  test("share one key ring and serve one metrics page with the sums of both", async () => {
    await writers.more(calls)
    expect(workers()).toHaveLength(2)
    const before = writers.acknowledged()
    const counted = await refreshes()
    expect(counted).toBeGreaterThanOrEqual(before)
    expect(counted).toBeLessThanOrEqual(writers.acknowledged() + writerCount)
    expect(await measured(/^signet_workers (\d+)$/m)).toBe(2)
    expect(await keys()).toHaveProperty("size", 1)
  })

  test("have one connection that listens, which the supervisor opens", async () => {
    const listeners = sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
      where datname = current_database() and (application_name = 'signet wakeups' or query ilike 'listen %')`
    await expect.poll(async () => (await listeners.execute(store.db)).rows).toEqual([{ count: 1 }])
  })

  test("when one is killed under load, only its own calls fail, and it is replaced", async () => {
    const counted = await refreshes()
    expect(await readiness()).toEqual([complete, complete])
    process.kill(workers()[1] ?? 0, "SIGKILL")
    await expect.poll(readiness, { timeout: 10_000, interval: 20 }).toEqual([degraded, degraded])
    await writers.more(calls)
    // One call of each writer at most was at the killed worker.
    for (const { failed } of writers.all) expect(failed).toBeLessThanOrEqual(1)
    // The other worker answered each of its calls: the failed ones were at the killed worker.
    expect(await (await fetch(adminUrl)).text()).not.toMatch(/method="Refresh",outcome="(?!OK")/)
    await expect.poll(() => measured(/^signet_workers (\d+)$/m), { timeout: 60_000, interval: 200 }).toBe(2)
    await expect.poll(readiness).toEqual([complete, complete])
    expect(await measured(/^signet_worker_restarts_total (\d+)$/m)).toBe(1)
    expect(await refreshes()).toBeGreaterThan(counted)
    await writers.more(calls)
    expect(await keys()).toHaveProperty("size", 1)
  })

  test("when the event loop of one is blocked under load, only its own calls fail, and it is replaced", async () => {
    const failed = () => writers.all.map((writer) => writer.failed)
    const before = failed()
    const restarts = await measured(/^signet_worker_restarts_total (\d+)$/m)
    await blockEventLoop(workers()[1] ?? 0, program.output)
    const blockedAt = performance.now()
    // Over a new connection each, while one worker hangs.
    const answers = Array.from({ length: 12 }, async () => {
      const response = await fetch(`${program.url}/livez`, { headers: { connection: "close" } })
      return { ok: response.ok, ms: performance.now() - blockedAt }
    })
    const answered = await Promise.allSettled(answers)
    const outcomes = answered.map((one) => (one.status === "fulfilled" ? one.value.ok : false))
    // The supervisor hands a worker one connection at a time.
    expect(outcomes.filter((ok) => !ok).length).toBeLessThanOrEqual(1)
    const isReplaced = async () => (await measured(/^signet_worker_restarts_total (\d+)$/m)) - restarts
    await expect.poll(isReplaced, { timeout: 60_000, interval: 200 }).toBe(1)
    expect(performance.now() - blockedAt).toBeLessThan(30_000)
    expect(await measured(/^signet_worker_hangs_total (\d+)$/m)).toBe(1)
    expect(program.output()).toContain("a worker hangs and is killed")
    await writers.more(calls)
    for (const [index, count] of failed().entries()) expect(count - (before[index] ?? 0)).toBeLessThanOrEqual(1)
    await expect.poll(() => measured(/^signet_workers (\d+)$/m), { timeout: 60_000 }).toBe(2)
  })

  test("a worker that gets SIGTERM under load ends without a failed call, and is replaced", async () => {
    const failed = () => writers.all.reduce((sum, writer) => sum + writer.failed, 0)
    const before = failed()
    process.kill(workers()[0] ?? 0, "SIGTERM")
    await expect.poll(() => measured(/^signet_worker_restarts_total (\d+)$/m), { timeout: 60_000 }).toBe(3)
    await writers.more(calls)
    expect(failed()).toBe(before)
  })

  test("that are both killed make the port of the metrics name the workers, until they are replaced", async () => {
    const onAdminPort = async () => {
      const response = await fetch(new URL("/readyz", adminUrl))
      return [response.status, await response.json()]
    }
    for (const pid of workers()) process.kill(pid, "SIGKILL")
    const missing = { status: "not ready", missing: ["workers"] }
    await expect.poll(onAdminPort, { timeout: 10_000, interval: 20 }).toEqual([503, missing])
    await expect.poll(onAdminPort, { timeout: 60_000, interval: 200 }).toEqual([200, complete])
    await writers.more(calls)
  })

  test("lose no acknowledged write and repeat none, and stop with 0", async () => {
    await writers.stop()
    expect(await compareWithDatabase(store.db, writers)).toEqual({ lost: 0, extra: 0 })
    const counted = await refreshes()
    expect(await program.end("SIGTERM")).toBe(0)
    // The supervisor sends the sums of both workers once a minute, and before it stops them.
    expect(collector.last("signet_rpc_duration_seconds", { method: "Refresh", outcome: "OK" })).toBe(counted)
    expect(collector.last("signet_workers")).toBe(2)
  })
}

/** Attaches a debugger to a process of Node, which then runs a loop without end. Returns when the loop runs. */
async function blockEventLoop(pid: number, output: () => string): Promise<void> {
  process.kill(pid, "SIGUSR1")
  const listening = /Debugger listening on (ws:\S+)/
  await expect.poll(output, { timeout: 30_000 }).toMatch(listening)
  const socket = new WebSocket(listening.exec(output())?.[1] ?? "")
  await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }))
  const expression = `process._rawDebug("${loopRuns}"); for (;;);`
  socket.send(JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression } }))
  await expect.poll(output, { timeout: 30_000, interval: 5 }).toContain(loopRuns)
}
