// The suite in `npm test`: one case of 32 on PGlite and another on the Worker, each over one protocol, and a
// short differential script on both. The long form runs all cases on the Worker, and on PostgreSQL over two more
// protocols. The nightly form adds all protocols, PGlite, PostgreSQL 15 if the machine has it, and serializable
// transactions.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { play } from "../differential/play.ts"
import { createSide } from "../differential/side.ts"
import { serveEdge } from "../support/edge.ts"
import { effort, isLong } from "../support/effort.ts"
import { developmentWorld } from "../support/messaging/world.ts"
import { givePglite, programDatabase } from "../support/postgres.ts"
import { findPostgresBinaries } from "../support/postgres-binaries.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { allCases, everyOne, inTurn } from "./all-cases.ts"
import { protocols, transportTo } from "./protocols.ts"
import { type Case, type Scene, sceneOf } from "./scene.ts"
import { type Served, serve } from "./serve.ts"

const cases = await allCases()
const isNight = effort(false, false, true)
/** The short form runs a part of these, because all cases take minutes. */
const quick = cases.filter(({ slow }) => !slow)
const short = (every: number, offset: number) => quick.filter((_, i) => i % every === offset)

/** Each case over two protocols; the Worker runs a third. */
const twice = [...inTurn(cases, 1), ...inTurn(cases, 3)]

interface Backend {
  readonly name: string
  readonly start: () => Promise<Served>
  readonly runs: readonly (readonly [Case, string])[]
  /** Why it is skipped. */
  readonly missing?: string
}

const noPostgres = findPostgresBinaries() === undefined ? "no PostgreSQL was found" : undefined
const no15 = findPostgresBinaries(15) === undefined ? "no PostgreSQL 15 was found" : undefined

const small: readonly Backend[] = [
  { name: "PGlite", start: () => serve(undefined, givePglite), runs: inTurn(short(32, 0)) },
  { name: "the Worker", start: () => edgeOnPostgres(), runs: inTurn(short(32, 4)) },
]
const long: readonly Backend[] = [
  { name: "the Worker", start: () => serveEdge(), runs: isNight ? everyOne(cases) : inTurn(cases) },
  { name: "PostgreSQL", start: () => onPostgres(), runs: isNight ? everyOne(cases) : twice, ...missing(noPostgres) },
]
const night: readonly Backend[] = [
  { name: "PostgreSQL 15", start: () => onPostgres({ version: 15 }), runs: inTurn(cases), ...missing(no15) },
  { name: "PGlite", start: () => serve(), runs: inTurn(cases) },
  {
    name: "PostgreSQL, serializable",
    start: () => onPostgres({ settings: { default_transaction_isolation: "serializable" } }),
    runs: inTurn(cases),
    ...missing(noPostgres),
  },
]
const backends = [...(isLong ? long : small), ...(isNight ? night : [])]
/** Kept running for the differential script. */
const running = new Map<string, Served>()
afterAll(async () => {
  for (const served of running.values()) await served.close()
})

describe.each(backends)("the messaging service ($name)", ({ name: backend, missing: why, start, runs }) => {
  const scenes = new Map<string, Scene>()
  beforeAll(async () => {
    if (why !== undefined) return
    const served = await start()
    running.set(backend, served)
    const world = developmentWorld(served.url, served)
    for (const name of Object.keys(protocols)) scenes.set(name, sceneOf(world, name, transportTo(served, name)))
  })
  afterAll(async () => {
    if (!isLong) return
    await running.get(backend)?.close()
    running.delete(backend)
  })

  if (why !== undefined) test.skip(`skipped: ${why}`, () => {})
  else {
    for (const [{ subject, sentence, run }, protocol] of runs) {
      test(`${subject}: ${sentence} (${protocol})`, async () => {
        const scene = scenes.get(protocol)
        if (scene === undefined) throw new Error(`no protocol ${protocol}`)
        await run(scene)
      })
    }
  }
})

// Uses the servers that already run; the long form has its own (../differential).
const alike = async () => {
  const [left, right] = ["PGlite", "the Worker"].map((name) => {
    const served = running.get(name)
    if (served === undefined) throw new Error(`${name} does not run`)
    return createSide(name, served)
  })
  if (left === undefined || right === undefined) throw new Error("two servers")
  const { failure, compared } = await play({ seed: "20261122", steps: 12, left, right })
  expect(failure).toBeUndefined()
  expect(compared).toBeGreaterThan(9)
}
if (!isLong) test("one random script is answered alike by PGlite and the Worker", alike)

function missing(why: string | undefined): { missing?: string } {
  return why === undefined ? {} : { missing: why }
}

/** The Worker, with an auth service on an existing database. */
async function edgeOnPostgres(): Promise<Served> {
  const { settings, drop } = await programDatabase()
  const served = await serveEdge({ databaseUrl: settings.DATABASE_URL })
  return {
    ...served,
    async close() {
      await served.close()
      await drop()
    },
  }
}

async function onPostgres(options: { version?: number; settings?: Record<string, string> } = {}): Promise<Served> {
  const postgres = await startPostgres(options.settings, options.version)
  if (postgres === undefined) throw new Error("no PostgreSQL was found")
  const served = await serve(postgres.url)
  return {
    url: served.url,
    async close() {
      await served.close()
      await postgres.stop()
    },
  }
}
