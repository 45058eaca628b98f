// The service keeps each acknowledged write when the server or its database ends.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { sql } from "kysely"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { type OpenDatabase, openPostgres } from "../../server/store/postgres/open.ts"
import { refusal } from "../conformance/scene.ts"
import { effort, isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { freePort } from "../support/free-port.ts"
import { developmentWorld } from "../support/messaging/world.ts"
import { comeBack, isGone, untilGone, type Writer, writeOnce, writersIn } from "../support/messaging/writers.ts"
import { createTestDatabase, describeOnPostgres } from "../support/postgres.ts"
import { type PostgresServer, startPostgres } from "../support/postgres-server.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"
import { numbers, seed } from "../support/random.ts"

/** Selects the moment of each kill. */
const random = numbers(seed)

vi.setConfig({ testTimeout: effort(120_000, 900_000, 7_200_000) })

const settingsFor = (folder: string, port: number) => ({
  SIGNET_PROFILE: "development",
  SIGNET_LIMITS: "off",
  SIGNET_DATA: folder,
  PORT: String(port),
})

/** Kills the program after so many answers. */
async function killAtWork(program: RunningProgram, writers: readonly Writer[], answers: number): Promise<void> {
  const warm = Promise.withResolvers<void>()
  let left = answers
  const working = untilGone(writers, () => {
    left--
    if (left === 0) warm.resolve()
  })
  await Promise.race([warm.promise, working])
  await new Promise((resolve) => setTimeout(resolve, random(100)))
  await program.end("SIGKILL")
  await working
}

describeOnPostgres("messaging, killed at random under eight writers", () => {
  const folder = mkdtempSync(join(fastTmpdir(), "signet-messaging-crash-"))
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let program: RunningProgram
  let settings: Record<string, string>
  beforeAll(async () => {
    database = await createTestDatabase()
    settings = { ...settingsFor(folder, await freePort()), DATABASE_URL: database.url }
    program = await startProgram(settings)
  })
  afterAll(async () => {
    await program?.end("SIGKILL")
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  test.runIf(isLong)("has each acknowledged write once and without a gap", async () => {
    const { url } = program
    const writers = await writersIn(developmentWorld(url), createGrpcTransport({ baseUrl: url }), 8)
    for (let round = 0; round < effort(1, 8, 200); round++) {
      await killAtWork(program, writers, 40)
      program = await startProgram(settings)
      await comeBack(writers)
    }
    expect(writers.reduce((sum, { acknowledged }) => sum + acknowledged.size, 0)).toBeGreaterThan(40)
  })

  test.runIf(isLong)("reports a full disk, and continues when there is space", async () => {
    const { url } = program
    const [one] = await writersIn(developmentWorld(url), createGrpcTransport({ baseUrl: url }), 2)
    if (one === undefined) throw new Error("nobody writes")
    const direct: OpenDatabase = openPostgres(database.url, { maxConnections: 1 })
    await sql`create function full_disk() returns trigger language plpgsql as
      $$ begin raise exception 'no space left on device' using errcode = '53100'; end $$`.execute(direct.db)
    await sql`create trigger full_disk before insert on conversation_log
      for each row execute function full_disk()`.execute(direct.db)
    const said = await one.device.stageText(one.room, "no room")
    expect((await refusal(one.device.append(said))).reason).toBe("STORAGE_FULL")
    await sql`drop trigger full_disk on conversation_log`.execute(direct.db)
    await direct.close()
    expect((await one.device.append(said)).seq).toBe(2n)
  })
})

// In the long form only, because PGlite takes long to recover.
describe.skipIf(effort(true, false, false))("messaging on a folder, killed (PGlite)", () => {
  const folder = mkdtempSync(join(fastTmpdir(), "signet-messaging-crash-"))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test("has each acknowledged write", async () => {
    const settings = settingsFor(folder, await freePort())
    let program = await startProgram(settings)
    const { url } = program
    const writers = await writersIn(developmentWorld(url), createGrpcTransport({ baseUrl: url }), 4)
    for (let round = 0; round < effort(0, 2, 80); round++) {
      await killAtWork(program, writers, 16)
      program = await startProgram(settings)
      await comeBack(writers)
    }
    await program.end("SIGTERM")
  })
})

describeOnPostgres("messaging, when its database is restarted under load", () => {
  const folder = mkdtempSync(join(fastTmpdir(), "signet-messaging-crash-"))
  let postgres: PostgresServer | undefined
  let program: RunningProgram | undefined
  afterAll(async () => {
    await program?.end("SIGKILL")
    await postgres?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test.skipIf(effort(true, false, false))("continues with each acknowledged write", async () => {
    // A separate database, so that no other test is affected. It writes before it answers, so that no write may be
    // lost.
    postgres = await startPostgres({ synchronous_commit: "on" })
    if (postgres === undefined) throw new Error("no PostgreSQL was found")
    program = await startProgram({ ...settingsFor(folder, await freePort()), DATABASE_URL: postgres.url })
    const writers = await writersIn(developmentWorld(program.url), createGrpcTransport({ baseUrl: program.url }), 8)
    for (let round = 0; round < effort(1, 2, 30); round++) {
      let isOver = false
      const working = writers.map(async (writer) => {
        for (let i = 0; !isOver; i++) {
          await writeOnce(writer, i % 8 === 7).catch(async (error) => {
            if (!isGone(error)) throw error
            await new Promise((resolve) => setTimeout(resolve, 20))
          })
        }
      })
      const answered = () => writers.reduce((sum, { acknowledged }) => sum + acknowledged.size, 0)
      const reach = async (more: number) => {
        const wanted = answered() + more
        await expect.poll(answered).toBeGreaterThan(wanted)
      }
      await reach(20)
      await endBackend(postgres.url)
      await reach(20)
      isOver = true
      await Promise.all(working)
      await comeBack(writers)
    }
  })
})

/** Kills one process of PostgreSQL, which then ends all others and recovers as after a crash. */
async function endBackend(url: string): Promise<void> {
  const direct = openPostgres(url, { maxConnections: 1, onError: () => {} })
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(direct.db)
  const pid = rows[0]?.pid
  if (pid === undefined) throw new Error("a backend has a pid")
  process.kill(pid, "SIGKILL")
  await direct.close().catch(() => {})
}
