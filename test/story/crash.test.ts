// The program is killed during its work: each answered write is there afterwards, and a retry gets a lost answer.
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { Health, HealthCheckResponse_ServingStatus as Status } from "@signet/proto/grpc/health/v1/health"
import { sql } from "kysely"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { createAuditCrypto } from "../../server/keys/audit-crypto.ts"
import { startAuditChainer } from "../../server/node/audit-chainer.ts"
import { loadLocalSecrets } from "../../server/node/local-secrets.ts"
import { verifyAudit } from "../../server/store/postgres/audit/audit-verify.ts"
import { type OpenDatabase, openPostgres } from "../../server/store/postgres/open.ts"
import { openPglite } from "../../server/store/postgres/pglite/open.ts"
import type { Database } from "../../server/store/postgres/sql.ts"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { effort, isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { freePort } from "../support/free-port.ts"
import { createTestDatabase, describeOnPostgres } from "../support/postgres.ts"
import { type PostgresProxy, startPostgresProxy } from "../support/postgres-proxy.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"
import { numbers, seed } from "../support/random.ts"

/** Selects the moment of each kill. */
const random = numbers(seed)

// A start of the program takes seconds on two busy cores, and there are many.
vi.setConfig({ testTimeout: effort(120_000, 600_000, 3_600_000) })

/** A device's stored state: the last token that it got, and the retry key that it created for it. */
interface Device {
  readonly email: string
  kept: { refreshToken: string; retryKey: string } | undefined
  /** It requested its session's end, and has no answer yet. */
  isLeaving: boolean
  /** Tokens of sessions whose end was answered. */
  readonly over: string[]
}

const newDevice = (i: number): Device => ({
  email: `device-${i}@example.com`,
  kept: undefined,
  isLeaving: false,
  over: [],
})
const keep = (refreshToken: string) => ({ refreshToken, retryKey: randomBytes(16).toString("base64url") })

function clientsOf(url: string): Clients {
  const connect = protocols["Connect JSON over HTTP/1.1"]
  if (connect === undefined) throw new Error("no transport")
  return clientsOver(connect(url))
}

async function signIn(url: string, email: string): Promise<{ refreshToken: string; accessToken: string }> {
  const asked = await fetch(`${url}/dev/idp-a/login-request`, { method: "POST", body: JSON.stringify({ email }) })
  const response = await fetch(`${url}/auth/login/idp-a`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: await asked.text(),
  })
  const body: unknown = await response.json()
  if (typeof body !== "object" || body === null || !("refreshToken" in body) || !("accessToken" in body)) {
    throw new Error(`no sign-in: ${response.status}`)
  }
  return { refreshToken: String(body.refreshToken), accessToken: String(body.accessToken) }
}

/** Signs in, refreshes and sometimes signs out, until the server is gone. @returns How its last call failed. */
async function work(url: string, device: Device, onAnswer: () => void): Promise<unknown> {
  const { auth } = clientsOf(url)
  for (let answered = 0; ; answered++) {
    try {
      if (answered > 0) onAnswer()
      if (device.kept === undefined) device.kept = keep((await signIn(url, device.email)).refreshToken)
      else if (answered % 8 === 7) {
        const { refreshToken } = device.kept
        device.isLeaving = true
        await auth.logout({ refreshToken })
        device.over.push(refreshToken)
        device.kept = undefined
        device.isLeaving = false
      } else device.kept = keep((await auth.refresh(device.kept)).refreshToken)
    } catch (error) {
      return error
    }
  }
}

/** Checks the state of each device after a restart. */
async function comeBack(url: string, devices: readonly Device[]): Promise<void> {
  const { auth, sessions } = clientsOf(url)
  for (const device of devices) {
    for (const refreshToken of device.over.splice(0)) {
      expect(await refusal(auth.refresh({ refreshToken }))).toBe("Unauthenticated REFRESH_TOKEN_INVALID")
    }
    if (device.kept === undefined) continue
    const answer = await auth.refresh(device.kept).catch(async (error: unknown) => {
      // A missing answer is allowed for a sign-out only: the session may have ended.
      if (!device.isLeaving) throw error
      expect(await refusal(Promise.reject(error))).toBe("Unauthenticated REFRESH_TOKEN_INVALID")
      return undefined
    })
    device.isLeaving = false
    if (answer === undefined) {
      device.kept = undefined
      continue
    }
    device.kept = keep(answer.refreshToken)
    const listed = await sessions.listSessions({}, bearer(answer.accessToken))
    expect(listed.sessions.map(({ id }) => id)).toContain(answer.session?.id)
  }
}

/** Each active session has one live token, and each ended session has none. */
async function expectOneSuccessorEach(db: Database): Promise<void> {
  const { rows } = await sql<{ id: string; status: string; live: number }>`
    select session.id, status, count(refresh_token.id)::int as live from session
    left join refresh_token on session_id = session.id and rotated_at is null and refresh_token.revoked_at is null
    group by session.id`.execute(db)
  expect(rows.length).toBeGreaterThan(0)
  expect(rows.filter(({ status, live }) => live !== (status === "ACTIVE" ? 1 : 0))).toEqual([])
}

const sealsOf = (folder: string) => createAuditCrypto(loadLocalSecrets(folder).sealingKey)
const linked = (db: Database) => async () => (await sql`select 1 from audit_pending`.execute(db)).rows.length === 0

/** Each committed event is linked once after a restart, and unchanged. */
async function expectWholeAudit(db: Database, folder: string): Promise<void> {
  await expect.poll(linked(db)).toBe(true)
  const of = { seals: sealsOf(folder), nowMs: Date.now(), patienceMs: 60_000, open: () => undefined, kept: new Map() }
  const { flaws, links } = await verifyAudit(db, of)
  expect(flaws).toEqual([])
  expect(links).toBeGreaterThan(0)
}

/** Kills the program after this many answers, so that a slow machine is in the middle of its work, too. */
async function killAtWork(program: RunningProgram, devices: readonly Device[], answers: number): Promise<void> {
  let isKilled = false
  const warm = Promise.withResolvers<void>()
  const onAnswer = () => {
    answers--
    if (answers === 0) warm.resolve()
  }
  const working = devices.map(async (device) => {
    const error = await work(program.url, device, onAnswer)
    if (!isKilled) warm.reject(error)
  })
  await warm.promise
  await new Promise((resolve) => setTimeout(resolve, random(150)))
  isKilled = true
  await program.end("SIGKILL")
  await Promise.all(working)
}

describeOnPostgres("the program, killed", () => {
  let folder: string
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let proxy: PostgresProxy
  let direct: OpenDatabase
  let program: RunningProgram
  let port: string
  const startAgain = async () => {
    program = await startProgram({
      SIGNET_PROFILE: "development",
      SIGNET_LIMITS: "off",
      DATABASE_URL: proxy.url,
      SIGNET_DATA: folder,
      PORT: port,
    })
  }
  beforeAll(async () => {
    folder = mkdtempSync(join(fastTmpdir(), "signet-crash-"))
    database = await createTestDatabase()
    proxy = await startPostgresProxy(database.url)
    direct = openPostgres(database.url, { maxConnections: 2 })
    port = String(await freePort())
    await startAgain()
  })
  afterAll(async () => {
    await program?.end("SIGKILL")
    await proxy?.close()
    await direct?.close()
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  test.runIf(isLong)("at random moments loses no answered write", async () => {
    const devices = Array.from({ length: 8 }, (_, i) => newDevice(i))
    for (let round = 0; round < effort(1, 2, 300); round++) {
      await killAtWork(program, devices, 25)
      await expectOneSuccessorEach(direct.db)
      await startAgain()
      await comeBack(program.url, devices)
      await expectOneSuccessorEach(direct.db)
    }
    await expectWholeAudit(direct.db, folder)
  })

  const moments = [
    ["after commit", 1],
    ["before commit", 0],
  ] as const
  test.runIf(isLong).each(moments)("%s of a refresh, answers its retry", async (moment, rotations) => {
    const device = keep((await signIn(program.url, "moment@example.com")).refreshToken)
    // A new process, whose connections prepare each statement anew.
    await program.end("SIGKILL")
    await startAgain()
    const reached = proxy.stopAt(moment, "rotation = rotation + 1")
    const lost = clientsOf(program.url)
      .auth.refresh(device)
      .catch(() => "lost")
    await reached
    await program.end("SIGKILL")
    expect(await lost).toBe("lost")
    const rotationsOf = async () => {
      const { rows } = await sql<{ rotation: number }>`
        select rotation from session order by created_at desc limit 1`.execute(direct.db)
      return rows[0]?.rotation
    }
    await expect.poll(rotationsOf).toBe(rotations)
    await startAgain()
    const { refreshToken } = await clientsOf(program.url).auth.refresh(device)
    expect(await rotationsOf()).toBe(1)
    await expectOneSuccessorEach(direct.db)
    await clientsOf(program.url).auth.refresh({ refreshToken })
  })

  test.runIf(isLong)("stopped by a signal, ends streams, answers its open calls, and exits with 0", async () => {
    const { refreshToken } = await signIn(program.url, "patient@example.com")
    const health = createClient(Health, createGrpcTransport({ baseUrl: program.url }))
    const told: Status[] = []
    const started = Promise.withResolvers<void>()
    const watching = (async () => {
      for await (const { status } of health.watch({})) {
        told.push(status)
        started.resolve()
      }
    })()
    await started.promise
    let slow: Promise<{ refreshToken: string }> | undefined
    let ended: Promise<number | null> | undefined
    await direct.db.transaction().execute(async (trx) => {
      // A refresh waits for these locks, and the stop waits for the refresh.
      await sql`select id from session for update`.execute(trx)
      slow = clientsOf(program.url).auth.refresh({ refreshToken })
      await expect.poll(() => isSomebodyWaiting(direct.db)).toBe(true)
      ended = program.end("SIGTERM")
      await watching
    })
    expect((await slow)?.refreshToken).toMatch(/^sgrt_/)
    expect(await ended).toBe(0)
    expect(told).toEqual([Status.SERVING, Status.NOT_SERVING])
    await expectOneSuccessorEach(direct.db)
  })
})

async function isSomebodyWaiting(db: Database): Promise<boolean> {
  const { rows } = await sql`select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  return rows.length > 0
}

describe.skipIf(effort(true, false, false))("the program on a folder, killed (PGlite)", () => {
  const folder = mkdtempSync(join(fastTmpdir(), "signet-crash-"))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test("loses no answered write", async () => {
    const settings = { SIGNET_DATA: folder, SIGNET_LIMITS: "off", PORT: String(await freePort()) }
    const devices = Array.from({ length: 4 }, (_, i) => newDevice(i))
    let program = await startProgram(settings)
    for (let round = 0; round < effort(1, 2, 100); round++) {
      await killAtWork(program, devices, 12)
      program = await startProgram(settings)
      await comeBack(program.url, devices)
    }
    expect(await program.end("SIGTERM")).toBe(0)
    const { db, close } = await openPglite(join(folder, "pglite"))
    await expectOneSuccessorEach(db)
    const audit = startAuditChainer({ db, seals: sealsOf(folder), clock: { nowMs: Date.now }, onFault: () => {} })
    await audit.link()
    await audit.close()
    await expectWholeAudit(db, folder)
    await close()
  })
})
